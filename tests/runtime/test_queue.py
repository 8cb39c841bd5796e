from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from penstock.errors import UsageError
from penstock.runtime.delays import Backoff, Delays, Jitter
from penstock.runtime.line import Ask, Priority
from penstock.runtime.queue import Observer, Queue, QueueClosed
from tests.runtime.keys import key

if TYPE_CHECKING:
    from penstock.runtime.run import Run

pytestmark = pytest.mark.looptime

A, B, C = key("a"), key("b"), key("c")


def now() -> float:
    return asyncio.get_running_loop().time()


async def taken(queue: Queue, within: float = 0.0) -> list[str]:
    """The names of the keys that are handed out within so many seconds, each run ending at once."""
    names: list[str] = []
    try:
        async with asyncio.timeout(within or 0.001):
            while True:
                async with queue.take() as run:
                    names.append(run.key.name)
    except TimeoutError:
        return names


async def test_a_key_added_twice_runs_once() -> None:
    queue = Queue()
    queue.add(A)
    queue.add(A)
    assert await taken(queue) == ["a"]


async def test_what_is_added_during_a_run_becomes_one_later_run() -> None:
    queue = Queue()
    queue.add(A)
    async with queue.take() as run:
        for _ in range(3):
            queue.add(A, Priority.REVISION, cause=B)
        assert await taken(queue) == []
        assert run.wanted.is_set()
        assert run.again == Ask(Priority.REVISION, B)
    assert await taken(queue) == ["a"]


async def test_a_run_knows_why_it_runs() -> None:
    queue = Queue()
    queue.add(A, Priority.ASKED, cause=B)
    async with queue.take() as run:
        assert (run.key, run.ask) == (A, Ask(Priority.ASKED, B))
        assert not run.wanted.is_set()


async def test_no_more_runs_at_once_than_slots() -> None:
    queue = Queue(concurrency=2)
    for name in (A, B, C):
        queue.add(name)
    async with queue.take(), queue.take():
        assert queue.busy == 2
        assert await taken(queue) == []
    assert await taken(queue) == ["c"]


async def test_a_run_that_raises_gives_back_key_and_slot() -> None:
    queue = Queue(concurrency=1)
    queue.add(A)
    with pytest.raises(LookupError):
        async with queue.take():
            raise LookupError
    queue.add(A)
    assert await taken(queue) == ["a"]


@pytest.mark.parametrize(
    ("adds", "expected"),
    [
        pytest.param([(5, A)], 5, id="after its delay"),
        pytest.param([(9, A), (5, A)], 5, id="an earlier add replaces a later one"),
        pytest.param([(5, A), (9, A)], 5, id="a later add changes nothing"),
        pytest.param([(5, A), (0, A)], 0, id="an add without delay cancels it"),
        pytest.param([(0, A), (5, A)], 0, id="a delay for a ready key changes nothing"),
    ],
)
async def test_delays(adds: list[tuple[float, object]], expected: float) -> None:
    queue = Queue()
    for after, _ in adds:
        queue.add(A, after=after)
    async with queue.take():
        assert now() == pytest.approx(expected, abs=0.01)
    assert await taken(queue, within=60) == []  # and only once


async def test_a_delay_that_ends_during_a_run_wants_another() -> None:
    queue = Queue()
    queue.add(A)
    async with queue.take() as run:
        queue.add(A, after=5)
        async with asyncio.timeout(6):
            await run.wanted.wait()
        assert now() == pytest.approx(5)
    assert await taken(queue) == ["a"]


async def test_delayed_keys_leave_in_the_order_of_their_times() -> None:
    queue = Queue(concurrency=1)
    for name, after in ((A, 3.0), (B, 1.0), (C, 2.0)):
        queue.add(name, after=after)
    assert await taken(queue, within=10) == ["b", "c", "a"]


async def test_the_urgency_of_a_cancelled_delay_is_kept() -> None:
    queue = Queue()
    queue.add(A, Priority.ASKED, after=5)
    queue.add(A, Priority.INTERVAL)
    async with queue.take() as run:
        assert run.ask.priority is Priority.ASKED


