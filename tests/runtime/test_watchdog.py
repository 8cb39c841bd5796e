from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from penstock.runtime.controller import Controller, Done, Result
from penstock.runtime.watchdog import Watchdog, where
from tests.runtime.fakes import KIND
from tests.runtime.keys import key
from tests.runtime.test_controller import running, sample

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, MutableMapping

    from penstock.runtime.metrics import Metrics
    from penstock.runtime.run import Run

Lines = list["MutableMapping[str, Any]"]


@asynccontextmanager
async def watching(dog: Watchdog) -> AsyncGenerator[None]:
    task = asyncio.create_task(dog.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


async def hang_in_the_dark() -> None:
    await asyncio.Event().wait()


async def waits_parked(run: Run) -> Result:
    async with run.parked("health of Deployment/x"):
        await asyncio.Event().wait()
    return Done()


async def waits_somewhere(run: Run) -> Result:
    await hang_in_the_dark()
    return Done()


async def waits_with_patience(run: Run) -> Result:
    run.expect(3600)
    await asyncio.Event().wait()
    return Done()


@pytest.mark.looptime
@pytest.mark.parametrize(
    ("reconcile", "told"),
    [
        pytest.param(waits_parked, ["health of Deployment/x"], id="parked: what it waits for"),
        pytest.param(waits_somewhere, ["hang_in_the_dark"], id="else: where it waits"),
        pytest.param(waits_with_patience, [], id="it said that it takes longer"),
    ],
)
async def test_a_reconcile_past_its_deadline_is_named_once(
    metrics: Metrics, lines: Lines, reconcile: Any, told: list[str]
) -> None:
    controller = Controller(KIND, reconcile, metrics=metrics, deadline=60)
    async with running(controller), watching(Watchdog([controller], metrics=metrics)):
        controller.add(key("a"))
        await asyncio.sleep(59)
        assert lines == []
        await asyncio.sleep(120)
    assert [line["event"] for line in lines] == ["a reconcile is past its deadline"] * len(told)
    for line, expected in zip(lines, told, strict=True):
        assert expected in line["waits_for"]
        assert (line["name"], line["namespace"], line["seconds"]) == ("a", "default", pytest.approx(60, abs=0.5))
    assert (sample(metrics, "penstock_reconcile_overdue_total", controller="kustomization") or 0) == len(told)


async def test_a_blocked_event_loop_is_noticed(metrics: Metrics, lines: Lines) -> None:
    moments = iter([0.0, 0.01, 0.01, 1.02, 1.02])  # the second tick comes a second late
    ended = asyncio.Event()

    def clock() -> float:
        try:
            return next(moments)
        except StopIteration:
            ended.set()
            return 1.03

    async with watching(Watchdog([], metrics=metrics, tick=0.01, clock=clock)), asyncio.timeout(20):
        await ended.wait()
    assert [(line["event"], line["seconds"]) for line in lines] == [("the event loop was blocked", 1.0)]
    assert sample(metrics, "penstock_event_loop_blocked_seconds_total") == pytest.approx(1.0)


async def test_a_really_blocked_event_loop_is_noticed(metrics: Metrics, lines: Lines) -> None:
    async with watching(Watchdog([], metrics=metrics, tick=0.001, blocked=0.02)):
        await asyncio.sleep(0)
        until = time.monotonic() + 0.05
        while time.monotonic() < until:
            pass
        for _ in range(10):  # as many turns of the loop as a timer needs to reach its task
            await asyncio.sleep(0)
    assert {line["event"] for line in lines} == {"the event loop was blocked"}
    assert max(line["seconds"] for line in lines) > 0.03


async def test_where_a_task_waits_names_our_own_code_first() -> None:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(hang_in_the_dark())
        await asyncio.sleep(0)
        told = where(task)
        task.cancel()
    assert told.startswith("runtime/test_watchdog.py:")
    assert told.endswith("hang_in_the_dark, in Event.wait")
    assert where(None) == "unknown"
