"""A small HTTP proxy that counts and asks for passwords, and a SOCKS proxy that counts."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator


@dataclass
class ProxyServer:
    """A proxy on loopback."""

    port: int = 0
    authorization: str = ""
    """The header that is let in; empty lets everybody in."""
    targets: list[str] = field(default_factory=list[str])
    moved: dict[str, str] = field(default_factory=dict[str, str])
    """Who answers in the place of a host and port that nobody here may call."""

    async def talk_http(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """`CONNECT` for https, and whole URLs for http; one request a connection is enough for tests."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        method, target, _ = head.split("\r\n", 1)[0].split(" ")
        if self.authorization and f"Proxy-Authorization: {self.authorization}" not in head:
            answer = b"HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=x\r\nContent-Length: 0\r\nConnection: close"
            writer.write(answer + b"\r\n\r\n")
            await _close(writer)
            return
        authority = target if method == "CONNECT" else target.split("/")[2]
        self.targets.append(f"{method} {authority}")
        host, _, port = self.moved.get(authority, authority).partition(":")
        there = await asyncio.open_connection(host, int(port or 80))
        if method == "CONNECT":
            writer.write(b"HTTP/1.1 200 Fine\r\n\r\n")
        else:
            lines = [line for line in head.split("\r\n") if not line.lower().startswith(("proxy-", "connection:"))]
            lines[0] = lines[0].replace(f"http://{authority}", "", 1)
            there[1].write("\r\n".join([lines[0], "Connection: close", *lines[1:]]).encode("latin-1"))
        await _joined((reader, writer), there)

    async def talk_socks(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """SOCKS 5 without a login."""
        _, count = await reader.readexactly(2)
        await reader.readexactly(count)
        writer.write(b"\5\0")
        kind = (await reader.readexactly(4))[3]
        if kind == 3:
            host = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
        else:
            host = ".".join(map(str, await reader.readexactly(4)))
        port = int.from_bytes(await reader.readexactly(2), "big")
        self.targets.append(f"SOCKS {host}:{port}")
        there = await asyncio.open_connection(host, port)
        writer.write(b"\5\0\0\1\0\0\0\0\0\0")
        await _joined((reader, writer), there)


Pair = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def proxying(*, socks: bool = False) -> AsyncGenerator[ProxyServer]:
    proxy = ProxyServer()
    server = await asyncio.start_server(proxy.talk_socks if socks else proxy.talk_http, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()


async def _joined(one: Pair, other: Pair) -> None:
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(_copied(one[0], other[1]))
            group.create_task(_copied(other[0], one[1]))
    finally:
        await _close(one[1])
        await _close(other[1])


async def _copied(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    try:
        while chunk := await source.read(65536):
            target.write(chunk)
            await target.drain()
        target.write_eof()
    except (OSError, NotImplementedError):
        return


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    try:
        await writer.wait_closed()
    except OSError:
        return
