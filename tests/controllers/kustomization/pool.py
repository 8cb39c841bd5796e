"""Worker processes that many tests share: to start one takes longer than most of what a test has it do."""

from __future__ import annotations

import asyncio
import atexit
import threading
from functools import cache
from typing import TYPE_CHECKING, Self, TypeVar, TypeVarTuple

from penstock.runtime import WorkerPool

if TYPE_CHECKING:
    from collections.abc import Callable

R = TypeVar("R")
Ts = TypeVarTuple("Ts")

SIZE = 2
STOP = 10.0
"""Seconds for the workers to end with the tests."""


class SharedPool(WorkerPool):
    """Passes every call on to a pool in a thread of its own: the event loop of a test ends with the test."""

    _behind: _Behind

    async def __aenter__(self) -> Self:
        self._behind = await asyncio.to_thread(_start)  # who starts a thread waits for it
        return self

    async def run(
        self,
        function: Callable[[*Ts], R],
        *args: *Ts,
        timeout: float | None = None,
        memory: int | None = None,
    ) -> R:
        call = self._behind.pool.run(function, *args, timeout=timeout, memory=memory)
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(call, self._behind.loop))


class _Behind:
    """The pool, and the loop in which it lives until the tests are over."""

    def __init__(self) -> None:
        self.loop: asyncio.AbstractEventLoop
        self.pool: WorkerPool
        self._stop: asyncio.Event
        self._up = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._live()), daemon=True)
        self._thread.start()
        self._up.wait()
        atexit.register(self._end)

    async def _live(self) -> None:
        self.loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        async with WorkerPool(size=SIZE, idle=600) as self.pool:
            self._up.set()
            await self._stop.wait()

    def _end(self) -> None:
        self.loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(STOP)


@cache
def _start() -> _Behind:
    return _Behind()
