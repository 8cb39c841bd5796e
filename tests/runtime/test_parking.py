"""Waits that hold no slot."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from penstock.runtime.queue import Queue
from tests.runtime.keys import key
from tests.runtime.test_queue import now, taken

if TYPE_CHECKING:
    from penstock.runtime.run import Run

pytestmark = pytest.mark.looptime

A, B, C = key("a"), key("b"), key("c")


async def test_a_parked_run_gives_its_slot_to_others_and_keeps_its_key() -> None:
    queue = Queue(concurrency=1)
    queue.add(A)
    async with queue.take() as run:
        queue.add(A)
        queue.add(B)
        async with run.parked("health of Deployment/x"):
            assert run.waits_for == "health of Deployment/x"
            assert await taken(queue) == ["b"]
        assert run.waits_for == ""
        assert queue.busy == 1


async def test_who_comes_back_goes_ahead_of_new_work() -> None:
    queue = Queue(concurrency=1)
    order: list[str] = []
    woken = asyncio.Event()

    async def waits() -> None:
        async with queue.take() as run:
            async with run.parked("an event"):
                await woken.wait()
            order.append("back")

    async def works(name: str) -> None:
        async with queue.take():
            woken.set()
            await asyncio.sleep(1)
            order.append(name)

    queue.add(A)
    queue.add(B)
    queue.add(C)
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        group.create_task(waits())
        await asyncio.sleep(0)
        group.create_task(works("first"))
        group.create_task(works("second"))
    assert order == ["first", "back", "second"]


async def test_a_hundred_hanging_runs_cost_a_healthy_one_nothing() -> None:
    async def healthy(queue: Queue) -> float:
        began = now()
        queue.add(A)
        async with queue.take():
            await asyncio.sleep(0.5)
        return now() - began

    alone = await healthy(Queue(concurrency=4))

    queue = Queue(concurrency=4)

    async def hangs() -> None:
        async with queue.take() as run, run.parked("a Deployment that never becomes ready"):
            await asyncio.Event().wait()

    for number in range(100):
        queue.add(key(f"hanging-{number}"))
    hanging = [asyncio.create_task(hangs()) for _ in range(100)]
    await asyncio.sleep(0)
    assert await healthy(queue) == pytest.approx(alone)
    assert len(queue.runs) == 100
    for task in hanging:
        task.cancel()
    await asyncio.gather(*hanging, return_exceptions=True)
    assert (queue.busy, len(queue.runs)) == (0, 0)


async def test_a_new_revision_ends_the_wait_for_the_old_one() -> None:
    queue = Queue()
    queue.add(A)

    async def push() -> None:
        await asyncio.sleep(3)
        queue.add(A, cause=B)

    async with asyncio.timeout(10), asyncio.TaskGroup() as group, queue.take() as run:
        group.create_task(push())
        async with run.parked("health"):
            await run.wanted.wait()
        assert now() == pytest.approx(3)
        assert run.again is not None
        assert run.again.cause == B


async def test_a_wait_that_times_out_does_not_wait_for_a_slot() -> None:
    queue = Queue(concurrency=1)
    queue.add(A)

    async def waits(run: Run) -> None:
        async with asyncio.timeout(2), run.parked("health"):
            await asyncio.Event().wait()

    async def works() -> None:
        async with queue.take():
            await asyncio.sleep(60)

    async with asyncio.TaskGroup() as group, queue.take() as run:
        queue.add(B)
        group.create_task(works())
        with pytest.raises(TimeoutError):
            await waits(run)
        assert now() == pytest.approx(2)
        assert queue.busy == 2, "one too many for a moment"
    assert queue.busy == 0


async def test_a_time_out_while_it_waits_for_a_slot_ends_the_wait_too() -> None:
    queue = Queue(concurrency=1)
    queue.add(A)

    async def waits(run: Run) -> None:
        async with asyncio.timeout(2), run.parked("a second"):
            await asyncio.sleep(1)

    async def works() -> None:
        async with queue.take():
            await asyncio.sleep(60)

    async with asyncio.TaskGroup() as group, queue.take() as run:
        queue.add(B)
        group.create_task(works())
        with pytest.raises(TimeoutError):
            await waits(run)
        assert now() == pytest.approx(2)
        assert queue.busy == 2, "it works on, and that is counted"
    assert queue.busy == 0


async def test_a_wait_that_fails_takes_a_slot_before_it_goes_on() -> None:
    queue = Queue(concurrency=1)
    queue.add(A)
    async with asyncio.timeout(60), asyncio.TaskGroup() as group, queue.take() as run:
        queue.add(B)
        parked = asyncio.Event()

        async def works() -> None:
            async with queue.take():
                parked.set()
                await asyncio.sleep(7)

        async def fails() -> None:
            async with run.parked("health"):
                await parked.wait()
                raise LookupError

        group.create_task(works())
        with pytest.raises(LookupError):
            await fails()
        assert now() == pytest.approx(7)
        assert queue.busy == 1


async def test_tasks_of_one_run_park_side_by_side() -> None:
    queue = Queue(concurrency=1)
    queue.add(A)

    async with asyncio.timeout(60), queue.take() as run:

        async def wait(what: str, seconds: float) -> None:
            async with run.parked(what):
                await asyncio.sleep(seconds)

        async with asyncio.TaskGroup() as group:
            group.create_task(wait("first", 1))
            group.create_task(wait("second", 5))
            await asyncio.sleep(2)
            assert run.waits_for == "second"
            assert queue.busy == 0
        assert queue.busy == 1
    assert queue.busy == 0


async def test_a_run_cancelled_while_it_waits_for_its_slot_leaves_the_count_right() -> None:
    queue = Queue(concurrency=1)
    queue.add(A)

    async def parks() -> None:
        async with queue.take() as run, run.parked("a moment"):
            await asyncio.sleep(1)

    parking = asyncio.create_task(parks())
    await asyncio.sleep(0)
    queue.add(B)
    async with queue.take():
        await asyncio.sleep(5)  # by now the other one waits to come back
        parking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await parking
        assert queue.busy == 1
    assert queue.busy == 0


async def test_draining_does_not_wait_for_parked_runs() -> None:
    queue = Queue()
    queue.add(A)
    async with asyncio.timeout(10), queue.take() as run, run.parked("health"):
        queue.close()
        await queue.drained()


async def test_draining_waits_for_a_parked_run_that_goes_on() -> None:
    queue = Queue(concurrency=1)
    queue.add(A)
    ended: list[float] = []

    async def parks() -> None:
        async with queue.take() as run:
            async with run.parked("a second"):
                await asyncio.sleep(1)
            await asyncio.sleep(4)
        ended.append(now())

    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        group.create_task(parks())
        await asyncio.sleep(2)
        queue.close()
        await queue.drained()
        assert now() == pytest.approx(5)
    assert ended == [pytest.approx(5)]
