"""The same requests, the same answers: the embedded server against what a real one said."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest
import pytest_asyncio

from penstock.embedded import cluster
from tests.embedded.server.playing import Backend, connector
from tests.embedded.server.record import answers, recorded
from tests.embedded.server.scenarios import SCENARIOS

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from tests.embedded.server.playing import Request


@pytest_asyncio.fixture
async def backend() -> AsyncGenerator[Backend]:
    async with (
        cluster(controllers=False) as running,
        aiohttp.ClientSession(connector=connector(running.authority.decode())) as session,
    ):
        yield Backend(session, running.server, running.token)


@pytest.fixture(scope="module")
def known() -> dict[str, list[dict[str, Any]]]:
    return recorded()


def told(request: Request) -> str:
    return f"{request.method} {request.path} {request.body if request.body is not None else ''}"


@pytest.mark.parametrize("scenario", SCENARIOS)
async def test_answers_as_the_real_server(
    backend: Backend, known: dict[str, list[dict[str, Any]]], scenario: str
) -> None:
    found = await answers(backend, scenario, "scenario")
    for request, ours, real in zip(SCENARIOS[scenario], found, known[scenario], strict=True):
        assert ours == real, told(request)


@pytest.mark.real
async def test_what_is_recorded_is_what_the_real_server_says(known: dict[str, list[dict[str, Any]]]) -> None:
    from tests.controlplane.plane import controlplane

    async with controlplane(controllers=False) as plane:
        authority = await asyncio.to_thread(plane.ca.read_text)
        async with aiohttp.ClientSession(connector=connector(authority)) as session:
            backend = Backend(session, plane.server, plane.token)
            for number, scenario in enumerate(SCENARIOS):
                assert await answers(backend, scenario, f"scenario-{number}") == known[scenario], scenario
