"""Waiting in tests: on what a watch tells, never by sleeping."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from penstock.kube import Change, WatchCache


class Until(Protocol):
    async def __call__(self, holds: Callable[[], bool], *, within: float = 20.0) -> None:
        """Wait until it holds; looked at again after every change."""


@asynccontextmanager
async def following(cache: WatchCache[Any]) -> AsyncGenerator[Until]:
    """Run the cache, and wait for what its changes bring about."""
    changed = asyncio.Event()

    async def tell(_change: Change[Any]) -> None:
        changed.set()

    async def until(holds: Callable[[], bool], *, within: float = 20.0) -> None:
        async with asyncio.timeout(within):
            while not holds():
                changed.clear()
                await changed.wait()

    cache.subscribe(tell)
    running = asyncio.create_task(cache.run())
    try:
        async with asyncio.timeout(20):
            await cache.synced()
        yield until
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
