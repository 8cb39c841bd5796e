"""The HTTP side: uvicorn's protocol on a loopback socket with TLS, started and stopped inside one event loop.

uvicorn's own server object is left out: it takes the process's signals and wakes up ten times a second.
"""

from __future__ import annotations

import asyncio
import logging
import os
import ssl
import sys
import tempfile
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from penstock.embedded.status import bad_request, method_not_allowed

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncGenerator

    from penstock.embedded.server.app import App
    from penstock.embedded.server.keys import Keys

_SILENT = logging.getLogger("penstock.embedded.http")
"""Takes what uvicorn says about bad requests: they are no news, and their senders get an answer."""
_SILENT.setLevel(logging.CRITICAL + 1)

HEAD_LIMIT = 64 * 1024
BACKLOG = 1024
STOP_WITHIN = 5.0
_TOO_LONG_TEXT = b"431 Request Header Fields Too Large"
_TOO_LONG = b"\r\n".join(
    (
        b"HTTP/1.1 " + _TOO_LONG_TEXT,
        b"content-type: text/plain; charset=utf-8",
        b"content-length: %d" % len(_TOO_LONG_TEXT),
        b"connection: close",
        b"",
        _TOO_LONG_TEXT,
    )
)


class BoundedProtocol(HttpToolsProtocol):
    """HTTP with a limit for how long the head of a request may be."""

    _head: int = 0
    _in_head: bool = True

    def data_received(self, data: bytes) -> None:
        if self._in_head:
            self._head += len(data)
        super().data_received(data)
        if self._in_head and self._head > HEAD_LIMIT and not self.transport.is_closing():
            self.transport.write(_TOO_LONG)
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """What is not even HTTP gets a Status too; a method that HTTP does not know is one that is not allowed."""
        unknown = "method" in str(sys.exc_info()[1] or "").lower()
        error = method_not_allowed() if unknown else bad_request(msg)
        body = orjson.dumps(error.body())
        head = f"HTTP/1.1 {error.code} {HTTPStatus(error.code).phrase}\r\ncontent-type: application/json\r\n"
        self.transport.write(f"{head}content-length: {len(body)}\r\nconnection: close\r\n\r\n".encode() + body)
        self.transport.close()

    def on_message_begin(self) -> None:
        self._in_head = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._head = 0
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._in_head = True
        super().on_message_complete()


@asynccontextmanager
async def listening(app: App, listener: socket.socket, keys: Keys) -> AsyncGenerator[None]:
    """Serve on a bound socket; at the end requests under way may finish, and streams are closed."""
    config = Config(
        app,
        http=BoundedProtocol,
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_keep_alive=120,
    )
    config.load()
    state = ServerState()
    loop = asyncio.get_running_loop()

    def protocol() -> asyncio.Protocol:
        made = BoundedProtocol(config=config, server_state=state, app_state={}, _loop=loop)
        made.logger = _SILENT
        return made

    server = await loop.create_server(protocol, sock=listener, ssl=await asyncio.to_thread(_tls, keys), backlog=BACKLOG)
    try:
        yield
    finally:
        server.close()
        app.stop()
        await _finish(state)


async def _finish(state: ServerState) -> None:
    for connection in list(state.connections):
        connection.shutdown()
    with suppress(TimeoutError):
        async with asyncio.timeout(STOP_WITHIN):
            while state.tasks:
                await asyncio.wait(list(state.tasks))
    for connection in list(state.connections):
        transport: Any = getattr(connection, "transport", None)
        if transport is not None:
            transport.abort()


def _tls(keys: Keys) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # OpenSSL reads certificates from files only.
    descriptor, path = tempfile.mkstemp(prefix="penstock-", suffix=".pem")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(keys.certificate + keys.key)
        context.load_cert_chain(path)
    finally:
        Path(path).unlink()
    return context
