from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kube import Membership
from penstock.kube.membership import owner
from tests.kube.leaseworld import Network, World

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

KEYS = [f"apps/app-{number}" for number in range(24)]


class Replica:
    """One process among several, with a network of its own."""

    def __init__(self, world: World, name: str) -> None:
        self.name = name
        self.network = Network(world)
        self.membership = Membership(self.network.client, group="penstock", namespace="flux-system", identity=name)
        self.alive = False
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self.alive = True
        self._task = asyncio.create_task(self.membership.run())

    async def stop(self) -> None:
        """In good order: the lease is released."""
        self.alive = False
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def kill(self) -> None:
        """As with kill -9: nothing is said to anybody."""
        self.network.cut = True
        await self.stop()

    @property
    def mine(self) -> set[str]:
        return {key for key in KEYS if self.membership.mine(key)} if self.alive else set()


class Group:
    """All replicas, watched all the time for two that own the same object."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.replicas: list[Replica] = []

    async def join(self, *names: str) -> list[Replica]:
        joined = [Replica(self.world, name) for name in names]
        self.replicas += joined
        for replica in joined:
            replica.start()
        return joined

    @property
    def holders(self) -> set[str]:
        """Whose leases there are."""
        return {self.world.holder(name) for name in self.world.leases}

    @property
    def owned(self) -> int:
        return sum(len(replica.mine) for replica in self.replicas)

    def check(self) -> None:
        seen: dict[str, str] = {}
        for replica in self.replicas:
            for key in replica.mine:
                assert key not in seen, f"{key} belongs to {seen[key]} and to {replica.name}"
                seen[key] = replica.name

    async def watch(self, seconds: float) -> None:
        """Let time pass, and look at every tenth of a second."""
        for _ in range(round(seconds * 10)):
            await asyncio.sleep(0.1)
            self.check()

    async def until_all_owned(self, within: float) -> float:
        """Seconds until every object has an owner."""
        loop = asyncio.get_running_loop()
        begun = loop.time()
        while self.owned < len(KEYS):
            assert loop.time() - begun < within, f"only {self.owned} of {len(KEYS)} are owned after {within} s"
            await self.watch(0.1)
        return loop.time() - begun


@asynccontextmanager
async def grouped(*names: str) -> AsyncGenerator[Group]:
    """A group that has come to rest."""
    group = Group(World())
    await group.join(*names)
    await group.watch(12)
    try:
        yield group
        group.check()
    finally:
        for replica in group.replicas:
            await replica.stop()


class TestOwner:
    names = st.frozensets(st.text(min_size=1, max_size=12), min_size=1, max_size=8)

    @given(members=names, key=st.text())
    def test_it_is_one_of_them_whatever_the_order(self, members: frozenset[str], key: str) -> None:
        chosen = owner(members, key)
        assert chosen in members
        assert owner(frozenset(sorted(members, reverse=True)), key) == chosen

    @given(members=names, leaver=st.data(), keys=st.lists(st.text(), max_size=50))
    def test_one_that_leaves_moves_only_its_share(
        self, members: frozenset[str], leaver: st.DataObject, keys: list[str]
    ) -> None:
        gone = leaver.draw(st.sampled_from(sorted(members)))
        rest = members - {gone}
        for key in keys:
            before = owner(members, key)
            if before != gone:
                assert owner(rest, key) == before

    @given(members=names, newcomer=st.text(min_size=1, max_size=12), keys=st.lists(st.text(), max_size=50))
    def test_one_that_joins_takes_only_its_share(self, members: frozenset[str], newcomer: str, keys: list[str]) -> None:
        for key in keys:
            assert owner(members | {newcomer}, key) in {owner(members, key), newcomer}

    def test_nobody_owns_anything_in_an_empty_group(self) -> None:
        assert owner(frozenset(), "key") is None

    def test_the_shares_are_even(self) -> None:
        members = frozenset(f"pod-{number}" for number in range(5))
        shares = [sum(owner(members, f"ns/{number}") == member for number in range(5000)) for member in members]
        assert all(850 <= share <= 1150 for share in shares)


@pytest.mark.looptime
class TestGroup:
    async def test_one_alone_owns_everything_soon(self) -> None:
        async with grouped() as group:
            await group.join("a")
            assert await group.until_all_owned(within=10) < 1.5

    async def test_several_share_everything(self) -> None:
        async with grouped("a", "b", "c") as group:
            assert group.owned == len(KEYS)
            assert all(replica.mine for replica in group.replicas)
            assert {replica.membership.members for replica in group.replicas} == {frozenset("abc")}

    async def test_one_that_dies_is_replaced_within_seven_seconds(self) -> None:
        async with grouped("a", "b", "c") as group:
            kept = {replica.name: replica.mine for replica in group.replicas[1:]}
            await group.replicas[0].kill()
            assert await group.until_all_owned(within=20) <= 7
            for replica in group.replicas[1:]:
                assert kept[replica.name] <= replica.mine, "nobody else's objects moved"

    async def test_one_that_leaves_in_good_order_is_replaced_at_once(self) -> None:
        async with grouped("a", "b", "c") as group:
            await group.replicas[0].stop()
            assert await group.until_all_owned(within=20) <= 0.2

    async def test_leases_of_the_dead_are_deleted_and_those_of_the_living_stay(self) -> None:
        async with grouped("a", "b", "c") as group:
            await group.replicas[0].kill()
            await group.watch(30)
            assert group.holders == {"b", "c"}

    async def test_one_that_leaves_in_good_order_takes_its_lease_along(self) -> None:
        async with grouped("a", "b") as group:
            await group.replicas[0].stop()
            assert group.holders == {"b"}

    async def test_one_that_joins_gets_its_share_in_seconds(self) -> None:
        async with grouped("a", "b") as group:
            (newcomer,) = await group.join("c")
            await group.watch(6)
            assert newcomer.mine
            assert group.owned == len(KEYS)

    async def test_listeners_hear_who_is_there(self) -> None:
        async with grouped("a") as group:
            heard: list[frozenset[str]] = []

            async def listen(members: frozenset[str]) -> None:
                heard.append(members)

            group.replicas[0].membership.subscribe(listen)
            (other,) = await group.join("b")
            await group.watch(8)
            await other.stop()
            await group.watch(1)
            assert heard == [frozenset("ab"), frozenset("a")]

    @pytest.mark.parametrize("size", [2, 3, 5])
    async def test_all_start_at_the_same_moment(self, size: int) -> None:
        async with grouped() as group:
            await group.join(*"abcde"[:size])
            await group.until_all_owned(within=10)


@pytest.mark.looptime
class TestNeverTwoOwners:
    """Whatever happens on the way; `Group.watch` looks at every tenth of a second."""

    @pytest.mark.parametrize("fault", ["cut", "hangs", "deaf"])
    @pytest.mark.parametrize("seconds", [2, 5, 20], ids=["2 s", "5 s", "20 s"])
    async def test_a_network_that_fails_and_comes_back(self, fault: str, seconds: float) -> None:
        async with grouped("a", "b", "c") as group:
            setattr(group.replicas[0].network, fault, True)
            await group.watch(seconds)
            setattr(group.replicas[0].network, fault, False)
            await group.watch(15)
            assert await group.until_all_owned(within=60) < 60

    async def test_a_watch_that_is_half_open_is_not_the_death_of_the_others(self) -> None:
        """Renewals still work: only the silence of the watch could be mistaken.

        Between two readings the deaf one owns nothing; a new reading may tell it for a moment who is there.
        """
        async with grouped("a", "b") as group:
            a, b = group.replicas
            a.network.deaf = True
            before = set(b.mine)
            await group.watch(30)
            assert before
            assert b.mine >= before

    async def test_a_watch_that_is_behind(self) -> None:
        async with grouped("a", "b") as group:
            group.replicas[0].network.lag = 3.0
            await group.watch(20)
            await group.join("c")
            await group.watch(20)
            await group.replicas[1].kill()
            await group.watch(20)

    async def test_renewals_that_are_missed_while_a_watch_falls_behind(self) -> None:
        """Together they look like a lease that has run out; but the watch has not come that far yet."""
        async with grouped("a", "b") as group:
            a, b = group.replicas
            for _ in range(4):
                b.network.cut = True
                await group.watch(0.6)
                a.network.lag = 2.4
                await group.watch(2.2)
                b.network.cut = False
                await group.watch(3.5)
                a.network.lag = 0.0
                await group.watch(3)

    async def test_answers_that_come_late(self) -> None:
        async with grouped("a", "b") as group:
            group.replicas[0].network.answer_late = 3.0
            await group.watch(30)

    async def test_one_that_joins_while_another_is_deaf(self) -> None:
        async with grouped("a") as group:
            group.replicas[0].network.deaf = True
            await group.join("b")
            await group.watch(30)
            assert group.owned > 0

    async def test_a_process_that_was_stopped_for_a_while(self) -> None:
        """It wakes up and is asked before any of its tasks could notice."""
        async with grouped("a", "b") as group:
            a, b = group.replicas
            assert a.mine
            a.network.hangs = a.network.deaf = True
            members = a.membership._members
            await group.watch(15)
            a.membership._members = members  # as if the list had never been updated
            assert a.mine == set()
            assert len(b.mine) == len(KEYS)
            a.network.hangs = a.network.deaf = False

    async def test_a_lease_that_somebody_deletes(self) -> None:
        async with grouped("a", "b", "c") as group:
            for name in list(group.world.leases):
                group.world.remove(name)
                await group.watch(5)
            await group.until_all_owned(within=30)
            assert group.holders == {"a", "b", "c"}

    async def test_many_come_and_go(self) -> None:
        async with grouped("a", "b", "c") as group:
            for number in range(4):
                await group.replicas[number].kill()
                await group.join(f"new-{number}")
                await group.watch(3 + number)
            await group.until_all_owned(within=30)
