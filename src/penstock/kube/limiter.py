"""How many requests may be under way at one API server, learned from how long it takes to answer.

A fixed rate is either too slow for a strong server or too fast for a weak one, and a 429 may never come. So the
limit follows the delay that our own load causes: the time an answer takes now, less the shortest time the same
kind of request has taken lately. While that delay stays under `TARGET_DELAY` and all slots are in use, the limit
grows; above it, it shrinks; a refusal (429, 503) or a time-out halves it.

Too much load slows down every verb. One that is slow alone has a reason of its own, as writes have that pass a
webhook: the verb with the least delay tells what our load does.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.kube.errors import TimedOut

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

TARGET_DELAY = 0.2
"""Seconds of queueing that our load may cause. 64 writers on a busy 2-core control plane cause 0.07 to 0.15."""

BASELINE_SPAN = 60.0
"""Seconds after which the shortest time seen is forgotten, so that a slower server becomes the new normal."""

MEMORY = 5.0
"""Seconds for which the delay of a verb that is not in use any more still counts."""

PATIENCE = 300.0
"""Seconds a request waits for a slot before it gives up: a wait without end would hide a dead server."""


@dataclass(slots=True)
class _Baseline:
    """The shortest answer of this span and of the one before."""

    current: float
    previous: float
    since: float

    def observe(self, seconds: float, now: float) -> float:
        if now - self.since > BASELINE_SPAN:
            self.previous, self.current, self.since = self.current, seconds, now
        self.current = min(self.current, seconds)
        return min(self.current, self.previous)


class Limiter:
    """A gate that lets a changing number of requests through, first come, first served."""

    def __init__(self, *, start: int = 8, least: int = 4, most: int = 64) -> None:
        self._limit = float(start)
        self._least, self._most = least, most
        self._running = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._baselines: dict[str, _Baseline] = {}
        self._delays: dict[str, list[float]] = {}
        self._answers = 0
        self._verbs: dict[str, tuple[float, float]] = {}
        """The last mean delay of each verb, and when it was taken."""
        self._full = False
        self._closed_until = 0.0

    @property
    def limit(self) -> int:
        return int(self._limit)

    @property
    def running(self) -> int:
        return self._running

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @asynccontextmanager
    async def slot(self) -> AsyncGenerator[None]:
        """Hold one slot; wait for it if need be."""
        await self._enter()
        try:
            yield
        finally:
            self._running -= 1
            self._let_in()

    def answered(self, kind: str, seconds: float) -> None:
        """Learn from an answer; `kind` (verb and resource) tells apart what takes differently long by nature."""
        now = asyncio.get_running_loop().time()
        baseline = self._baselines.get(kind)
        if baseline is None:
            self._baselines[kind] = _Baseline(seconds, seconds, now)  # with nothing to compare it says nothing
        else:
            verb = kind.partition(" ")[0]
            self._delays.setdefault(verb, []).append(seconds - baseline.observe(seconds, now))
        self._answers += 1
        if self._answers >= max(8, self.limit):
            self._adjust(now)

    def refused(self, retry_after: float | None = None) -> None:
        """The server says it has too much: halve, and hold everybody back for as long as it asks."""
        self._limit = max(self._least, self._limit / 2)
        self._begin()
        if retry_after:
            loop = asyncio.get_running_loop()
            self._closed_until = max(self._closed_until, loop.time() + retry_after)
            loop.call_at(self._closed_until, self._reopen)

    def _reopen(self) -> None:
        loop = asyncio.get_running_loop()
        # A timer may be a moment early; one that saw a later wish has its own timer.
        if loop.time() + 0.001 >= self._closed_until:
            self._closed_until = 0.0
            self._let_in()

    def _begin(self) -> None:
        self._delays.clear()
        self._answers = 0

    def _adjust(self, now: float) -> None:
        self._verbs |= {verb: (sum(delays) / len(delays), now) for verb, delays in self._delays.items()}
        self._begin()
        recent = [(delay, taken) for delay, taken in self._verbs.values() if now - taken <= MEMORY]
        delay, taken = min(recent, default=(0.0, now))
        if delay > TARGET_DELAY:
            self._limit = max(self._least, self._limit * max(0.5, TARGET_DELAY / delay))
        elif self._full:
            # Fast while there is much room, gently near the target, or when that was seen a while ago.
            room = 1 - delay / TARGET_DELAY if taken == now else 0.0
            self._limit = min(self._most, self._limit + max(1.0, self._limit / 2 * room))
        self._full = False
        self._let_in()

    def _has_room(self) -> bool:
        if self._running < self.limit:
            return asyncio.get_running_loop().time() >= self._closed_until
        self._full = True
        return False

    async def _enter(self) -> None:
        if not self._waiting and self._has_room():
            self._running += 1
            return
        ticket = asyncio.get_running_loop().create_future()
        self._waiting.append(ticket)
        try:
            async with asyncio.timeout(PATIENCE):
                await ticket
        except BaseException as error:
            if ticket.done() and not ticket.cancelled():
                self._running -= 1  # let in and gone at the same moment: pass the slot on
                self._let_in()
            elif ticket in self._waiting:
                self._waiting.remove(ticket)
            if isinstance(error, TimeoutError):
                raise TimedOut(
                    f"no slot was free for {PATIENCE:.0f}s: the API server answers too slowly "
                    f"({self.limit} requests under way)"
                ) from error
            raise

    def _let_in(self) -> None:
        while self._waiting and self._has_room():
            ticket = self._waiting.popleft()
            if not ticket.done():
                self._running += 1
                ticket.set_result(None)
