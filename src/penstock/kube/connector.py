"""Connections that are gone when they are left."""

from __future__ import annotations

from typing import TYPE_CHECKING

import aiohttp

if TYPE_CHECKING:
    from aiohttp.client_proto import ResponseHandler
    from aiohttp.client_reqrep import ConnectionKey


class Connector(aiohttp.TCPConnector):
    """Hangs up where aiohttp would say goodbye.

    A connection that cannot be used again, such as one whose request was cancelled, takes its leave over TLS by
    waiting for the server's answer, up to half a minute, with nobody waiting for that: closing the session does not,
    and a program that ends leaves the socket open.
    """

    def _release(self, key: ConnectionKey, protocol: ResponseHandler, *, should_close: bool = False) -> None:
        transport = protocol.transport
        super()._release(key, protocol, should_close=should_close)
        if transport is not None and transport.is_closing():
            transport.abort()
