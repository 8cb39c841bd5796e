"""Servers for the Git benchmark, each a process of its own: `python -m bench.git_server (real|canned) ROOT`.

`real` is `git http-backend`. `canned` answers every poll with the same line, so that a poll costs the server next to
nothing; it counts its requests and prints the number when its input ends.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.sources.git.pktline import FLUSH, line
from tests.sources.git.server import serving

if TYPE_CHECKING:
    from collections.abc import Generator

HASH = b"5394cb7f48332b2de7c17dd8b8384bbc84b7e738"
_ABLE = line(b"# service=git-upload-pack\n") + FLUSH + line(b"version 2\n") + line(b"ls-refs\n") + FLUSH
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-%s\r\nContent-Length: %d\r\n\r\n"
_REFS = line(HASH + b" refs/heads/main\n") + FLUSH


@dataclass(frozen=True)
class Server:
    """A running server."""

    process: subprocess.Popen[str]
    port: int

    def requests(self) -> int:
        """End the server; how many requests it had."""
        out, _ = self.process.communicate()
        return int(out)


@contextmanager
def started(kind: str, root: Path) -> Generator[Server]:
    """A server in a process of its own; it ends with us, since it reads until its input ends."""
    command = [sys.executable, "-m", "bench.git_server", kind, str(root)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield Server(process, int(process.stdout.readline()))
        finally:
            process.terminate()


async def _canned() -> None:
    count = 0

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal count
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = next(
                    (int(part[16:]) for part in head.split(b"\r\n") if part[:15].lower() == b"content-length:"), 0
                )
                await reader.readexactly(length)
                count += 1
                kind, body = (b"advertisement", _ABLE) if head.startswith(b"GET") else (b"result", _REFS)
                writer.write(_HEAD % (kind, len(body)) + body)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)
    print(count, flush=True)


async def _real(root: Path) -> None:
    async with serving(root) as server:
        print(server.port, flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_canned() if sys.argv[1] == "canned" else _real(Path(sys.argv[2])))
