"""A shelf of artifacts: an HTTP server on loopback that holds archives in memory."""

from __future__ import annotations

import hashlib
import io
import tarfile
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from aiohttp import web

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping


async def _at_once(_name: str) -> None:
    """Nothing is held back."""


class Shelf:
    """Archives by name, and how often each was asked for."""

    def __init__(self) -> None:
        self.base = ""
        self.files: dict[str, bytes] = {}
        self.asked: list[str] = []
        self.hold: Callable[[str], Awaitable[None]] = _at_once
        """Is awaited before an archive of that name is given out."""

    def put(self, files: Mapping[str, str | bytes]) -> tuple[str, str]:
        """An archive of these files, as address and digest."""
        content = archive(files)
        digest = hashlib.sha256(content).hexdigest()
        self.files[f"{digest}.tar.gz"] = content
        return f"{self.base}/{digest}.tar.gz", f"sha256:{digest}"

    async def answer(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        self.asked.append(name)
        await self.hold(name)
        if name not in self.files:
            raise web.HTTPNotFound
        return web.Response(body=self.files[name], content_type="application/gzip")


def archive(files: Mapping[str, str | bytes]) -> bytes:
    """A gzipped tar with the files in the order given, and no entries for directories."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), 0o600
            tar.addfile(entry, io.BytesIO(data))
    return packed.getvalue()


@asynccontextmanager
async def shelf() -> AsyncGenerator[Shelf]:
    """A running one."""
    kept = Shelf()
    app = web.Application()
    app.router.add_get("/{name}", kept.answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    kept.base = f"http://{host}:{port}"
    try:
        yield kept
    finally:
        await runner.cleanup()
