"""The pool of worker processes, with real processes."""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from penstock.errors import PenstockError, UsageError
from penstock.kube.errors import NotFound
from penstock.runtime.workers import WorkerDied, WorkerError, WorkerMemory, WorkerPool, WorkerTimeout
from tests.runtime import jobs
from tests.runtime.waiting import until

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

MIB = 2**20
ROOT = Path(__file__).parents[2]


@pytest.fixture
async def pool() -> AsyncGenerator[WorkerPool]:
    async with WorkerPool(size=2, timeout=20) as workers:
        yield workers


async def test_an_answer_is_what_the_function_says_it_returns(pool: WorkerPool) -> None:
    assert await pool.run(jobs.add, 1, 2, 3) == jobs.Sum(6, (1, 2, 3))


async def test_big_values_make_the_way_there_and_back(pool: WorkerPool) -> None:
    value = {"data": "x" * (5 * MIB), "list": list(range(1000))}
    assert await pool.run(jobs.echo, value) == value


async def test_workers_start_when_needed_and_are_used_again(pool: WorkerPool) -> None:
    assert pool.idle == 0
    first = await pool.run(jobs.pid)
    assert await pool.run(jobs.pid) == first != os.getpid()
    assert (pool.busy, pool.idle) == (0, 1)


async def test_no_more_workers_than_allowed(pool: WorkerPool) -> None:
    pids = await asyncio.gather(*(pool.run(jobs.pid) for _ in range(8)))
    assert 1 <= len(set(pids)) <= 2


async def test_what_a_function_prints_or_reads_does_not_disturb(pool: WorkerPool) -> None:
    assert await pool.run(jobs.chatter) == ""
    assert await pool.run(jobs.add, 1) == jobs.Sum(1, (1,))


async def test_our_own_errors_come_back_as_what_they_are(pool: WorkerPool) -> None:
    with pytest.raises(UsageError) as caught:
        await pool.run(jobs.refuse, "give a number")
    assert str(caught.value) == "give a number"
    assert caught.value.exit_code == 7
    assert "jobs.py" in caught.value.__notes__[0]


async def test_an_error_whose_constructor_wants_more_keeps_its_sentence(pool: WorkerPool) -> None:
    with pytest.raises(NotFound) as caught:
        await pool.run(jobs.answer_404)
    assert str(caught.value) == "apps is not there"


async def test_only_classes_of_ours_are_rebuilt(pool: WorkerPool) -> None:
    with pytest.raises(PenstockError) as caught:
        await pool.run(jobs.refuse_in_foreign_words, "no")
    assert str(caught.value) == "no"
    assert type(caught.value) is PenstockError


@pytest.mark.parametrize(
    ("job", "told"),
    [
        pytest.param(jobs.stumble, "tests.runtime.jobs.stumble failed: LookupError: no such thing", id="an exception"),
        pytest.param(jobs.leave, "tests.runtime.jobs.leave failed: SystemExit: 3", id="an exit"),
    ],
)
async def test_other_errors_are_told_by_name(pool: WorkerPool, job: Callable[[], None], told: str) -> None:
    with pytest.raises(WorkerError) as caught:
        await pool.run(job)
    assert str(caught.value) == told
    assert await pool.run(jobs.pid)


@pytest.mark.parametrize("job", [pytest.param(jobs.hang, id="asleep"), pytest.param(jobs.spin, id="busy")])
async def test_a_function_that_takes_too_long_is_killed(pool: WorkerPool, job: Callable[[], None]) -> None:
    before = await pool.run(jobs.pid)
    with pytest.raises(WorkerTimeout, match=rf"tests\.runtime\.jobs\.{job.__name__} took longer than 0\.2s"):
        await pool.run(job, timeout=0.2)
    await _gone(before)
    assert await pool.run(jobs.pid) != before


async def test_a_function_that_wants_too_much_memory_is_refused(pool: WorkerPool) -> None:
    before = await pool.run(jobs.pid)
    assert await pool.run(jobs.swell, 20 * MIB, memory=100 * MIB) == 20 * MIB
    with pytest.raises(WorkerMemory, match=r"tests\.runtime\.jobs\.swell needs more than 100 MiB"):
        await pool.run(jobs.swell, 200 * MIB, memory=100 * MIB)
    assert await pool.run(jobs.pid) != before, "who knows what state it is in"
    assert await pool.run(jobs.swell, 20 * MIB, memory=100 * MIB) == 20 * MIB


@pytest.mark.parametrize(
    ("number", "told"),
    [
        pytest.param(signal.SIGKILL, "killed by SIGKILL; it may have run out of memory", id="killed"),
        pytest.param(signal.SIGTERM, "killed by SIGTERM", id="asked to end"),
    ],
)
async def test_a_worker_that_dies_is_replaced(pool: WorkerPool, number: signal.Signals, told: str) -> None:
    with pytest.raises(WorkerDied) as caught:
        await pool.run(jobs.die, int(number))
    assert str(caught.value) == f"tests.runtime.jobs.die ended its worker process: {told}"
    assert await pool.run(jobs.pid)


