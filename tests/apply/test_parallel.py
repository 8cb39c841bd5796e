"""What happens at the same time, what never does, and what needs no request at all."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from penstock.apply import Applier, ApplyFailed, Known
from penstock.apply.parallel import each
from penstock.health import HealthStatus
from penstock.kube import connect
from tests.apply.world import OWNER, actions, config_map, edit, live, secret
from tests.faults.proxy import faulty
from tests.faults.rules import Call, Rule, Where

if TYPE_CHECKING:
    from penstock.kube import Object, ObjectRef
    from tests.clusters import Cluster


class Meeting(Rule):
    """Lets requests through only when so many of them are there at once."""

    def __init__(self, number: int, where: Where) -> None:
        super().__init__(where=where)
        self._number = number
        self._complete = asyncio.Event()
        self._present = 0

    async def before(self) -> None:
        self._present += 1
        if self._present >= self._number:
            self._complete.set()
        async with asyncio.timeout(10):
            await self._complete.wait()


async def test_all_of_a_kind_are_applied_and_deleted_at_once(cluster: Cluster) -> None:
    """The proxy holds every request back until all eight are there: one after the other would never end."""
    objects = [config_map(cluster, f"settings-{number}") for number in range(8)]
    async with faulty(cluster) as proxy, connect(proxy.settings) as client:
        applier = Applier(client)
        proxy.add(Meeting(8, Where(methods=frozenset({"PATCH"}), path="configmaps")))
        changes = await applier.apply(objects, owner=OWNER)
        assert set(actions(changes).values()) == {"created"}
        proxy.add(Meeting(8, Where(methods=frozenset({"DELETE"}))))
        deleted = await applier.prune(changes.inventory().entries, owner=OWNER)
        assert set(actions(deleted).values()) == {"deleted"}


async def test_a_kind_waits_for_the_one_before_it(cluster: Cluster) -> None:
    objects = [config_map(cluster, f"settings-{number}") for number in range(4)]
    objects += [secret(cluster, f"keys-{number}") for number in range(4)]
    async with faulty(cluster) as proxy, connect(proxy.settings) as client:
        await Applier(client).apply(objects, owner=OWNER)
        written = [call.path for call in proxy.calls if call.method == "PATCH" and "dryRun" not in call.query]
        assert [path.split("/")[-2] for path in written] == ["configmaps"] * 4 + ["secrets"] * 4
        validated = [number for number, call in enumerate(proxy.calls) if "dryRun" in call.query]
        assert max(validated) < min(
            number for number, call in enumerate(proxy.calls) if call.path in written and "dryRun" not in call.query
        )


class Interrupts(Rule):
    """Somebody writes just before the first request that is meant arrives."""

    def __init__(self, cluster: Cluster, where: Where) -> None:
        super().__init__(where=where, times=1)
        self._cluster = cluster

    async def before(self) -> None:
        revision = {"metadata": {"annotations": {"revision": "1"}}}
        await edit(self._cluster.client, config_map(self._cluster), revision, manager="some-controller")


async def test_what_somebody_writes_between_our_two_requests_is_no_drift(cluster: Cluster) -> None:
    wanted = config_map(cluster, key="1")
    async with faulty(cluster) as proxy, connect(proxy.settings) as client:
        applier = Applier(client)
        await applier.apply([wanted], owner=OWNER)
        reading = Interrupts(cluster, Where(methods=frozenset({"GET"}), path="configmaps/settings"))
        proxy.add(reading)
        assert actions(await applier.apply([wanted], owner=OWNER)) == {"ConfigMap/settings": "unchanged"}
        assert reading.struck == 1


class BusyWriter(Interrupts):
    """Somebody writes before every take-over, so many times."""

    def __init__(self, cluster: Cluster, times: int) -> None:
        super().__init__(cluster, Where(methods=frozenset({"PATCH"})))
        self._times = times

    def strikes(self, call: Call) -> bool:
        return "json-patch" in call.headers.get("content-type", "") and super().strikes(call)

    async def before(self) -> None:
        revision = {"metadata": {"annotations": {"revision": str(self.struck)}}}
        await edit(self._cluster.client, config_map(self._cluster), revision, manager="some-controller")


@pytest.mark.parametrize("times", [1, 4])
async def test_a_take_over_beside_a_busy_writer_is_tried_again(cluster: Cluster, times: int) -> None:
    """The managed fields that it read are not those of the object any more: it must not overwrite them."""
    wanted = config_map(cluster, key="1")
    await Applier(cluster.client).apply([wanted], owner=OWNER)
    await edit(cluster.client, wanted, {"data": {"extra": "by hand"}})
    busy = BusyWriter(cluster, times)
    async with faulty(cluster, busy) as proxy, connect(proxy.settings) as client:
        assert actions(await Applier(client).apply([wanted], owner=OWNER)) == {"ConfigMap/settings": "configured"}
    found = await live(cluster, wanted)
    assert (found["data"], found["metadata"]["annotations"]) == ({"key": "1"}, {"revision": str(times)})
    assert busy.struck == times


async def test_a_writer_that_never_rests_is_told(cluster: Cluster) -> None:
    wanted = config_map(cluster, key="1")
    await Applier(cluster.client).apply([wanted], owner=OWNER)
    await edit(cluster.client, wanted, {"data": {"extra": "by hand"}})
    async with faulty(cluster, BusyWriter(cluster, 100)) as proxy, connect(proxy.settings) as client:
        with pytest.raises(ApplyFailed, match=r"^ConfigMap/.*/settings metadata\.managedFields cleanup failed: "):
            await Applier(client).apply([wanted], owner=OWNER)


class Remembered:
    """A ledger that is sure of what it has seen applied."""

    def __init__(self) -> None:
        self.known: dict[ObjectRef, Object] = {}

    def settled(self, ref: ObjectRef, desired: Object) -> Known | None:
        return Known("some-uid", HealthStatus.CURRENT) if self.known.get(ref) == desired else None

    def applied(self, ref: ObjectRef, desired: Object, answer: Object) -> None:
        assert answer["metadata"]["resourceVersion"]
        self.known[ref] = desired


async def test_what_a_ledger_settles_costs_no_request(cluster: Cluster) -> None:
    objects = [config_map(cluster, "one", key="1"), config_map(cluster, "two", key="1")]
    ledger = Remembered()
    async with faulty(cluster) as proxy, connect(proxy.settings) as client:
        applier = Applier(client)
        await applier.apply(objects, owner=OWNER, ledger=ledger)
        proxy.forget()
        changes = await applier.apply(objects, owner=OWNER, ledger=ledger)
        assert proxy.count() == 0
        assert [(one.action, one.uid, one.health) for one in changes] == [
            ("unchanged", "some-uid", HealthStatus.CURRENT),
            ("unchanged", "some-uid", HealthStatus.CURRENT),
        ]
        objects[1] = config_map(cluster, "two", key="2")
        changes = await applier.apply(objects, owner=OWNER, ledger=ledger)
        assert actions(changes) == {"ConfigMap/one": "unchanged", "ConfigMap/two": "configured"}


async def test_results_keep_the_order_of_their_items() -> None:
    running = 0
    most = 0

    async def work(number: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(10 - number):
            await asyncio.sleep(0)
        running -= 1
        return number * number

    assert await each(range(10), work, at_once=3) == [number * number for number in range(10)]
    assert most == 3
    assert await each([], work, at_once=3) == []
