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
    from collections.abc import Generator

WITHIN = 10.0
HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.fixture
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(params=[b"", HEAD], ids=["before the answer", "amid the answer"])
def silent(request: pytest.FixtureRequest, authority: trustme.CA) -> Generator[int]:
    """The port of a server that says nothing more after its first words, not even goodbye."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    over = Event()

    def serve() -> None:
        connection, _ = listening.accept()
        with context.wrap_socket(connection, server_side=True) as wrapped:
            wrapped.recv(4096)
            wrapped.sendall(request.param)
            over.wait(WITHIN)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = Thread(target=serve)
        thread.start()
        yield listening.getsockname()[1]
        over.set()
        thread.join(WITHIN)


def test_a_request_that_is_given_up(silent: int, authority: trustme.CA) -> None:
    trust = ssl.create_default_context()
    authority.configure_trust(trust)

    async def ask() -> None:
        async with aiohttp.ClientSession(connector=Connector(ssl=trust)) as session:
            with suppress(TimeoutError):
                async with asyncio.timeout(0.2), session.get(f"https://127.0.0.1:{silent}/") as response:
                    await response.read()

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        asyncio.run(ask())
        gc.collect()
    assert [str(warning.message) for warning in told] == []
