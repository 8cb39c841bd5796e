from __future__ import annotations

import asyncio
import signal
import sys
from typing import TYPE_CHECKING, Any

import pytest

from penstock.errors import PenstockError
from penstock.runtime.controller import Controller, Done, Result
from penstock.runtime.fence import Fence
from penstock.runtime.health import Address
from penstock.runtime.manager import Manager
from tests.runtime.fakes import KIND, FakeCache
from tests.runtime.keys import key
from tests.runtime.test_controller import sample
from tests.runtime.test_health import ask
from tests.runtime.test_queue import now
from tests.runtime.waiting import until

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from penstock.runtime.metrics import Metrics
    from penstock.runtime.run import Run

Lines = list["MutableMapping[str, Any]"]

pytestmark = [pytest.mark.looptime, pytest.mark.usefixtures("lines")]


class Worker:
    """A controller whose reconciles take `seconds`, with notes of what happened when."""

    def __init__(self, metrics: Metrics, *, seconds: float = 0.0, fence: Fence | None = None) -> None:
        self.notes: list[str] = []
        self.seconds = seconds
        self.parks = False
        self.controller = Controller(KIND, self.reconcile, metrics=metrics, fence=fence)

    async def reconcile(self, run: Run) -> Result:
        self.notes.append("began")
        try:
            if self.parks:
                async with run.parked("for ever"):
                    await asyncio.Event().wait()
            await asyncio.sleep(self.seconds)
        except asyncio.CancelledError:
            run.fence.check()
            self.notes.append("cancelled")
            raise
        self.notes.append("ended")
        return Done()


class FakeLease:
    """A lease that the test gives and takes."""

    name = "kustomize-controller-leader-election"

    def __init__(self) -> None:
        self.given, self.taken = asyncio.Event(), asyncio.Event()
        self.released = False

    async def acquire(self) -> None:
        await self.given.wait()

    async def hold(self) -> None:
        await self.taken.wait()

    async def release(self) -> None:
        self.released = True


async def test_controllers_start_when_the_caches_are_complete(metrics: Metrics) -> None:
    manager, cache, worker = Manager(metrics=metrics), FakeCache(synced=False), Worker(metrics)
    manager.add_cache(cache.real)
    manager.add_controller(worker.controller)
    worker.controller.reconciles(cache.real)
    async with asyncio.TaskGroup() as group:
        code = group.create_task(manager.run())
        await asyncio.sleep(1)
        await cache.tell("added", key("a"), new={})
        await asyncio.sleep(1)
        assert cache.running
        assert worker.notes == []
        cache.complete.set()
        await asyncio.sleep(1)
        assert worker.notes == ["began", "ended"]
        manager.stop()
    assert code.result() == 0
    assert not cache.running


async def test_caches_that_never_become_complete_end_the_process(metrics: Metrics, lines: Lines) -> None:
    manager, cache = Manager(metrics=metrics, sync=120), FakeCache(synced=False)
    manager.add_cache(cache.real)
    assert await manager.run() == 1
    assert now() == pytest.approx(120)
    assert "kustomizations" in lines[-1]["error"]


async def test_a_stop_before_the_caches_are_complete_is_graceful(metrics: Metrics) -> None:
    manager, cache = Manager(metrics=metrics), FakeCache(synced=False)
    manager.add_cache(cache.real)
    async with asyncio.TaskGroup() as group:
        code = group.create_task(manager.run())
        await asyncio.sleep(1)
        manager.stop()
    assert code.result() == 0
    assert now() == pytest.approx(1)