async def test_retries_back_off_until_forgotten() -> None:
    queue = Queue(backoff=Backoff(spread=0))
    delays = [queue.retry(A) for _ in range(12)]
    assert delays[:4] == [0.75, 1.5, 3.0, 6.0]
    assert delays[-2:] == [768.0, 900.0]
    assert queue.failures(A) == 12
    queue.forget(A)
    assert queue.retry(A) == 0.75


@pytest.mark.parametrize(
    ("chance", "failures", "expected"),
    [
        pytest.param(0.0, 0, 0.675, id="ten per cent earlier"),
        pytest.param(1.0, 0, 0.825, id="ten per cent later"),
        pytest.param(1.0, 30, 900.0, id="never above the cap"),
        pytest.param(0.5, 10**9, 900.0, id="no overflow"),
    ],
)
async def test_backoff_spread(chance: float, failures: int, expected: float) -> None:
    assert Backoff(chance=lambda: chance).delay(failures) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("percentage", "chance", "expected"),
    [
        pytest.param(5, 0.0, 570.0, id="five per cent earlier"),
        pytest.param(5, 1.0, 630.0, id="five per cent later"),
        pytest.param(0, 1.0, 600.0, id="none"),
    ],
)
async def test_interval_jitter(percentage: int, chance: float, expected: float) -> None:
    assert Jitter(percentage, chance=lambda: chance).spread(600) == pytest.approx(expected)


@pytest.mark.parametrize("percentage", [-1, 100])
async def test_a_jitter_out_of_range_is_refused(percentage: int) -> None:
    with pytest.raises(UsageError, match="--interval-jitter-percentage"):
        Jitter(percentage)


async def test_a_key_that_changes_its_delay_all_the_time_costs_no_memory() -> None:
    delays = Delays()
    for number in range(10_000):
        delays.discard(A)
        delays.put(A, 1e9 - number, Ask(Priority.INTERVAL))
    assert len(delays._heap) < 200


async def test_a_taker_cancelled_in_the_moment_of_the_handover_loses_nothing() -> None:
    queue = Queue(concurrency=1)

    async def take() -> None:
        async with queue.take():
            pytest.fail("the cancel came first")

    taker = asyncio.create_task(take())
    await asyncio.sleep(0)
    queue.add(A)  # the taker has the key now, but has not run since
    taker.cancel()
    with pytest.raises(asyncio.CancelledError):
        await taker
    assert queue.busy == 0
    assert await taken(queue) == ["a"]


async def test_a_closed_queue_hands_out_nothing_and_lets_runs_finish() -> None:
    queue = Queue()
    queue.add(A)
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        async with queue.take():
            waiting = group.create_task(taken_or_closed(queue))
            await asyncio.sleep(0)
            queue.add(A)
            queue.add(B, after=1)
            queue.close()
            queue.add(C)
            assert await waiting is None
            drained = group.create_task(queue.drained())
            await asyncio.sleep(5)
            assert not drained.done()
        await drained
    assert await taken_or_closed(queue) is None
    assert queue.delayed == 0


async def taken_or_closed(queue: Queue) -> Run | None:
    try:
        async with queue.take() as run:
            return run
    except QueueClosed:
        return None


class Notes(Observer):
    def __init__(self) -> None:
        self.seen: list[str] = []

    def added(self) -> None:
        self.seen.append("added")

    def retried(self) -> None:
        self.seen.append("retried")

    def taken(self, waited: float) -> None:
        self.seen.append(f"taken after {waited:g}s")

    def finished(self, worked: float) -> None:
        self.seen.append(f"finished after {worked:g}s")


async def test_an_observer_hears_of_everything() -> None:
    notes = Notes()
    queue = Queue(observer=notes, backoff=Backoff(spread=0))
    queue.add(A)
    queue.add(A)
    await asyncio.sleep(2)
    async with queue.take():
        await asyncio.sleep(3)
        queue.retry(A)
    async with queue.take():
        pass
    assert notes.seen == [
        "added",
        "taken after 2s",
        "retried",
        "finished after 3s",
        "added",
        "taken after 0s",
        "finished after 0s",
    ]
