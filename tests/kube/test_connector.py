"""A connection that is left is closed by the time the program ends, whatever the server does."""

from __future__ import annotations

import asyncio
import gc
import socket
import ssl
import warnings
from contextlib import suppress
from threading import Event, Thread
from typing import TYPE_CHECKING

import aiohttp
import pytest
import trustme

from penstock.kube.connector import Connector

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

WITHIN = 10.0
HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.fixture
def authority() -> trustme.CA:
    return trustme.CA()


class Silent:
    """A server that says nothing more after its first words, not even goodbye."""

    def __init__(self, authority: trustme.CA) -> None:
        self.words = b""
        self._context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        authority.issue_cert("127.0.0.1").configure_cert(self._context)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._over = Event()
        self.asked = Event()
        self.url = f"https://127.0.0.1:{self._listening.getsockname()[1]}/"

    def serve(self) -> None:
        connection, _ = self._listening.accept()
        with self._context.wrap_socket(connection, server_side=True) as wrapped:
            wrapped.recv(4096)
            wrapped.sendall(self.words)
            self.asked.set()
            self._over.wait(WITHIN)

    def end(self) -> None:
        self._over.set()
        self._listening.close()


@pytest.fixture
def silent(authority: trustme.CA) -> Generator[Silent]:
    server = Silent(authority)
    thread = Thread(target=server.serve)
    thread.start()
    yield server
    server.end()
    thread.join(WITHIN)


async def cancelled(session: aiohttp.ClientSession, server: Silent) -> None:
    """Ask, and be cancelled before an answer comes."""

    async def ask() -> None:
        async with session.get(server.url) as response:
            await response.read()

    asking = asyncio.create_task(ask())
    await asyncio.to_thread(server.asked.wait, WITHIN)
    asking.cancel()
    with suppress(asyncio.CancelledError):
        await asking


async def left(session: aiohttp.ClientSession, server: Silent) -> None:
    """Ask, and leave the stream before its end."""
    server.words = HEAD
    async with session.get(server.url):
        pass


@pytest.mark.parametrize("give_up", [cancelled, left])
def test_a_request_that_is_given_up(
    give_up: Callable[[aiohttp.ClientSession, Silent], Awaitable[None]], silent: Silent, authority: trustme.CA
) -> None:
    trust = ssl.create_default_context()
    authority.configure_trust(trust)

    async def ask() -> None:
        async with aiohttp.ClientSession(connector=Connector(ssl=trust)) as session:
            await give_up(session, silent)

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        asyncio.run(ask())
        gc.collect()
    assert [str(warning.message) for warning in told if issubclass(warning.category, ResourceWarning)] == []
