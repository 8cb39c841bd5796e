"""A stand-in for Azure Key Vault and for the login page of Azure, on loopback with TLS.

It speaks what the SDK speaks: the discovery documents, the token request, the challenge, keys as JWK, and the
operations `encrypt` and `decrypt` with RSA-OAEP-256.
"""

from __future__ import annotations

import asyncio
import base64
import ssl
import tempfile
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import trustme
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256

from penstock.sops.azure import AzureCredentials, AzureService

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

_OAEP = padding.OAEP(padding.MGF1(SHA256()), SHA256(), None)


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "==")


@web.middleware
async def _one_request_a_connection(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """The SDK keeps connections open after an error; at the end of a test none may be left."""
    response = await handler(request)
    response.force_close()
    return response


@dataclass
class AzureVault:
    """One vault with one RSA key, and an application that may use it."""

    ca_file: str
    address: str = ""
    key: rsa.RSAPrivateKey = field(default_factory=lambda: rsa.generate_private_key(65537, 2048))
    tenants: set[str] = field(default_factory=set[str])

    def service(self, *, secret: str = "secret") -> AzureService:
        options = {"connection_verify": self.ca_file, "verify_challenge_resource": False, "retry_total": 0}
        return AzureService(_Login(self.address, secret, self.ca_file), options)

    @staticmethod
    def idle() -> AzureService:
        return AzureService(AzureCredentials(client_id="c"))

    def app(self) -> web.Application:
        app = web.Application(middlewares=[_one_request_a_connection])
        app.router.add_get("/{tenant}/v2.0/.well-known/openid-configuration", self._discovery)
        app.router.add_post("/{tenant}/oauth2/v2.0/token", self._token)
        app.router.add_get("/keys/{name}/{version:.*}", self._key)
        app.router.add_post("/keys/{name}/v1/{verb}", self._operation)
        return app

    async def _discovery(self, request: web.Request) -> web.Response:
        tenant = f"{self.address}/{request.match_info['tenant']}"
        return web.json_response(
            {
                "token_endpoint": f"{tenant}/oauth2/v2.0/token",
                "authorization_endpoint": f"{tenant}/oauth2/v2.0/authorize",
                "issuer": f"{tenant}/v2.0",
            }
        )

    async def _token(self, request: web.Request) -> web.Response:
        body = await request.post()
        self.tenants.add(request.match_info["tenant"])
        if body.get("client_secret") != "secret":
            return web.json_response({"error": "invalid_client"}, status=401)
        return web.json_response({"access_token": "granted", "expires_in": 3600, "token_type": "Bearer"})

    def _challenged(self, request: web.Request) -> web.Response | None:
        if request.headers.get("Authorization") == "Bearer granted":
            return None
        challenge = f'Bearer authorization="{self.address}/tenant", resource="https://vault.azure.net"'
        return web.json_response({}, status=401, headers={"WWW-Authenticate": challenge})

    async def _key(self, request: web.Request) -> web.Response:
        if refused := self._challenged(request):
            return refused
        numbers = self.key.public_key().public_numbers()
        return web.json_response(
            {
                "key": {
                    "kid": f"{self.address}/keys/{request.match_info['name']}/v1",
                    "kty": "RSA",
                    "key_ops": ["encrypt", "decrypt"],
                    "n": _encoded(numbers.n.to_bytes(256, "big")),
                    "e": _encoded(numbers.e.to_bytes(3, "big")),
                },
                "attributes": {"enabled": True},
            }
        )

    async def _operation(self, request: web.Request) -> web.Response:
        if refused := self._challenged(request):
            return refused
        body: dict[str, Any] = await request.json()
        if body["alg"] != "RSA-OAEP-256":
            return web.json_response({"error": {"code": "BadParameter"}}, status=400)
        value = _decoded(body["value"])
        encrypts = request.match_info["verb"] == "encrypt"
        result = self.key.public_key().encrypt(value, _OAEP) if encrypts else self.key.decrypt(value, _OAEP)
        return web.json_response({"kid": f"{self.address}{request.path}", "value": _encoded(result)})


@dataclass(frozen=True)
class _Login:
    """The SDK's own login with a secret, sent to our address instead of Azure's."""

    address: str
    secret: str
    ca_file: str

    async def credential(self) -> Any:
        return await asyncio.to_thread(self._credential)

    def _credential(self) -> Any:
        from azure.identity import ClientSecretCredential

        return ClientSecretCredential(
            "tenant",
            "client",
            self.secret,
            authority=self.address,
            disable_instance_discovery=True,
            connection_verify=self.ca_file,
            retry_total=0,
        )


@asynccontextmanager
async def azure_vault() -> AsyncGenerator[AzureVault]:
    authority = trustme.CA()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("localhost").configure_cert(context)
    with tempfile.TemporaryDirectory() as folder:
        ca_file = Path(folder) / "ca.pem"
        authority.cert_pem.write_to_path(str(ca_file))
        vault = AzureVault(str(ca_file))
        runner = web.AppRunner(vault.app())
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
        await site.start()
        vault.address = f"https://localhost:{runner.addresses[0][1]}"
        try:
            yield vault
        finally:
            await _drained(runner)
            await runner.cleanup()


async def _drained(runner: web.AppRunner) -> None:
    """Wait until the clients' connections are gone; TLS takes a few turns of the loop to say goodbye."""
    async with asyncio.timeout(10):
        while runner.server is not None and runner.server.connections:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0)