@pytest.mark.parametrize(
    ("seconds", "parks", "code", "ended", "notes"),
    [
        pytest.param(0, False, 0, 1, ["began", "ended"], id="idle: at once"),
        pytest.param(10, False, 0, 10, ["began", "ended"], id="working: let it finish"),
        pytest.param(3600, False, 1, 31, ["began", "cancelled"], id="working too long: cut off after the grace period"),
        pytest.param(0, True, 0, 1, ["began", "cancelled"], id="parked: not waited for"),
    ],
)
async def test_graceful_stop(
    metrics: Metrics, seconds: float, *, parks: bool, code: int, ended: float, notes: list[str]
) -> None:
    manager, worker = Manager(metrics=metrics, grace=30), Worker(metrics, seconds=seconds)
    worker.parks = parks
    manager.add_controller(worker.controller)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(manager.run())
        worker.controller.add(key("a"))
        await asyncio.sleep(1)
        manager.stop()
    assert running.result() == code
    assert now() == pytest.approx(ended)
    assert worker.notes == notes


async def test_what_ignores_the_end_is_ended(metrics: Metrics) -> None:
    left: list[tuple[float, int]] = []
    released = asyncio.Event()

    def leave(code: int) -> None:
        left.append((round(now(), 1), code))
        released.set()

    async def reconcile(run: Run) -> Result:
        while not released.is_set():
            try:
                await released.wait()
            except asyncio.CancelledError:
                continue
        return Done()

    manager = Manager(metrics=metrics, grace=30, leave=leave)
    controller = Controller(KIND, reconcile, metrics=metrics)
    manager.add_controller(controller)
    async with asyncio.TaskGroup() as group:
        group.create_task(manager.run())
        controller.add(key("a"))
        await asyncio.sleep(1)
        manager.stop()
    assert left == [(41.0, 1)]


async def test_nobody_is_killed_after_a_graceful_stop(metrics: Metrics) -> None:
    left: list[int] = []
    manager = Manager(metrics=metrics, leave=left.append)
    manager.stop()
    assert await manager.run() == 0
    await asyncio.sleep(3600)
    assert left == []


async def test_only_the_leader_works(metrics: Metrics) -> None:
    lease, fence = FakeLease(), Fence()
    manager, worker = Manager(metrics=metrics, lead=lease, fence=fence), Worker(metrics, fence=fence)
    manager.add_controller(worker.controller)
    leads = {"name": lease.name}
    async with asyncio.TaskGroup() as group:
        code = group.create_task(manager.run())
        worker.controller.add(key("a"))
        await asyncio.sleep(60)
        assert worker.notes == []
        lease.given.set()
        await asyncio.sleep(1)
        assert worker.notes == ["began", "ended"]
        assert sample(metrics, "leader_election_master_status", **leads) == 1
        manager.stop()
    assert code.result() == 0
    assert lease.released
    assert sample(metrics, "leader_election_master_status", **leads) == 0


async def test_a_lost_lease_ends_the_process_and_closes_the_fence_first(metrics: Metrics, lines: Lines) -> None:
    lease, fence = FakeLease(), Fence()
    lease.given.set()
    manager, worker = Manager(metrics=metrics, lead=lease, fence=fence), Worker(metrics, seconds=60, fence=fence)
    manager.add_controller(worker.controller)
    async with asyncio.TaskGroup() as group:
        code = group.create_task(manager.run())
        worker.controller.add(key("a"))
        await asyncio.sleep(1)
        lease.taken.set()
    assert code.result() == 1
    assert now() == pytest.approx(1)
    assert worker.notes == ["began"], "the run could still write when it was cancelled"
    assert not lease.released
    assert "is lost" in lines[-1]["error"]


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        pytest.param(PenstockError("the disk is full"), "the disk is full", id="an error"),
        pytest.param(LookupError("oh"), "oh", id="a surprise"),
        pytest.param(None, "the ledger has ended; the process cannot go on without it", id="an end"),
    ],
)
async def test_a_service_that_fails_ends_the_process(
    metrics: Metrics, lines: Lines, failure: Exception | None, told: str
) -> None:
    async def service() -> None:
        await asyncio.sleep(5)
        if failure is not None:
            raise failure

    manager, worker = Manager(metrics=metrics), Worker(metrics, seconds=60)
    manager.add_controller(worker.controller)
    manager.add_service("the ledger", service)
    worker.controller.add(key("a"))
    assert await manager.run() == 1
    assert now() == pytest.approx(5)
    assert lines[-1]["error"] == told
    assert worker.notes == ["began", "cancelled"]


