"""What every test gets: a cluster on request, an event loop that must not block, a log as at first, honest skips."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

import pytest
import structlog

if TYPE_CHECKING:
    from collections.abc import Iterator

pytest_plugins = ["pytester", "tests.blocking", "tests.skips", "tests.clusters", "tests.embedded.differential.seeds"]


def pytest_configure() -> None:
    # Before Python 3.14, whoever first asks for the event loop of the main thread gets one made. The plugins ask
    # before every test, nobody closes it, and some later test fails with 'unclosed event loop'.
    if sys.version_info < (3, 14):
        asyncio.set_event_loop(None)


@pytest.fixture(autouse=True)
def log_as_at_first() -> Iterator[None]:
    """A verb that runs in a test sets up the log of the whole process; what comes after it hears everything again."""
    yield
    if structlog.is_configured():
        structlog.reset_defaults()
