"""The work queue of a controller: one run a key at a time, a bounded number of runs at once.

`async with queue.take() as run` waits until a key is ready and one of the slots is free, and holds both. What is
added meanwhile for the same key becomes one later run. A run that only waits gives its slot back with
`run.parked(...)` and keeps its key.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from penstock.errors import PenstockError
from penstock.runtime.delays import Backoff, Delays
from penstock.runtime.fence import Fence
from penstock.runtime.line import Ask, Line, Priority
from penstock.runtime.run import Run, Slots

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Collection

    from penstock.kube.resources import ObjectRef


class QueueClosed(PenstockError):
    """The queue gives out no more work."""


class Observer:
    """What a queue tells about itself; metrics listen here."""

    def added(self) -> None:
        """A key was put in line, or marked for one more run."""

    def retried(self) -> None:
        """A key came back through the backoff."""

    def taken(self, waited: float) -> None:
        """A run began after `waited` seconds in line."""

    def finished(self, worked: float) -> None:
        """A run ended after `worked` seconds."""


class Queue:
    """Ready keys, delayed keys and running keys of one controller, and who may run next.

    Lives in one event loop; nothing here waits but `take` and `drained`. Operations take O(log n) at most.
    """

    def __init__(
        self,
        *,
        concurrency: int = 4,
        backoff: Backoff | None = None,
        observer: Observer | None = None,
        fence: Fence | None = None,
    ) -> None:
        """`fence` is the parent of every run's own."""
        self._slots = Slots(concurrency, freed=self._match)
        self._backoff = backoff or Backoff()
        self._observer = observer or Observer()
        self._fence = fence
        self._line = Line()
        self._since: dict[ObjectRef, float] = {}
        self._delays = Delays()
        self._timer: asyncio.TimerHandle | None = None
        self._failures: dict[ObjectRef, int] = {}
        self._held: dict[ObjectRef, Run] = {}
        self._takers: deque[asyncio.Future[Run]] = deque()
        self._closed = False

    def add(
        self,
        key: ObjectRef,
        priority: Priority = Priority.INTERVAL,
        *,
        cause: ObjectRef | None = None,
        after: float = 0.0,
    ) -> None:
        """Ask for a run of the key, now or `after` seconds.

        Of two asks for one run the earlier time and the more urgent priority win. A closed queue ignores it.
        """
        if self._closed:
            return
        ask = Ask(priority, cause)
        if after > 0:
            self._add_later(key, ask, after)
        else:
            self._add_now(key, ask.merged(self._delays.discard(key)))

    def retry(self, key: ObjectRef, priority: Priority = Priority.INTERVAL) -> float:
        """Ask for another run through the key's own backoff; the answer is the delay in seconds."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        delay = self._backoff.delay(failures)
        self._observer.retried()
        self.add(key, priority, after=delay)
        return delay

    def forget(self, key: ObjectRef) -> None:
        """Start the key's backoff from the beginning."""
        self._failures.pop(key, None)

    @asynccontextmanager
    async def take(self) -> AsyncGenerator[Run]:
        """Wait for a key and a slot, and hold both; raises QueueClosed once there is no more to come."""
        run = await self._next()
        try:
            yield run
        finally:
            self._release(run)

    def close(self) -> None:
        """Give out no more work: what is ready or delayed is dropped, what runs may finish."""
        self._closed = True
        self._line.clear()
        self._since.clear()
        self._delays.clear()
        self._arm()
        while self._takers:
            taker = self._takers.popleft()
            if not taker.done():
                taker.set_exception(QueueClosed("the work queue is closed"))

    async def drained(self) -> None:
        """Wait until no run works. Parked ones may still be there: they can be cancelled without loss."""
        await self._slots.idle()

    @property
    def concurrency(self) -> int:
        return self._slots.count

    @property
    def busy(self) -> int:
        """How many slots are taken."""
        return self._slots.busy

    @property
    def runs(self) -> Collection[Run]:
        """The runs under way, parked ones included."""
        return self._held.values()

    def is_running(self, key: ObjectRef) -> bool:
        """Whether a run of the key is under way; who adds it now gets another one after that."""
        return key in self._held

    @property
    def delayed(self) -> int:
        """How many keys wait for their time."""
        return len(self._delays)

    def depth(self, priority: Priority) -> int:
        """How many keys of that priority stand in line."""
        return self._line.depth(priority)

    def failures(self, key: ObjectRef) -> int:
        """How many times in a row the key came back through the backoff."""
        return self._failures.get(key, 0)

    def _add_now(self, key: ObjectRef, ask: Ask) -> None:
        run = self._held.get(key)
        if key not in self._line and (run is None or run.again is None):
            self._observer.added()
            self._since[key] = asyncio.get_running_loop().time()
        if run is not None:
            run.want(ask)
            return
        self._line.put(key, ask)
        self._match()

    def _add_later(self, key: ObjectRef, ask: Ask, after: float) -> None:
        run = self._held.get(key)
        if key in self._line or (run is not None and run.again is not None):
            return  # it runs before that anyway
        self._delays.put(key, asyncio.get_running_loop().time() + after, ask)
        self._arm()

    def _arm(self) -> None:
        """Have the loop call us when the next delayed key is due."""
        at = self._delays.next_at()
        if self._timer is not None:
            if self._timer.when() == at:
                return
            self._timer.cancel()
            self._timer = None
        if at is not None:
            self._timer = asyncio.get_running_loop().call_at(at, self._wake, at)

    def _wake(self, at: float) -> None:
        self._timer = None
        for key, ask in self._delays.due(at):
            self._add_now(key, ask)
        self._arm()

    async def _next(self) -> Run:
        if self._closed:
            raise QueueClosed("the work queue is closed")
        taker: asyncio.Future[Run] = asyncio.get_running_loop().create_future()
        self._takers.append(taker)
        self._match()
        try:
            return await taker
        except asyncio.CancelledError:
            if taker.done() and not taker.cancelled() and taker.exception() is None:
                run = taker.result()  # handed out in the moment of the cancel: somebody else shall have it
                run.again = run.ask.merged(run.again)
                self._release(run)
            raise

    def _match(self) -> None:
        """Bring free slots, ready keys and takers together."""
        while self._takers and len(self._line) and self._slots.free:
            taker = self._takers.popleft()
            if not taker.done():
                taker.set_result(self._begin())

    def _begin(self) -> Run:
        key, ask = self._line.pop()
        run = Run(key, ask, slots=self._slots, fence=Fence(self._fence))
        self._held[key] = run
        self._observer.taken(run.started - self._since.pop(key, run.started))
        return run

    def _release(self, run: Run) -> None:
        del self._held[run.key]
        self._observer.finished(asyncio.get_running_loop().time() - run.started)
        if run.again is not None and not self._closed:
            self._line.put(run.key, run.again)
        run.end()
        self._match()