async def test_services_outlive_the_controllers(metrics: Metrics) -> None:
    manager, worker = Manager(metrics=metrics), Worker(metrics, seconds=10)
    ended: list[float] = []

    async def service() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(now())

    manager.add_service("events", service)
    manager.add_controller(worker.controller)
    async with asyncio.TaskGroup() as group:
        group.create_task(manager.run())
        worker.controller.add(key("a"))
        await asyncio.sleep(1)
        manager.stop()
    assert ended == [pytest.approx(10)]


@pytest.mark.looptime(False)
async def test_health_and_readiness(metrics: Metrics, lines: Lines) -> None:
    manager, cache = Manager(metrics=metrics), FakeCache(synced=False)
    manager.add_cache(cache.real)
    manager.serve(health=Address("127.0.0.1", 0), metrics=Address("127.0.0.1", 0))
    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        group.create_task(manager.run())
        await until(lambda: len(lines) == 2)
        health, figures = (Address.parse(line["address"], flag="-") for line in lines)
        assert health is not None
        assert figures is not None
        assert (await ask(health, "GET /healthz HTTP/1.1\r\n\r\n"))[2] == "ok"
        assert (await ask(health, "GET /readyz HTTP/1.1\r\n\r\n"))[2] == "waiting for the caches"
        assert "workqueue_depth" in (await ask(figures, "GET /metrics HTTP/1.1\r\n\r\n"))[2]
        cache.complete.set()
        await until(lambda: not manager.waits_for)
        assert (await ask(health, "GET /readyz HTTP/1.1\r\n\r\n"))[2] == "ok"
        manager.stop()


PROCESS = """
import asyncio, sys
from penstock.kube.resources import GroupKind, ObjectRef
from penstock.runtime import Controller, Done, Manager, Metrics, logs

logs.configure()

async def reconcile(run):
    print("working", flush=True)
    try:
        await asyncio.sleep({seconds})
    finally:
        print("over", flush=True)
    return Done()

async def main():
    metrics = Metrics()
    manager = Manager(metrics=metrics, grace=50)
    controller = Controller(GroupKind("", "ConfigMap"), reconcile, metrics=metrics)
    manager.add_controller(controller)
    controller.add(ObjectRef("", "ConfigMap", "a", "b"))
    return await manager.run()

sys.exit(asyncio.run(main()))
"""


@pytest.mark.looptime(False)
@pytest.mark.parametrize(
    ("seconds", "signals", "code", "told"),
    [
        pytest.param(0.2, [signal.SIGTERM], 0, b"over\n", id="SIGTERM: the run finishes, exit 0"),
        pytest.param(0.2, [signal.SIGINT], 0, b"over\n", id="SIGINT: the same"),
        pytest.param(600, [signal.SIGTERM, signal.SIGTERM], 1, b"", id="a second signal: exit 1 at once"),
        pytest.param(600, [signal.SIGINT, signal.SIGTERM], 1, b"", id="whichever it is"),
    ],
)
async def test_signals(seconds: float, signals: list[signal.Signals], code: int, told: bytes) -> None:
    pipe = asyncio.subprocess.PIPE
    program = PROCESS.format(seconds=seconds)
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", program, stdout=pipe, stderr=pipe)
    assert process.stdout is not None
    assert process.stderr is not None
    async with asyncio.timeout(40):  # less than the grace period
        assert await process.stdout.readline() == b"working\n"
        for number in signals:
            process.send_signal(number)
            while b"stopping" not in await process.stderr.readline():
                if process.stderr.at_eof():
                    break
        assert await process.stdout.read() == told
        assert await process.wait() == code
