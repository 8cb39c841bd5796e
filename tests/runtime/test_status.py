from __future__ import annotations

import asyncio
from copy import deepcopy
from typing import TYPE_CHECKING

import pytest

from penstock.kube.errors import KubeError
from penstock.runtime import finalizers
from penstock.runtime.fence import Fence, OwnershipLost
from penstock.runtime.ownwrites import OwnWrites
from penstock.runtime.status import TRIES, Contention, StatusWriter, delta
from tests.runtime.apiserver import KUSTOMIZATIONS, OneObject, one_object
from tests.runtime.waiting import until

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from penstock.kube.resources import Object

MANAGER = "gotk-kustomize-controller"
FINALIZER = "finalizers.fluxcd.io"
READY = {"type": "Ready", "status": "True"}
FOREIGN = {"type": "Verified", "status": "True"}


@pytest.fixture
async def server() -> AsyncGenerator[OneObject]:
    async with one_object() as serving:
        yield serving


def writer(server: OneObject, fence: Fence | None = None) -> StatusWriter:
    obj = deepcopy(server.object)
    return StatusWriter(server.client, KUSTOMIZATIONS, obj, manager=MANAGER, fence=fence or Fence())


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param({"a": 1}, {"a": 1}, {}, id="equal"),
        pytest.param({"a": 1}, {"a": 2}, {"a": 2}, id="changed"),
        pytest.param({"a": 1}, {}, {"a": None}, id="removed"),
        pytest.param({}, {"a": 1}, {"a": 1}, id="new"),
        pytest.param({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}}, {"a": {"c": 3}}, id="inside"),
        pytest.param({"a": [1, 2]}, {"a": [2]}, {"a": [2]}, id="lists whole"),
        pytest.param({"a": {"b": 1}}, {"a": 1}, {"a": 1}, id="an object that becomes a value"),
        pytest.param({"a": 1}, {"a": None}, {"a": None}, id="none is absent"),
        pytest.param({}, {"a": None}, {}, id="none for what is not there"),
    ],
)
def test_delta(old: Object, new: Object, expected: Object) -> None:
    assert delta(old, new) == expected


async def test_one_patch_has_everything_that_changed(server: OneObject) -> None:
    server.object["status"] = {"observedGeneration": 1, "lastAppliedRevision": "a"}
    status = writer(server)
    await status.write({"observedGeneration": 1, "lastAppliedRevision": "b", "conditions": [READY]})
    assert server.patches == [
        (
            "status",
            {"metadata": {"resourceVersion": "1"}, "status": {"lastAppliedRevision": "b", "conditions": [READY]}},
        )
    ]
    assert server.managers == {MANAGER}
    assert status.object == server.object


async def test_nothing_is_sent_when_nothing_changed(server: OneObject) -> None:
    server.object["status"] = {"observedGeneration": 1}
    status = writer(server)
    await status.write({"observedGeneration": 1})
    assert server.patches == []
    assert status.sent == 0


async def test_the_next_write_starts_from_the_answer(server: OneObject) -> None:
    status = writer(server)
    await status.write({"observedGeneration": 1})
    await status.write({"observedGeneration": 1, "lastAppliedRevision": "a"})
    assert [body["metadata"]["resourceVersion"] for body in server.bodies] == ["1", "2"]
    assert server.bodies[1]["status"] == {"lastAppliedRevision": "a"}


@pytest.mark.parametrize(
    "rival",
    [
        pytest.param(lambda obj: obj["metadata"].update(labels={"team": "a"}), id="a label"),
        pytest.param(lambda obj: obj["metadata"].update(generation=2), id="a new generation"),
        pytest.param(lambda obj: obj.setdefault("status", {}).update(conditions=[FOREIGN]), id="a foreign condition"),
    ],
)
async def test_changes_of_others_are_no_obstacle(server: OneObject, rival: object) -> None:
    server.rivals.append(rival)  # type: ignore[arg-type]
    status = writer(server)
    await status.write({"conditions": [READY]})
    assert READY in server.object["status"]["conditions"]
    assert status.sent == 1


async def test_a_foreign_condition_that_came_meanwhile_is_kept(server: OneObject) -> None:
    server.rivals.append(lambda obj: obj.update(status={"conditions": [FOREIGN]}))
    await writer(server).write({"conditions": [READY], "observedGeneration": 1})
    assert server.object["status"] == {"conditions": [READY, FOREIGN], "observedGeneration": 1}


