"""Serves the files of the store over HTTP, under the paths that Flux uses.

Whoever knows the name of a file gets it; nobody is told which files there are. What is not there, not served and not
allowed all looks the same: 404.
"""

from __future__ import annotations

import asyncio
import os
import socket
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from urllib.parse import unquote

from penstock.api.kinds import KINDS, SOURCE_GROUP
from penstock.runtime.health import Address, AddressInUse
from penstock.sources.store.files import LOCK, UNFINISHED
from penstock.sources.store.store import ArtifactMissing, is_part

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path
    from typing import BinaryIO

    from aiohttp import web

    from penstock.sources.store.store import ArtifactStore

MOST = 256
"""Answers that are being sent at the same time; more are asked to come back."""
PATIENCE = 600.0
"""Seconds in which a client has to take a file."""
_CHUNK = 256 * 1024
_FOLDERS = frozenset(kind.kind.lower() for kind in KINDS.values() if kind.group == SOURCE_GROUP)
_TYPES = {".gz": "application/gzip", ".tgz": "application/gzip", ".yaml": "application/yaml"}


class ArtifactServer:
    """The store as consumers see it: GET and HEAD of single files."""

    def __init__(self, store: ArtifactStore, *, most: int = MOST, patience: float = PATIENCE) -> None:
        self._store = store
        self._most, self._patience = most, patience
        self._busy = 0

    @asynccontextmanager
    async def serving(self, address: Address) -> AsyncGenerator[Address]:
        """Listen while the body runs; the answer has the port that was really taken."""
        from aiohttp import web

        runner = web.ServerRunner(
            web.Server(self._answer, access_log=None, keepalive_timeout=30.0), shutdown_timeout=2.0
        )
        await runner.setup()
        try:
            try:
                await web.TCPSite(runner, address.host or None, address.port).start()
            except OSError as error:
                raise AddressInUse(f"cannot listen on {address}: {error.strerror or error}") from error
            yield Address(address.host, runner.addresses[0][1])
        finally:
            await runner.cleanup()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.method not in {"GET", "HEAD"}:
            return _plain(405, Allow="GET, HEAD")
        if self._busy >= self._most:
            return _plain(503, **{"Retry-After": "1"})
        path = self._path(request.rel_url.raw_path)
        if path is None:
            return _plain(404)
        self._busy += 1
        try:
            async with asyncio.timeout(self._patience):
                return await self._send(request, path)
        except ArtifactMissing:
            return _plain(404)
        finally:
            self._busy -= 1

    def _path(self, raw: str) -> Path | None:
        """The file that a path means; None unless it is one that is served at all."""
        try:
            parts = unquote(raw, errors="strict").split("/")
        except UnicodeDecodeError:
            return None
        if len(parts) != 5 or parts[0] or not all(map(is_part, parts[1:])):
            return None
        if parts[1] not in _FOLDERS or parts[4].endswith((LOCK, UNFINISHED)):
            return None
        return self._store.root.joinpath(*parts[1:])

    async def _send(self, request: web.BaseRequest, path: Path) -> web.StreamResponse:
        from aiohttp import web

        file, size, digest = await asyncio.to_thread(self._store.opened, path)
        try:
            tag = f'"{digest}"'
            headers = {
                "ETag": tag,
                "Cache-Control": "no-cache",  # the same name can get new content: ask, and be told 304
                "X-Content-Type-Options": "nosniff",
                "Content-Type": _TYPES.get(path.suffix, "application/octet-stream"),
            }
            if tag in [one.strip() for one in request.headers.get("If-None-Match", "").split(",")]:
                return web.Response(status=304, headers=headers)
            response = web.StreamResponse(headers=headers)
            response.content_length = size
            await response.prepare(request)
            if request.method == "GET":
                await _copy(file, response)
            await response.write_eof()
            return response
        finally:
            file.close()


async def _copy(file: BinaryIO, response: web.StreamResponse) -> None:
    while part := await asyncio.to_thread(file.read, _CHUNK):
        await response.write(part)


def _plain(status: int, **headers: str) -> web.Response:
    from aiohttp import web

    return web.Response(status=status, text=f"{status}\n", headers=headers)


def advertised(given: str, *, listening: Address) -> str:
    """The address that consumers are told: the given one, or what the server listens on as others see it."""
    if given:
        return given
    if listening.host in {"", "0.0.0.0"} and (pod := os.environ.get("POD_IP")):  # noqa: S104 - as below
        return str(Address(pod, listening.port))
    host = listening.host or "localhost"
    if host == "0.0.0.0":  # noqa: S104 - recognised, not listened on
        host = os.environ.get("HOSTNAME") or socket.gethostname()
    return str(Address(host, listening.port))
