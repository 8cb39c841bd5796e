from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
import structlog

from penstock.errors import PenstockError
from penstock.kube.cache import Change
from penstock.runtime.controller import After, Again, Controller, Done, Result, Terminal
from penstock.runtime.delays import Backoff, Jitter
from penstock.runtime.fence import OwnershipLost
from penstock.runtime.line import Priority
from penstock.runtime.triggers import REQUESTED_AT, asked, spec_changed, urgency
from tests.runtime.fakes import KIND, FakeCache
from tests.runtime.keys import key
from tests.runtime.test_queue import now

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, MutableMapping

    from penstock.kube.cache import ChangeType
    from penstock.kube.resources import Object, ObjectRef
    from penstock.runtime.metrics import Metrics
    from penstock.runtime.run import Run

pytestmark = [pytest.mark.looptime, pytest.mark.usefixtures("lines")]

A, B = key("a"), key("b")
STEADY = Backoff(spread=0)


class Script:
    """A reconcile that returns or raises what it is told, and notes when it ran."""

    def __init__(self, *steps: Result | Exception) -> None:
        self.steps = list(steps)
        self.times: list[float] = []
        self.runs: list[Run] = []

    async def __call__(self, run: Run) -> Result:
        self.times.append(round(now(), 3))
        self.runs.append(run)
        step = self.steps.pop(0) if self.steps else Done()
        if isinstance(step, Exception):
            raise step
        return step


def controller(
    reconcile: Callable[[Run], Awaitable[Result]], metrics: Metrics, *, jitter: Jitter | None = None
) -> Controller:
    return Controller(KIND, reconcile, metrics=metrics, backoff=STEADY, jitter=jitter or Jitter(0))