@pytest.mark.parametrize("job", [pytest.param(jobs.lie, id="another type"), pytest.param(jobs.nest, id="too deep")])
async def test_an_answer_that_is_not_what_was_promised(pool: WorkerPool, job: Callable[[], Any]) -> None:
    with pytest.raises(WorkerError, match=rf"tests\.runtime\.jobs\.{job.__name__}"):
        await pool.run(job)
    assert await pool.run(jobs.pid)


async def test_what_cannot_be_sent_is_told_before_a_worker_is_taken(pool: WorkerPool) -> None:
    with pytest.raises((pickle.PicklingError, AttributeError, TypeError)):
        await pool.run(jobs.echo, lambda: None)
    assert pool.idle == 0


async def test_the_terminals_interrupt_is_left_to_the_parent(pool: WorkerPool) -> None:
    assert await pool.run(jobs.interrupted) == "still here"


async def test_a_cancelled_caller_takes_its_worker_along(pool: WorkerPool) -> None:
    before = await pool.run(jobs.pid)
    call = asyncio.create_task(pool.run(jobs.hang))
    await until(lambda: pool.busy == 1)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await _gone(before)
    assert pool.busy == 0
    assert await pool.run(jobs.pid) != before


async def test_a_caller_cancelled_in_line_costs_no_worker() -> None:
    async with WorkerPool(size=1, timeout=20) as pool:
        before = await pool.run(jobs.pid)
        first = asyncio.create_task(pool.run(jobs.add, 1))
        second = asyncio.create_task(pool.run(jobs.add, 2))
        third = asyncio.create_task(pool.run(jobs.add, 3))
        await asyncio.sleep(0)
        second.cancel()
        assert (await first, await third) == (jobs.Sum(1, (1,)), jobs.Sum(3, (3,)))
        assert await pool.run(jobs.pid) == before


async def test_callers_are_served_in_the_order_of_arrival() -> None:
    order: list[int] = []

    async with WorkerPool(size=1, timeout=20) as pool:

        async def call(number: int) -> None:
            await pool.run(jobs.add, number)
            order.append(number)

        async with asyncio.TaskGroup() as group:
            for number in range(5):
                group.create_task(call(number))
    assert order == [0, 1, 2, 3, 4]


async def test_idle_workers_end_after_a_while() -> None:
    async with WorkerPool(size=1, idle=0.01, timeout=20) as pool:
        before = await pool.run(jobs.pid)
        await _gone(before)
        assert pool.idle == 0
        assert await pool.run(jobs.pid) != before


async def test_a_worker_that_died_idle_is_not_used(pool: WorkerPool) -> None:
    before = await pool.run(jobs.pid)
    os.kill(before, signal.SIGKILL)
    (worker,) = pool._idle
    async with asyncio.timeout(20):
        assert worker._process is not None
        await worker._process.wait()
    assert await pool.run(jobs.pid) != before


async def test_a_closed_pool_has_no_workers_and_takes_no_calls() -> None:
    async with WorkerPool(size=2, timeout=20) as pool:
        pids = await asyncio.gather(pool.run(jobs.pid), pool.run(jobs.pid))
    for one in pids:
        await _gone(one)
    with pytest.raises(WorkerError, match="the worker pool is closed"):
        await pool.run(jobs.pid)


async def test_results_are_observed() -> None:
    seen: list[str] = []
    async with WorkerPool(size=1, observe=seen.append) as pool:
        await pool.run(jobs.pid)
        for call in (pool.run(jobs.stumble), pool.run(jobs.hang, timeout=0.05), pool.run(jobs.die, 9)):
            with pytest.raises(WorkerError):
                await call
    assert seen == ["ok", "error", "timeout", "died"]


PARENT = """
import asyncio, sys
from penstock.runtime.workers import WorkerPool
from tests.runtime import jobs
from tests.runtime.waiting import until

async def main():
    async with WorkerPool(size=2, timeout=600) as pool:
        idle = await pool.run(jobs.pid)
        busy = asyncio.create_task(pool.run(jobs.{job}))
        while not pool.busy:
            await asyncio.sleep(0)
        (worker,) = pool._busy
        while not worker.alive:
            await asyncio.sleep(0.01)
        print(idle, worker._process.pid, flush=True)
        await asyncio.sleep(600)

asyncio.run(main())
"""


@pytest.mark.parametrize("job", ["hang", "spin"])
async def test_workers_never_outlive_a_parent_that_was_killed(job: str) -> None:
    parent = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", PARENT.format(job=job)), stdout=asyncio.subprocess.PIPE, cwd=ROOT
    )
    assert parent.stdout is not None
    async with asyncio.timeout(30):
        pids = [int(word) for word in (await parent.stdout.readline()).split()]
    assert pids
    parent.kill()
    await parent.wait()
    for one in pids:
        await _gone(one)


async def _gone(process: int) -> None:
    """Wait until the process has ended and somebody has read its exit code."""
    await until(lambda: not _runs(process))


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
