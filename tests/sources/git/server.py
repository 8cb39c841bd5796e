"""`git http-backend` behind a web server of ours that counts, asks for passwords, and misbehaves on request."""

from __future__ import annotations

import asyncio
import os
import signal
from base64 import b64encode
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aiohttp import web

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncGenerator, Awaitable, Callable
    from pathlib import Path


@dataclass
class GitServer:
    """A server for the repositories below a folder."""

    root: Path
    scheme: str = "http"
    port: int = 0
    authorization: set[str] = field(default_factory=set[str])
    """Headers that are let in; empty lets everybody in."""
    redirects: dict[str, str] = field(default_factory=dict[str, str])
    """What a path begins with, and where it moved."""
    speaks_version_2: bool = True
    requests: list[str] = field(default_factory=list[str])
    headers: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    answer: Callable[[web.Request], Awaitable[web.StreamResponse | None]] | None = None

    def url(self, name: str) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}/{name}"

    def allow_basic(self, user: str, password: str) -> None:
        self.authorization.add("Basic " + b64encode(f"{user}:{password}".encode()).decode())

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(f"{request.method} {request.path_qs}")
        self.headers.append(dict(request.headers))
        if self.answer is not None and (own := await self.answer(request)) is not None:
            return own
        for beginning, target in self.redirects.items():
            if request.path_qs.startswith(beginning):
                raise web.HTTPMovedPermanently(target + request.path_qs.removeprefix(beginning))
        if self.authorization and request.headers.get("Authorization") not in self.authorization:
            raise web.HTTPUnauthorized(headers={"WWW-Authenticate": 'Basic realm="git"'})
        return await self._backend(request)

    async def _backend(self, request: web.Request) -> web.StreamResponse:
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "GIT_PROJECT_ROOT": str(self.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "safe.directory",
            "GIT_CONFIG_VALUE_0": "*",
            "PATH_INFO": request.path,
            "QUERY_STRING": request.query_string,
            "REQUEST_METHOD": request.method,
            "CONTENT_TYPE": request.headers.get("Content-Type", ""),
            "HTTP_CONTENT_ENCODING": request.headers.get("Content-Encoding", ""),
        }
        if self.speaks_version_2:
            environment["GIT_PROTOCOL"] = request.headers.get("Git-Protocol", "")
        printed = await _answer(environment, await request.content.read())
        head, _, body = printed.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
        status = int(headers.pop("Status", "200 OK").split()[0])
        headers.pop("Content-Length", None)
        return web.Response(status=status, headers=headers, body=body)


async def _answer(environment: dict[str, str], body: bytes) -> bytes:
    """What the program answers; it goes with whoever asked, together with the programs that it has started."""
    process = await asyncio.create_subprocess_exec(
        *("git", "http-backend"),
        env=environment,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        printed, _ = await process.communicate(body)
    except asyncio.CancelledError:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.communicate()  # until its pipes are closed, too
        raise
    return printed


@asynccontextmanager
async def serving(root: Path, *, tls: ssl.SSLContext | None = None) -> AsyncGenerator[GitServer]:
    """A server on a free port of loopback."""
    server = GitServer(root, scheme="https" if tls else "http")
    application = web.Application(client_max_size=1 << 30)
    application.router.add_route("*", "/{path:.*}", server.handle)
    runner = web.AppRunner(application, access_log=None, auto_decompress=False, shutdown_timeout=1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    server.port = site._server.sockets[0].getsockname()[1]  # type: ignore[union-attr]
    try:
        yield server
    finally:
        await runner.cleanup()
