"""An HTTP server on loopback that does exactly what a test says, down to the bytes, and remembers what it was asked.

async def script(asked: Asked, wire: Wire) -> None:
    await wire.answer({"kind": "ConfigMap"})

async with serve(script) as server, connect(server.settings) as client:
    ...
    assert server.asked[0].path == "/api/v1/configmaps/x"
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from penstock.kube import Settings

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncGenerator, Awaitable, Callable

    Script = Callable[["Asked", "Wire"], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as it arrived."""

    method: str
    target: str
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes
    connection: int
    """Which connection it came on, counted from 1."""

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(urlsplit(self.target).query, keep_blank_values=True))

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


class Wire:
    """The answering side of one connection."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    async def answer(self, body: Any = None, *, status: int = 200, **headers: str) -> None:
        """A whole answer; what is not bytes or text is sent as JSON."""
        content = _encoded(body)
        lines = [f"HTTP/1.1 {status} x", f"Content-Length: {len(content)}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        await self.raw("\r\n".join(lines).encode() + b"\r\n\r\n" + content)

    async def refuse(self, code: int, reason: str = "", message: str = "", **headers: str) -> None:
        """The Status of a request that failed."""
        await self.answer(status(code, reason, message), status=code, **headers)

    async def begin(self) -> None:
        """The head of a stream; `send` and `end` follow."""
        await self.raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")

    async def send(self, *events: Any) -> None:
        """Each as one chunk; a dict is one line of JSON."""
        for event in events:
            data = event if isinstance(event, bytes) else json.dumps(event).encode() + b"\n"
            await self.raw(b"%x\r\n%s\r\n" % (len(data), data))

    async def end(self) -> None:
        await self.raw(b"0\r\n\r\n")

    async def raw(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    def reset(self) -> None:
        """Tear the connection down as a crashed machine does: no goodbye."""
        sock: socket.socket = self._writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()

    async def hang(self) -> None:
        """Say nothing until the test is over."""
        await asyncio.Event().wait()


def _encoded(body: Any) -> bytes:
    if isinstance(body, bytes):
        return body
    return body.encode() if isinstance(body, str) else json.dumps(body).encode()


def status(code: int, reason: str = "", message: str = "", **details: Any) -> dict[str, Any]:
    """A Status as an API server writes it."""
    told: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code}
    told |= {key: value for key, value in (("reason", reason), ("message", message)) if value}
    return told | ({"details": details} if details else {})


@dataclass(slots=True)
class Loopback:
    """The running server."""

    port: int
    settings: Settings
    asked: list[Asked] = field(default_factory=list[Asked])
    failures: list[BaseException] = field(default_factory=list[BaseException])
    connections: int = 0

    def __str__(self) -> str:
        return ", ".join(str(one) for one in self.asked)


@asynccontextmanager
async def serve(script: Script, *, tls: ssl.SSLContext | None = None) -> AsyncGenerator[Loopback]:
    """Run the script for every request; what it raises fails the test at the end."""
    running: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        running.add(task)
        loopback.connections += 1
        try:
            with suppress(asyncio.CancelledError):  # the end of the test
                await _converse(reader, writer, loopback, script)
        finally:
            running.discard(task)
            writer.transport.abort()

    server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=tls)
    port: int = server.sockets[0].getsockname()[1]
    scheme = "https" if tls else "http"
    loopback = Loopback(port, Settings(server=f"{scheme}://127.0.0.1:{port}", origin="the test"))
    try:
        yield loopback
    finally:
        server.close()
        ended = list(running)
        for task in ended:
            task.cancel()
        await asyncio.gather(*ended, return_exceptions=True)
    if loopback.failures:
        raise ExceptionGroup("the script failed", [e for e in loopback.failures if isinstance(e, Exception)])


async def _converse(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, loopback: Loopback, script: Script
) -> None:
    number = loopback.connections
    with suppress(ConnectionError, asyncio.IncompleteReadError):
        while not writer.transport.is_closing():
            asked = await _read(reader, number)
            loopback.asked.append(asked)
            try:
                await script(asked, Wire(writer))
            except ConnectionError:
                return
            except Exception as error:  # noqa: BLE001 - told at the end, where the test sees it
                loopback.failures.append(error)
                return


async def _read(reader: asyncio.StreamReader, connection: int) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    first, *lines = head.strip().split("\r\n")
    method, target, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Asked(method, target, headers, body, connection)
