from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import structlog

from penstock.kube import Lease, Terms
from tests.kube.leaseworld import Network, World

pytestmark = pytest.mark.looptime

DAY = timedelta(days=1)


def now() -> float:
    return asyncio.get_running_loop().time()


def candidate(network: Network, holder: str, *, skew: timedelta = timedelta(), **options: Any) -> Lease:
    return Lease(
        network.client,
        name="leader",
        namespace="flux-system",
        holder=holder,
        now=lambda: datetime(2026, 1, 1, tzinfo=UTC) + skew + timedelta(seconds=now()),
        **options,
    )


@pytest.fixture
def world() -> World:
    return World()


@pytest.mark.parametrize(
    ("duration", "renew_within", "retry"), [(30, 30, 5), (35, 5, 5), (35, 40, 5), (35, 30, 0), (35, 30, -1)]
)
def test_terms_that_cannot_work_are_refused(duration: float, renew_within: float, retry: float) -> None:
    with pytest.raises(ValueError, match="a lease needs retry < renew_within < duration"):
        Terms(duration, renew_within, retry)


async def test_a_lease_that_nobody_has_is_taken_at_once(world: World) -> None:
    await candidate(Network(world), "a", labels={"x": "y"}).acquire()
    assert now() < 1
    lease = world.leases["leader"]
    assert lease["metadata"]["labels"] == {"x": "y"}
    spec = lease["spec"]
    assert (spec["holderIdentity"], spec["leaseDurationSeconds"], spec["leaseTransitions"]) == ("a", 35, 1)
    assert spec["acquireTime"] == spec["renewTime"]
    assert spec["renewTime"].endswith("Z")


async def test_of_two_who_come_at_the_same_moment_one_gets_it(world: World) -> None:
    leases = [candidate(Network(world), name) for name in "ab"]
    acquiring = [asyncio.create_task(lease.acquire()) for lease in leases]
    await asyncio.sleep(1)
    assert sorted(task.done() for task in acquiring) == [False, True]
    for task in acquiring:
        task.cancel()


async def test_a_holder_that_renews_keeps_it(world: World) -> None:
    a, b = candidate(Network(world), "a"), candidate(Network(world), "b")
    await a.acquire()
    holding, acquiring = asyncio.create_task(a.hold()), asyncio.create_task(b.acquire())
    await asyncio.sleep(600)
    assert not holding.done()
    assert not acquiring.done()
    assert world.holder("leader") == "a"
    assert world.leases["leader"]["spec"]["leaseTransitions"] == 1
    for task in (holding, acquiring):
        task.cancel()


async def test_another_takes_over_only_when_it_has_seen_the_lease_run_out(world: World) -> None:
    await candidate(Network(world), "a").acquire()
    await asyncio.sleep(1000)
    begun = now()
    await candidate(Network(world), "b").acquire()
    assert 35 < now() - begun < 35 + 2 * 5, "counted from when it first saw it, not from what the lease says"
    assert world.holder("leader") == "b"
    assert world.leases["leader"]["spec"]["leaseTransitions"] == 2


@pytest.mark.parametrize("skew", [-DAY, DAY], ids=["a day behind", "a day ahead"])
async def test_a_clock_that_is_wrong_harms_nobody(skew: timedelta, world: World) -> None:
    a, b = candidate(Network(world), "a", skew=skew), candidate(Network(world), "b")
    await a.acquire()
    holding, acquiring = asyncio.create_task(a.hold()), asyncio.create_task(b.acquire())
    await asyncio.sleep(200)
    assert world.holder("leader") == "a"
    holding.cancel()
    begun = now()
    await acquiring
    assert 30 < now() - begun < 45


async def test_a_clock_that_jumps_harms_nobody(world: World) -> None:
    jump = timedelta()
    a = Lease(
        Network(world).client,
        name="leader",
        namespace="flux-system",
        holder="a",
        now=lambda: datetime(2026, 1, 1, tzinfo=UTC) + jump + timedelta(seconds=now()),
    )
    b = candidate(Network(world), "b")
    await a.acquire()
    holding, acquiring = asyncio.create_task(a.hold()), asyncio.create_task(b.acquire())
    for next_jump in (DAY, -DAY, timedelta(seconds=-40), timedelta(seconds=40)):
        jump = next_jump
        await asyncio.sleep(60)
        assert not holding.done()
        assert not acquiring.done()
    for task in (holding, acquiring):
        task.cancel()


