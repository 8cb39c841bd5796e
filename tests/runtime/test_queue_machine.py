"""The queue against a simple model of itself, under any sequence of calls."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import looptime
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from penstock.runtime.delays import Backoff
from penstock.runtime.line import Priority
from penstock.runtime.queue import Queue
from tests.runtime.keys import key

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager

    from penstock.kube.resources import ObjectRef
    from penstock.runtime.run import Run

T = TypeVar("T")

SLOTS = 3
NAMESPACES = ("red", "blue", "green")
KEYS = [key(name, namespace) for namespace in NAMESPACES for name in "abcd"]
PATIENCE = 8
an_object = st.sampled_from(KEYS)
a_priority = st.sampled_from(list(Priority))


@dataclass
class Held:
    run: Run
    leave: AsyncExitStack
    park: AbstractAsyncContextManager[None] | None = None


class Turns:
    """How often somebody was passed over; says when that was not right."""

    def __init__(self) -> None:
        self.levels = dict.fromkeys(Priority, 0)
        self.namespaces: dict[tuple[Priority, str], int] = {}

    def take(self, taken: ObjectRef, ready: dict[ObjectRef, Priority]) -> None:
        level = ready[taken]
        best = min(ready.values())
        assert level == best or self.levels[level] >= PATIENCE, "less urgent work went first"
        waiting = {(priority, ref.namespace) for ref, priority in ready.items()}
        for priority in {priority for priority, _ in waiting if priority > level}:
            self.levels[priority] += 1
            assert self.levels[priority] <= PATIENCE + len(Priority), "urgent work stopped the rest"
        self.levels[level] = 0
        for place in waiting:
            if place[0] == level and place[1] != taken.namespace:
                self.namespaces[place] = self.namespaces.get(place, 0) + 1
                assert self.namespaces[place] < len(NAMESPACES), "a namespace lost its turn"
        self.namespaces.pop((level, taken.namespace), None)

    def gone(self, ready: dict[ObjectRef, Priority]) -> None:
        """Who no longer waits was not passed over."""
        for priority in set(Priority) - set(ready.values()):
            self.levels[priority] = 0
        waiting = {(priority, ref.namespace) for ref, priority in ready.items()}
        for place in set(self.namespaces) - waiting:
            del self.namespaces[place]


class QueueMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.loop = looptime.new_event_loop(start=0.0)
        self.queue = Queue(concurrency=SLOTS, backoff=Backoff(spread=0))
        self.held: dict[ObjectRef, Held] = {}
        self.turns = Turns()
        # What must happen to a key, without saying how.
        self.ready: dict[ObjectRef, Priority] = {}
        self.again: dict[ObjectRef, Priority] = {}
        self.due: dict[ObjectRef, tuple[float, Priority]] = {}

    def teardown(self) -> None:
        for held in list(self.held.values()):
            self._end(held)
        self.loop.close()

    @rule(ref=an_object, priority=a_priority)
    def add(self, ref: ObjectRef, priority: Priority) -> None:
        self._call(lambda: self.queue.add(ref, priority))
        self._expect_now(ref, priority)

    @rule(ref=an_object, priority=a_priority, after=st.integers(1, 100))
    def add_later(self, ref: ObjectRef, priority: Priority, after: int) -> None:
        self._call(lambda: self.queue.add(ref, priority, after=after))
        self._expect_later(ref, after, priority)

    @rule(seconds=st.integers(1, 60))
    def time_passes(self, seconds: int) -> None:
        self.loop.run_until_complete(asyncio.sleep(seconds + 0.001))
        for ref, (due, priority) in sorted(self.due.items(), key=lambda item: item[1][0]):
            if due <= self.loop.time():
                self._expect_now(ref, priority)

    @precondition(lambda self: self.ready and self._working() < SLOTS)
    @rule()
    def take(self) -> None:
        held = self.loop.run_until_complete(self._take())
        taken = held.run.key
        assert taken in self.ready, "handed out what nobody asked for, or what is held"
        assert held.run.ask.priority == self.ready[taken]
        self.turns.take(taken, self.ready)
        del self.ready[taken]
        self.turns.gone(self.ready)
        self.held[taken] = held

    @precondition(lambda self: self._working() >= SLOTS or not self.ready)
    @rule()
    def take_in_vain(self) -> None:
        with pytest.raises(TimeoutError):
            self.loop.run_until_complete(self._take())

    @precondition(lambda self: self.held)
    @rule(data=st.data(), outcome=st.sampled_from(["done", "after", "retry"]))
    def finish(self, data: st.DataObject, outcome: str) -> None:
        held = self._choose(data)
        ref = held.run.key
        if outcome == "after":
            self._call(lambda: self.queue.add(ref, after=30))
            self._expect_later(ref, 30, Priority.INTERVAL)
        if outcome == "retry":
            delay = self._call(lambda: self.queue.retry(ref))
            self._expect_later(ref, delay, Priority.INTERVAL)
        else:
            self.queue.forget(ref)
        self._end(held)

    @precondition(lambda self: any(held.park is None for held in self.held.values()))
    @rule(data=st.data())
    def park(self, data: st.DataObject) -> None:
        held = self._choose(data, parked=False)
        held.park = held.run.parked("a wait")
        self.loop.run_until_complete(held.park.__aenter__())

    @precondition(lambda self: self._working() < SLOTS and any(held.park for held in self.held.values()))
    @rule(data=st.data())
    def go_on(self, data: st.DataObject) -> None:
        held = self._choose(data, parked=True)
        assert held.park is not None
        self.loop.run_until_complete(held.park.__aexit__(None, None, None))
        held.park = None

    @invariant()
    def nothing_is_lost(self) -> None:
        for priority in Priority:
            assert self.queue.depth(priority) == list(self.ready.values()).count(priority)
        assert self.queue.delayed == len(self.due)
        wanted = {ref: held.run.again for ref, held in self.held.items() if held.run.wanted.is_set()}
        assert {ref: ask.priority for ref, ask in wanted.items() if ask} == self.again

    @invariant()
    def slots_are_counted(self) -> None:
        assert self.queue.busy == self._working() <= SLOTS
        assert {run.key for run in self.queue.runs} == set(self.held)

    def _expect_now(self, ref: ObjectRef, priority: Priority) -> None:
        _, delayed = self.due.pop(ref, (0.0, priority))
        place = self.again if ref in self.held else self.ready
        place[ref] = min(priority, delayed, place.get(ref, priority))
        self.turns.gone(self.ready)  # moving up leaves a level

    def _expect_later(self, ref: ObjectRef, after: float, priority: Priority) -> None:
        if ref in self.ready or ref in self.again:
            return
        due = self.loop.time() + after
        known, delayed = self.due.get(ref, (due, priority))
        self.due[ref] = (min(due, known), min(priority, delayed))

    def _working(self) -> int:
        return sum(held.park is None for held in self.held.values())

    def _choose(self, data: st.DataObject, *, parked: bool | None = None) -> Held:
        fitting = [ref for ref, held in self.held.items() if parked is None or parked == (held.park is not None)]
        return self.held[data.draw(st.sampled_from(sorted(fitting)))]

    def _end(self, held: Held) -> None:
        del self.held[held.run.key]
        if held.park is not None:  # ended by a cancel in the middle of the wait
            with pytest.raises(asyncio.CancelledError):
                self.loop.run_until_complete(_cancelled(held.park))
        self.loop.run_until_complete(held.leave.aclose())
        if held.run.key in self.again:
            self.ready[held.run.key] = self.again.pop(held.run.key)

    async def _take(self) -> Held:
        async with AsyncExitStack() as stack:
            async with asyncio.timeout(0.0001):
                run = await stack.enter_async_context(self.queue.take())
            return Held(run, stack.pop_all())
        raise AssertionError

    def _call(self, action: Callable[[], T]) -> T:
        async def call() -> T:
            return action()

        return self.loop.run_until_complete(call())


async def _cancelled(park: AbstractAsyncContextManager[None]) -> None:
    error = asyncio.CancelledError()
    if not await park.__aexit__(asyncio.CancelledError, error, None):
        raise error


TestQueue = QueueMachine.TestCase
TestQueue.settings = settings(
    max_examples=30,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
