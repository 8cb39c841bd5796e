"""A run of one key, and the slots that bound how many runs work at once."""

from __future__ import annotations

import asyncio
import uuid
from collections import deque
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from penstock.runtime.fence import Fence

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from penstock.kube.resources import ObjectRef
    from penstock.runtime.line import Ask


class Slots:
    """A bounded number of places to work in. Who comes back from a wait goes ahead of who begins."""

    def __init__(self, count: int, *, freed: Callable[[], None]) -> None:
        """`freed` is called whenever a place is left over that nobody comes back to."""
        self.count = max(count, 1)
        self.busy = 0
        self._freed = freed
        self._returning: deque[asyncio.Future[None]] = deque()
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def free(self) -> bool:
        return self.busy < self.count

    def seize(self) -> None:
        """Take a place whether or not one is free."""
        self.busy += 1
        self._idle.clear()

    def give(self) -> None:
        """Hand a place back."""
        self.busy -= 1
        self._let_return()
        if self.busy == 0:
            self._idle.set()
        if self.free:
            self._freed()

    async def resume(self) -> None:
        """Wait for a place, ahead of all who begin."""
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._returning.append(place)
        self._let_return()
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self.give()
            raise

    async def idle(self) -> None:
        """Wait until every place is free and nobody waits to come back."""
        await self._idle.wait()

    def _let_return(self) -> None:
        while self._returning and self.free:
            place = self._returning.popleft()
            if not place.done():
                self.seize()
                place.set_result(None)


class Run:
    """One reconcile of one key, as long as it lasts.

    It holds a slot, except inside `parked`. `wanted` is set as soon as the key is asked for again: whoever
    waits for the outcome of an old revision can stop then, because another run follows this one at once.
    """

    def __init__(self, key: ObjectRef, ask: Ask, *, slots: Slots, fence: Fence | None = None) -> None:
        self.key = key
        self.ask = ask
        self.id = str(uuid.uuid4())
        self.started = asyncio.get_running_loop().time()
        self.deadline: float | None = None
        """Loop time by which the run should have ended; the watchdog names it afterwards."""
        self.task: asyncio.Task[object] | None = None
        self.fence = fence or Fence()
        self.wanted = asyncio.Event()
        self.again: Ask | None = None
        """The wish that set `wanted`; its cause is the object that triggered the next run."""
        self._slots = slots
        self._holds = True
        self._waits: list[str] = []
        slots.seize()

    @property
    def waits_for(self) -> str:
        """What the parked run waits for; empty while it works."""
        return self._waits[-1] if self._waits else ""

    def expect(self, seconds: float) -> None:
        """Say by when the run should have ended, counted from now."""
        self.deadline = asyncio.get_running_loop().time() + seconds

    def want(self, ask: Ask) -> None:
        """Note that the key shall run once more when this run is over."""
        self.again = ask.merged(self.again)
        self.wanted.set()

    def end(self) -> None:
        """Give up the slot for good."""
        if self._holds:
            self._holds = False
            self._slots.give()

    @asynccontextmanager
    async def parked(self, what: str) -> AsyncGenerator[None]:
        """Give the slot back while the body waits for `what`; go on ahead of all new work.

        Tasks of one run may park side by side: the slot is free from the first until the last of them. A body
        that is cancelled (by a time-out, say) does not wait for a slot: then there is one run too many for a
        moment, instead of a deadline that nobody keeps.
        """
        self._waits.append(what)
        self.end()
        cancelled = False
        try:
            yield
        except asyncio.CancelledError:
            cancelled = True
            raise
        finally:
            self._waits.remove(what)
            if cancelled:
                self._seize()
            else:
                await self._go_on()

    async def _go_on(self) -> None:
        if self._holds or self._waits:
            return
        try:
            await self._slots.resume()
        except asyncio.CancelledError:
            self._seize()
            raise
        self._hold()

    def _hold(self) -> None:
        if self._holds:  # another task of this run was quicker
            self._slots.give()
        self._holds = True

    def _seize(self) -> None:
        if not self._holds:
            self._holds = True
            self._slots.seize()