class TestLosing:
    """Between the last moment that a holder believes in, and the first of its successor, there is a gap."""

    async def lost_and_taken(self, world: World, network: Network, fault: str) -> tuple[float, float]:
        a, b = candidate(network, "a"), candidate(Network(world), "b")
        await a.acquire()
        acquiring = asyncio.create_task(b.acquire())
        holding = asyncio.create_task(a.hold())
        await asyncio.sleep(20)
        setattr(network, fault, True)
        begun = now()
        await asyncio.wait_for(holding, 100)
        lost = now() - begun
        await asyncio.wait_for(acquiring, 100)
        return lost, now() - begun

    @pytest.mark.parametrize("fault", ["cut", "hangs"])
    async def test_who_cannot_renew_gives_up_before_another_may_take_over(self, fault: str, world: World) -> None:
        with structlog.testing.capture_logs() as logs:
            lost, taken = await self.lost_and_taken(world, Network(world), fault)
        assert lost <= 30
        assert taken > 30
        assert "lease lost: it could not be renewed in time" in [entry["event"] for entry in logs]

    async def test_a_renewal_counts_from_when_it_was_sent(self, world: World) -> None:
        """The server has it at once, the answer comes 20 s later: others count from the first."""
        network = Network(world)
        a = candidate(network, "a")
        network.answer_late = 20
        await a.acquire()
        stored = now() - 20
        network.cut = True
        await a.hold()
        assert now() - stored <= 30.1

    async def test_who_was_asleep_for_too_long_has_lost_it(self, world: World) -> None:
        """A process that was stopped wakes up late, and looks at the clock before anything else."""
        network = Network(world)
        a = candidate(network, "a")
        await a.acquire()
        await asyncio.sleep(100)
        requests = len(network.requests)
        await a.hold()
        assert now() <= 100.1
        assert len(network.requests) == requests

    async def test_who_sees_another_holder_has_lost_it(self, world: World) -> None:
        a = candidate(Network(world), "a")
        await a.acquire()
        holding = asyncio.create_task(a.hold())
        await asyncio.sleep(1)
        taken = world.leases["leader"]
        world.store("MODIFIED", taken | {"spec": taken["spec"] | {"holderIdentity": "thief"}})
        with structlog.testing.capture_logs() as logs:
            await asyncio.wait_for(holding, 6)
        assert [entry["event"] for entry in logs] == ["lease lost: somebody else holds it"]
        assert world.holder("leader") == "thief"

    async def test_a_short_trouble_is_no_loss(self, world: World) -> None:
        network = Network(world)
        a = candidate(network, "a")
        await a.acquire()
        holding = asyncio.create_task(a.hold())
        for _ in range(10):
            network.cut = True
            await asyncio.sleep(15)
            network.cut = False
            await asyncio.sleep(15)
        assert not holding.done()
        holding.cancel()


class TestReleasing:
    async def test_the_next_one_need_not_wait(self, world: World) -> None:
        a, b = candidate(Network(world), "a"), candidate(Network(world), "b")
        await a.acquire()
        acquiring = asyncio.create_task(b.acquire())
        await asyncio.sleep(20)
        await a.release()
        assert world.holder("leader") == ""
        begun = now()
        await acquiring
        assert now() - begun <= 5.1

    async def test_what_another_holds_is_not_released(self, world: World) -> None:
        await candidate(Network(world), "a").acquire()
        await candidate(Network(world), "b").release()
        assert world.holder("leader") == "a"

    @pytest.mark.parametrize("fault", ["cut", "hangs"])
    async def test_it_is_bounded_and_never_fails(self, fault: str, world: World) -> None:
        network = Network(world)
        a = candidate(network, "a")
        await a.acquire()
        setattr(network, fault, True)
        begun = now()
        await a.release()
        assert now() - begun <= 5

    async def test_a_lease_without_a_spec_is_nobodys(self, world: World) -> None:
        world.store("ADDED", {"metadata": {"name": "leader"}})
        a = candidate(Network(world), "a")
        await a.release()
        await a.acquire()
        assert world.holder("leader") == "a"