@pytest.mark.parametrize(
    ("rival", "told"),
    [
        pytest.param(
            lambda obj: obj.update(status={"lastAppliedRevision": "x"}), "lastAppliedRevision", id="a field of ours"
        ),
        pytest.param(
            lambda obj: obj.update(status={"conditions": [{"type": "Ready", "status": "False"}]}),
            "conditions",
            id="a condition of ours",
        ),
        pytest.param(lambda obj: obj["metadata"].update(uid="two"), "created again", id="another object of that name"),
    ],
)
async def test_a_rival_in_our_fields_ends_the_run(server: OneObject, rival: object, told: str) -> None:
    server.rivals.append(rival)  # type: ignore[arg-type]
    fence = Fence()
    status = writer(server, fence)
    with pytest.raises(OwnershipLost, match=rf"Kustomization/team/apps .*{told}"):
        await status.write({"conditions": [READY]})
    with pytest.raises(OwnershipLost):
        await status.write({"conditions": [READY], "observedGeneration": 1})
    with pytest.raises(OwnershipLost):
        await finalizers.add(server.client, KUSTOMIZATIONS, status.object, FINALIZER, manager=MANAGER, fence=fence)
    assert len(server.patches) == 1, "nothing may be written after the refusal"


async def test_an_object_that_is_gone_ends_the_run(server: OneObject) -> None:
    server.gone = True
    fence = Fence()
    with pytest.raises(OwnershipLost, match="is gone"):
        await writer(server, fence).write({"conditions": [READY]})
    assert fence.why


async def test_our_own_write_without_answer_is_not_taken_for_a_rivals(server: OneObject) -> None:
    server.lose_answers = 1
    status = writer(server)
    with pytest.raises(KubeError):
        await status.write({"observedGeneration": 1})
    await status.write({"observedGeneration": 1, "conditions": [READY]})
    assert server.object["status"] == {"observedGeneration": 1, "conditions": [READY]}


async def test_tries_are_bounded(server: OneObject) -> None:
    for _ in range(TRIES + 1):
        server.rivals.append(lambda obj: obj["metadata"].update(generation=obj["metadata"]["generation"] + 1))
    fence = Fence()
    with pytest.raises(Contention, match="5 times"):
        await writer(server, fence).write({"conditions": [READY]})
    assert len(server.patches) == TRIES
    assert not fence.why


async def test_progress_of_a_quick_run_is_never_sent(server: OneObject) -> None:
    status = writer(server)
    async with status.showing(patience=30):
        status.show({"conditions": [{"type": "Reconciling", "status": "True"}]})
        await status.write({"conditions": [READY]})
    assert len(server.patches) == 1


async def test_progress_of_a_slow_run_is_sent_once(server: OneObject) -> None:
    status = writer(server)
    async with asyncio.timeout(10), status.showing(patience=0):
        for step in ("Fetching", "Building"):
            status.show({"conditions": [{"type": "Reconciling", "status": "True", "message": step}]})
        await until(lambda: status.sent == 1)
        status.show({"conditions": [{"type": "Reconciling", "status": "True", "message": "Applying"}]})
        await status.write({"conditions": [READY]})
    sent = [body["status"]["conditions"][0].get("message") for body in server.bodies]
    assert sent == ["Building", None]


async def test_progress_never_overtakes_the_result(server: OneObject) -> None:
    status = writer(server)
    async with asyncio.timeout(10), status.showing(patience=0):
        await asyncio.sleep(0)
        status.show({"conditions": [{"type": "Reconciling", "status": "True"}]})
        await status.write({"conditions": [READY]})
        await asyncio.sleep(0.01)
    assert server.object["status"]["conditions"] == [READY]


async def test_progress_that_waits_for_its_turn_is_dropped_when_a_write_overtakes_it(server: OneObject) -> None:
    server.gate.clear()
    status = writer(server)
    async with asyncio.timeout(10), status.showing(patience=0), asyncio.TaskGroup() as group:
        group.create_task(status.write({"observedGeneration": 1}))
        await until(lambda: len(server.patches) == 1)
        status.show({"observedGeneration": 1, "conditions": [{"type": "Reconciling", "status": "True"}]})
        await asyncio.sleep(0.01)  # now it waits behind the first write
        group.create_task(status.write({"observedGeneration": 1, "conditions": [READY]}))
        await asyncio.sleep(0)
        server.gate.set()
    assert [body["status"] for body in server.bodies] == [{"observedGeneration": 1}, {"conditions": [READY]}]