@asynccontextmanager
async def running(one: Controller) -> AsyncGenerator[None]:
    task = asyncio.create_task(one.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


def sample(metrics: Metrics, series: str, /, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(series, labels)


@pytest.mark.parametrize(
    ("steps", "times", "result"),
    [
        pytest.param([Done()], [0], "success", id="done: no more"),
        pytest.param([After(60)], [0, 60], "requeue_after", id="after a minute"),
        pytest.param([Again(), Again()], [0, 0.75, 2.25], "requeue", id="again backs off"),
        pytest.param([PenstockError("no"), PenstockError("no")], [0, 0.75, 2.25], "error", id="errors back off"),
        pytest.param([LookupError(), LookupError()], [0, 0.75, 2.25], "error", id="surprises back off"),
        pytest.param([Terminal("no")], [0], "error", id="terminal: no more"),
        pytest.param([Again(), After(10), Again()], [0, 0.75, 10.75, 11.5], "requeue", id="after resets the backoff"),
        pytest.param([After(0), After(-1)], [0, 0.75, 2.25], "requeue", id="a delay of nothing is no loop"),
    ],
)
async def test_results(metrics: Metrics, steps: list[Result | Exception], times: list[float], result: str) -> None:
    script = Script(*steps)
    one = controller(script, metrics)
    async with running(one):
        one.add(A)
        await asyncio.sleep(3600)
    assert script.times == pytest.approx(times, abs=0.01)
    assert sample(metrics, "controller_runtime_reconcile_total", controller="kustomization", result=result)


async def test_only_an_interval_on_the_way_of_success_is_spread(metrics: Metrics) -> None:
    script = Script(After(600, spread=True), After(600))
    one = controller(script, metrics, jitter=Jitter(5, chance=lambda: 1.0))
    async with running(one):
        one.add(A)
        await asyncio.sleep(3600)
    assert script.times == pytest.approx([0, 630, 1230], abs=0.01)


@pytest.mark.parametrize(
    ("error", "series", "message"),
    [
        pytest.param(PenstockError("no"), "reconcile_errors_total", "reconcile failed", id="an error"),
        pytest.param(
            Terminal("no"), "terminal_reconcile_errors_total", "reconcile failed for good", id="a terminal error"
        ),
        pytest.param(
            LookupError("no"),
            "reconcile_panics_total",
            "reconcile ended in an unexpected exception",
            id="a surprise",
        ),
        pytest.param(
            ExceptionGroup("two", [PenstockError("a"), ExceptionGroup("one", [PenstockError("b")])]),
            "reconcile_errors_total",
            "reconcile failed",
            id="errors of several tasks",
        ),
        pytest.param(
            ExceptionGroup("two", [PenstockError("a"), LookupError("b")]),
            "reconcile_panics_total",
            "reconcile ended in an unexpected exception",
            id="one of them a surprise",
        ),
    ],
)
async def test_failures_are_counted_and_logged(
    metrics: Metrics, lines: list[MutableMapping[str, Any]], error: Exception, series: str, message: str
) -> None:
    one = controller(Script(error), metrics)
    async with running(one):
        one.add(A)
        await asyncio.sleep(0.1)
    assert sample(metrics, f"controller_runtime_{series}", controller="kustomization") == 1
    assert sample(metrics, "controller_runtime_reconcile_errors_total", controller="kustomization") == 1
    assert [line["event"] for line in lines] == [message]


async def test_one_failing_object_does_not_disturb_another(metrics: Metrics) -> None:
    seen: list[str] = []

    async def reconcile(run: Run) -> Result:
        if run.key == A:
            raise LookupError
        seen.append(run.key.name)
        return Done()

    one = controller(reconcile, metrics)
    async with running(one):
        one.add(A)
        one.add(B)
        await asyncio.sleep(0.1)
    assert seen == ["b"]


async def test_every_line_of_a_run_names_its_object(metrics: Metrics) -> None:
    context: dict[str, object] = {}

    async def reconcile(run: Run) -> Result:
        context.update(structlog.contextvars.get_contextvars(), reconcileID=run.id)
        return Done()

    one = controller(reconcile, metrics)
    async with running(one):
        one.add(A)
        await asyncio.sleep(0.1)
    assert context.pop("reconcileID")
    assert context == {
        "controller": "kustomization",
        "controllerGroup": "kustomize.toolkit.fluxcd.io",
        "controllerKind": "Kustomization",
        "Kustomization": {"name": "a", "namespace": "default"},
        "namespace": "default",
        "name": "a",
    }


async def test_a_hundred_parked_reconciles_do_not_delay_a_healthy_one(metrics: Metrics) -> None:
    async def reconcile(run: Run) -> Result:
        if run.key == A:
            await asyncio.sleep(0.5)
            ended.append(now())
            return Done()
        async with run.parked("a Deployment that never becomes ready"):
            await asyncio.Event().wait()
        return Done()

    ended: list[float] = []
    one = controller(reconcile, metrics)
    async with running(one):
        for number in range(100):
            one.add(key(f"hanging-{number}"))
        await asyncio.sleep(1)
        one.add(A)
        await asyncio.sleep(1)
    assert ended == [pytest.approx(1.5)]


async def test_draining_lets_runs_finish_and_begins_none(metrics: Metrics) -> None:
    ended: list[str] = []

    async def reconcile(run: Run) -> Result:
        await asyncio.sleep(5)
        ended.append(run.key.name)
        return After(1)

    one = Controller(KIND, reconcile, metrics=metrics, concurrency=1)
    async with running(one):
        one.add(A)
        one.add(B)
        await asyncio.sleep(1)
        await one.drain()
        assert now() == pytest.approx(5)
    assert ended == ["a"]


async def test_changes_become_runs(metrics: Metrics) -> None:
    script, cache, other = Script(), FakeCache(), FakeCache()
    one = controller(script, metrics)
    one.reconciles(cache.real)
    one.watches(
        other.real,
        when=lambda change: change.type != "deleted",
        to=lambda change: [A, B],
        priority=lambda _: Priority.ASKED,
    )
    await cache.tell("added", A, new={})
    async with running(one):
        await asyncio.sleep(1)
        source = key("source", kind="GitRepository")
        await other.tell("deleted", source)
        await other.tell("modified", source, {}, {})
        await asyncio.sleep(1)
    told = [(run.key.name, run.ask.priority, run.ask.cause) for run in script.runs]
    assert told == [
        ("a", Priority.INTERVAL, A),  # the first reading is old news
        ("a", Priority.ASKED, source),
        ("b", Priority.ASKED, source),
    ]


async def test_series_of_an_object_go_with_it(metrics: Metrics) -> None:
    script, cache = Script(), FakeCache()
    one = controller(script, metrics)
    one.reconciles(cache.real)
    labels = {"kind": "Kustomization", "name": "a", "namespace": "default"}
    async with running(one):
        await cache.tell("added", A, new={})
        await asyncio.sleep(1)
        assert sample(metrics, "gotk_reconcile_duration_seconds_count", **labels) == 1
        await cache.tell("deleted", A, old={})
        await asyncio.sleep(1)
    assert len(script.runs) == 2
    assert sample(metrics, "gotk_reconcile_duration_seconds_count", **labels) is None


async def test_replicas_share_the_work(metrics: Metrics) -> None:
    owned: set[ObjectRef] = {A}
    fences: list[Run] = []
    held = asyncio.Event()

    async def reconcile(run: Run) -> Result:
        fences.append(run)
        await held.wait()
        return Done()

    cache = FakeCache()
    one = Controller(KIND, reconcile, metrics=metrics, mine=lambda ref: ref in owned)
    one.reconciles(cache.real)
    async with running(one):
        await cache.tell("added", A, new={})
        await cache.tell("added", B, new={})
        await asyncio.sleep(1)
        assert [run.key for run in fences] == [A]
        owned.clear()
        owned.add(B)
        await one.rebalance()
        await asyncio.sleep(1)
        assert [run.key for run in fences] == [A, B]
        with pytest.raises(OwnershipLost, match="belongs to another replica"):
            fences[0].fence.check()
        fences[1].fence.check()
        owned.clear()  # and nobody could tell the controller yet
        with pytest.raises(OwnershipLost, match="belongs to another replica"):
            fences[1].fence.check()
        owned.add(B)
        with pytest.raises(OwnershipLost):  # what was closed stays closed
            fences[1].fence.check()


async def test_a_change_of_members_runs_only_what_has_become_ours(metrics: Metrics) -> None:
    owned: set[ObjectRef] = {A}
    script = Script()
    cache = FakeCache()
    one = Controller(KIND, script, metrics=metrics, mine=lambda ref: ref in owned)
    one.reconciles(cache.real)
    async with running(one):
        await cache.tell("added", A, new={})
        await cache.tell("added", B, new={})
        await asyncio.sleep(1)
        owned.add(B)
        await one.rebalance()
        await asyncio.sleep(1)
        assert [run.key for run in script.runs] == [A, B]


async def test_what_is_doubtful_for_a_moment_is_not_forgotten(metrics: Metrics) -> None:
    certain = True
    script = Script()
    cache = FakeCache()
    one = Controller(KIND, script, metrics=metrics, mine=lambda _: certain)
    one.reconciles(cache.real)
    async with running(one):
        await cache.tell("added", A, new={})
        await asyncio.sleep(1)
        certain = False
        one.add(A)
        await asyncio.sleep(1)
        certain = True
        await asyncio.sleep(60)
    assert [run.key for run in script.runs] == [A, A]


def obj(generation: int = 1, wish: str = "", status: str = "") -> Object:
    annotations = {REQUESTED_AT: wish} if wish else {}
    return {"metadata": {"generation": generation, "annotations": annotations}, "status": {"phase": status}}


@pytest.mark.parametrize(
    ("kind", "old", "new", "runs", "level"),
    [
        pytest.param("added", None, obj(), True, Priority.REVISION, id="created"),
        pytest.param("deleted", obj(), None, True, Priority.REVISION, id="deleted"),
        pytest.param("modified", obj(1), obj(2), True, Priority.REVISION, id="a new generation"),
        pytest.param("modified", obj(), obj(status="x"), False, Priority.REVISION, id="a new status"),
        pytest.param("modified", obj(), obj(wish="now"), True, Priority.ASKED, id="asked for"),
        pytest.param("modified", obj(wish="then"), obj(wish="now"), True, Priority.ASKED, id="asked for again"),
        pytest.param("modified", obj(wish="now"), obj(wish="now"), False, Priority.REVISION, id="the same wish"),
        pytest.param("modified", obj(wish="now"), obj(), False, Priority.REVISION, id="the wish is gone"),
        pytest.param("added", None, obj(wish="now"), True, Priority.REVISION, id="an old wish at the start"),
        pytest.param(
            "modified", {"metadata": {}}, {"metadata": {"annotations": None}}, False, Priority.REVISION, id="bare"
        ),
    ],
)
async def test_triggers(
    kind: ChangeType, old: Object | None, new: Object | None, *, runs: bool, level: Priority
) -> None:
    change = Change(kind, A, old, new)
    assert spec_changed(change) is runs
    assert urgency(change) is level
    assert asked(change) is (level is Priority.ASKED)
