"""A stand-in for HashiCorp Vault, and a way to serve what stands in for a service."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from aiohttp import web

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping


@asynccontextmanager
async def served(app: web.Application) -> AsyncGenerator[str]:
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def vault_app(*, token: str = "s.token", login: Mapping[str, str] | None = None) -> web.Application:
    """Vault's transit engine: it 'encrypts' by reversing, and knows its token."""

    async def transit(request: web.Request) -> web.Response:
        if request.headers.get("X-Vault-Token") != token:
            return web.json_response({"errors": ["permission denied"]}, status=403)
        body = await request.json()
        if request.match_info["verb"] == "encrypt":
            return web.json_response({"data": {"ciphertext": "vault:v1:" + body["plaintext"][::-1]}})
        return web.json_response({"data": {"plaintext": body["ciphertext"].removeprefix("vault:v1:")[::-1]}})

    async def log_in(request: web.Request) -> web.Response:
        if await request.json() != login:
            return web.json_response({"errors": ["no"]}, status=400)
        return web.json_response({"auth": {"client_token": token}})

    async def elsewhere(request: web.Request) -> web.Response:
        raise web.HTTPTemporaryRedirect("/v1/transit/decrypt/key")

    app = web.Application()
    app.router.add_put("/v1/transit/{verb}/key", transit)
    app.router.add_put("/v1/moved/{verb}/key", elsewhere)
    app.router.add_put("/v1/auth/kubernetes/login", log_in)
    return app