async def test_progress_that_cannot_be_shown_closes_the_fence_only_when_ownership_is_lost(server: OneObject) -> None:
    server.rivals.append(lambda obj: obj.update(status={"lastAppliedRevision": "x"}))
    fence = Fence()
    status = writer(server, fence)
    async with asyncio.timeout(10), status.showing(patience=0):
        status.show({"observedGeneration": 1})
        await until(lambda: bool(fence.why))
    with pytest.raises(OwnershipLost):
        await status.write({"observedGeneration": 1})


async def test_a_finalizer_is_added_with_the_version_read(server: OneObject) -> None:
    answer = await finalizers.add(
        server.client, KUSTOMIZATIONS, deepcopy(server.object), FINALIZER, manager=MANAGER, fence=Fence()
    )
    assert server.patches == [("metadata", {"metadata": {"resourceVersion": "1", "finalizers": [FINALIZER]}})]
    assert server.managers == {MANAGER}
    assert answer["metadata"]["resourceVersion"] == "2"


@pytest.mark.parametrize(
    ("metadata", "sent"),
    [
        pytest.param({"finalizers": [FINALIZER]}, 0, id="it is there"),
        pytest.param({"deletionTimestamp": "2026-01-01T00:00:00Z"}, 0, id="the object is being deleted"),
        pytest.param({"finalizers": ["other"]}, 1, id="another one is there"),
    ],
)
async def test_a_finalizer_is_added_once(server: OneObject, metadata: Object, sent: int) -> None:
    server.object["metadata"] |= metadata
    await finalizers.add(
        server.client, KUSTOMIZATIONS, deepcopy(server.object), FINALIZER, manager=MANAGER, fence=Fence()
    )
    assert len(server.patches) == sent


async def test_finalizers_of_others_survive(server: OneObject) -> None:
    server.rivals.append(lambda obj: obj["metadata"].update(finalizers=["other"]))
    before = deepcopy(server.object)
    added = await finalizers.add(server.client, KUSTOMIZATIONS, before, FINALIZER, manager=MANAGER, fence=Fence())
    assert added["metadata"]["finalizers"] == ["other", FINALIZER]
    removed = await finalizers.remove(server.client, KUSTOMIZATIONS, added, FINALIZER, manager=MANAGER, fence=Fence())
    assert removed["metadata"]["finalizers"] == ["other"]


async def test_removing_a_finalizer_from_what_is_gone_is_fine(server: OneObject) -> None:
    server.object["metadata"]["finalizers"] = [FINALIZER]
    before = deepcopy(server.object)
    server.gone = True
    assert before == await finalizers.remove(
        server.client, KUSTOMIZATIONS, before, FINALIZER, manager=MANAGER, fence=Fence()
    )


async def test_a_finalizer_never_lands_on_another_object_of_that_name(server: OneObject) -> None:
    server.rivals.append(lambda obj: obj["metadata"].update(uid="two"))
    with pytest.raises(OwnershipLost, match="created again"):
        await finalizers.add(
            server.client, KUSTOMIZATIONS, deepcopy(server.object), FINALIZER, manager=MANAGER, fence=Fence()
        )
    assert "finalizers" not in server.object["metadata"]


def test_a_closed_parent_closes_every_fence_below() -> None:
    lease = Fence()
    fence = Fence(lease)
    fence.check()
    lease.close("the lease is lost")
    with pytest.raises(OwnershipLost, match="the lease is lost"):
        fence.check()


def version(number: int, uid: str = "one") -> Object:
    return {"metadata": {"uid": uid, "resourceVersion": str(number)}}


@pytest.mark.parametrize(
    ("cached", "expected"),
    [
        pytest.param(version(4), version(7), id="the cache is behind: our own write"),
        pytest.param(version(7), version(7), id="the cache has caught up"),
        pytest.param(version(9), version(9), id="somebody wrote after us"),
        pytest.param(version(4, "two"), version(4, "two"), id="another object"),
    ],
)
def test_own_writes(cached: Object, expected: Object) -> None:
    writes = OwnWrites()
    writes.note(version(7))
    assert writes.newest(cached) == expected


def test_own_writes_are_forgotten_when_seen_and_bounded() -> None:
    writes = OwnWrites(most=2)
    for number in range(5):
        writes.note(version(7, uid=str(number)))
    assert len(writes) == 2
    writes.newest(version(8, uid="4"))
    assert len(writes) == 1
