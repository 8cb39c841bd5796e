from __future__ import annotations

from typing import TYPE_CHECKING

import pytest_asyncio

from penstock.embedded import access, lifecycle
from tests.embedded.lifecycle.running import running

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from penstock.embedded.server.api import Engine


class Clock:
    """A time that a test can turn."""

    def __init__(self) -> None:
        self.time = 1_800_000_000.0

    def __call__(self) -> float:
        return self.time


@pytest_asyncio.fixture
async def clock() -> Clock:
    return Clock()


@pytest_asyncio.fixture
async def engine(clock: Clock) -> AsyncGenerator[Engine]:
    """The server with access control and its bootstrap roles, and nothing that acts by itself."""
    async with running(access.install, lifecycle.install, clock=clock, background=False) as made:
        yield made
