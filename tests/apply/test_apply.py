"""Applying a set: order, what counts as a change, what is left alone, and what is validated before a write."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from penstock.apply import Applier, ApplyFailed
from penstock.kube import connect
from penstock.kube.resources import CONFIG_MAPS, NAMESPACES
from penstock.runtime import OwnershipLost
from tests.apply.world import (
    CLUSTER_ROLES,
    OWNER,
    SERVICE_ACCOUNTS,
    SERVICES,
    STORAGE_CLASSES,
    actions,
    annotated,
    apply,
    config_map,
    deployment,
    edit,
    exists,
    live,
    namespace_object,
    obj,
    secret,
)
from tests.faults.proxy import faulty
from tests.faults.rules import Where, answers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.api.inventory import InventoryEntry
    from penstock.kube import Object
    from tests.clusters import Cluster


def service(cluster: Cluster, **spec: object) -> Object:
    return obj(SERVICES, "web", cluster.namespace, spec={"ports": [{"port": 80, "targetPort": 8080}], **spec})


async def test_a_guard_stands_before_every_write(cluster: Cluster) -> None:
    """Two objects may pass: the third is not there afterwards."""
    left = iter([None, None, None, None])  # each write is asked about twice: before what is in its way, and before it

    def guard() -> None:
        if next(left, "none") == "none":
            raise OwnershipLost("it belongs to somebody else")

    objects = [config_map(cluster, name) for name in ("a", "b", "c")]
    with pytest.raises(ExceptionGroup) as caught:
        await Applier(cluster.client, concurrency=1).apply(objects, owner=OWNER, guard=guard)
    assert caught.group_contains(OwnershipLost)
    assert [await exists(cluster, one) for one in objects] == [True, True, False]
    entries = [one.entry for one in await apply(cluster, objects[:2])]
    with pytest.raises(ExceptionGroup) as caught:
        await Applier(cluster.client).prune(entries, owner=OWNER, guard=guard)
    assert caught.group_contains(OwnershipLost)
    assert await exists(cluster, objects[0])


@pytest.mark.scenario("22.11 ApplyAll")
async def test_a_set_is_created_in_kind_order_then_unchanged_then_only_what_differs(cluster: Cluster) -> None:
    objects = [
        deployment(cluster),
        service(cluster),
        config_map(cluster, key="1"),
        secret(cluster, key="value"),
        obj(SERVICE_ACCOUNTS, "web", cluster.namespace),
    ]
    created = await apply(cluster, objects)
    assert created.lines() == [
        f"ServiceAccount/{cluster.namespace}/web created",
        f"ConfigMap/{cluster.namespace}/settings created",
        f"Secret/{cluster.namespace}/keys created",
        f"Service/{cluster.namespace}/web created",
        f"Deployment/{cluster.namespace}/web created",
    ]
    assert [entry.id for entry in created.inventory().entries][-1] == f"{cluster.namespace}_web_apps_Deployment"
    assert [one.uid for one in created] == [
        (await live(cluster, thing))["metadata"]["uid"] for thing in _sorted(objects)
    ]

    again = await apply(cluster, objects)
    assert set(actions(again).values()) == {"unchanged"}
    assert again.applied() == [one.ref for one in created]
    assert {ref.kind for ref in created.pending()} <= {"Deployment"}

    objects[2] = config_map(cluster, key="2")
    changed = await apply(cluster, objects)
    assert changed.changed().lines() == [f"ConfigMap/{cluster.namespace}/settings configured"]
    assert (await live(cluster, objects[2]))["data"] == {"key": "2"}


def _sorted(objects: list[Object]) -> list[Object]:
    order = ["ServiceAccount", "ConfigMap", "Secret", "Service", "Deployment"]
    return sorted(objects, key=lambda thing: order.index(thing["kind"]))


async def test_requests_are_counted(cluster: Cluster) -> None:
    """Something new costs a dry-run and an apply; something unchanged a dry-run and a read; no more."""
    objects = [config_map(cluster, f"settings-{number}", key="1") for number in range(10)]
    async with faulty(cluster) as proxy, connect(proxy.settings) as client:
        await client.discovery.kinds()
        proxy.forget()
        applier = Applier(client)
        await applier.apply(objects, owner=OWNER)
        assert (proxy.count("PATCH"), proxy.count()) == (20, 20)
        proxy.forget()
        changes = await applier.apply(objects, owner=OWNER)
        assert (proxy.count("PATCH"), proxy.count("GET"), proxy.count()) == (10, 10, 20)
        proxy.forget()
        await applier.apply(objects, owner=OWNER, expected=[one.ref for one in changes])
        assert (proxy.count("PATCH"), proxy.count("GET"), proxy.count()) == (10, 10, 20)


@pytest.mark.scenario("22.11 Defaults")
async def test_what_the_server_fills_in_is_no_change(cluster: Cluster) -> None:
    """A Service and a container port without protocol, and a Secret whose text came as stringData."""
    text = {**secret(cluster, "text"), "stringData": {"key": "value"}}
    objects = [service(cluster), deployment(cluster), secret(cluster, key="value"), text]
    await apply(cluster, objects)
    assert set(actions(await apply(cluster, objects)).values()) == {"unchanged"}


@pytest.mark.scenario("22.11 Exclusion on live object")
async def test_what_is_disabled_on_the_live_object_stays_as_it_is(cluster: Cluster) -> None:
    wanted = config_map(cluster, key="git")
    await apply(cluster, [wanted])
    disabled = {"metadata": {"annotations": {f"{OWNER.group}/reconcile": "Disabled"}}, "data": {"key": "edited"}}
    await edit(cluster.client, wanted, disabled)
    assert actions(await apply(cluster, [wanted])) == {"ConfigMap/settings": "skipped"}
    assert (await live(cluster, wanted))["data"] == {"key": "edited"}

    await edit(cluster.client, wanted, {"metadata": {"annotations": {f"{OWNER.group}/reconcile": "enabled"}}})
    assert actions(await apply(cluster, [wanted])) == {"ConfigMap/settings": "configured"}
    assert (await live(cluster, wanted))["data"] == {"key": "git"}


@pytest.mark.scenario("22.11 Exclusion on live object")
async def test_if_not_present_creates_once(cluster: Cluster) -> None:
    once = annotated(config_map(cluster, key="1"), ssa="IfNotPresent")
    assert actions(await apply(cluster, [once])) == {"ConfigMap/settings": "created"}
    changed = annotated(config_map(cluster, key="2"), ssa="IfNotPresent")
    assert actions(await apply(cluster, [changed])) == {"ConfigMap/settings": "skipped"}
    assert (await live(cluster, once))["data"] == {"key": "1"}
    override = annotated(config_map(cluster, key="2"), ssa="Override")
    assert actions(await apply(cluster, [override])) == {"ConfigMap/settings": "configured"}


@pytest.mark.scenario("22.11 Defaults")
@pytest.mark.parametrize("policy", [{"ssa": "ignore"}, {"reconcile": "disabled"}])
async def test_what_is_excluded_is_reported_even_if_it_never_existed(cluster: Cluster, policy: dict[str, str]) -> None:
    changes = await apply(cluster, [annotated(config_map(cluster), **policy)])
    assert changes.lines() == [f"ConfigMap/{cluster.namespace}/settings skipped"]
    assert not await exists(cluster, config_map(cluster))


@pytest.mark.scenario("22.11 Exclusion on live object")
async def test_a_stray_namespace_of_a_cluster_scoped_object_disappears(cluster: Cluster) -> None:
    name = f"fast-{cluster.namespace}"
    stray = obj(STORAGE_CLASSES, name, cluster.namespace, provisioner="example.com/none")
    try:
        changes = await apply(cluster, [stray])
        assert [entry.id for entry in changes.inventory().entries] == [f"_{name}_storage.k8s.io_StorageClass"]
        again = await apply(cluster, [annotated(stray, ssa="IfNotPresent")])
        assert again.lines() == [f"StorageClass/{name} skipped"]
    finally:
        await cluster.client.delete(STORAGE_CLASSES, name)


@pytest.mark.scenario("22.11 Missing namespace")
async def test_an_object_without_its_namespace(cluster: Cluster) -> None:
    with pytest.raises(ApplyFailed, match=r"^ConfigMap/lost namespace not specified: "):
        await apply(cluster, [obj(CONFIG_MAPS, "lost")])


async def test_a_namespace_that_nobody_brings(cluster: Cluster) -> None:
    missing = obj(CONFIG_MAPS, "lost", "nowhere-at-all")
    with pytest.raises(ApplyFailed, match=r'^ConfigMap/nowhere-at-all/lost not found: namespaces "nowhere-at-all"'):
        await apply(cluster, [missing])


async def test_a_kind_that_nobody_serves_is_told_at_once(cluster: Cluster) -> None:
    typo = {**config_map(cluster), "kind": "ConfigMab"}
    with pytest.raises(ApplyFailed, match=r'dry-run failed: no matches for kind "ConfigMab" in version "v1"'):
        await apply(cluster, [typo])


async def test_all_problems_are_told_and_nothing_is_written(cluster: Cluster) -> None:
    """A11: an invalid Deployment beside a namespace and a CRD; the peers have written both before they notice."""
    extra = namespace_object(f"{cluster.namespace}-extra")
    broken = deployment(cluster)
    broken["spec"]["replicas"] = -1
    misspelt = service(cluster, nodePorts="yes")

    async def write_ahead(_entries: Sequence[InventoryEntry]) -> None:
        raise AssertionError("what is not going to be written is not announced")

    with pytest.raises(ApplyFailed) as failure:
        await apply(cluster, [extra, config_map(cluster), broken, misspelt], write_ahead=write_ahead)
    first, second = failure.value.problems
    assert first.startswith(f"Service/{cluster.namespace}/web dry-run failed: ")
    assert second.startswith(f"Deployment/{cluster.namespace}/web dry-run failed (Invalid): ")
    assert str(failure.value).startswith(first)
    assert failure.value.changes.lines() == []
    assert not await exists(cluster, extra)
    assert not await exists(cluster, config_map(cluster))


async def test_objects_of_a_namespace_that_the_set_brings(cluster: Cluster) -> None:
    extra = namespace_object(f"{cluster.namespace}-extra")
    inside = obj(CONFIG_MAPS, "inside", extra["metadata"]["name"], data={"key": "1"})
    try:
        assert actions(await apply(cluster, [inside, extra])) == {
            f"Namespace/{extra['metadata']['name']}": "created",
            "ConfigMap/inside": "created",
        }
    finally:
        await cluster.client.delete(NAMESPACES, extra["metadata"]["name"])


async def test_what_is_written_ahead_must_be_kept_before_the_first_write(cluster: Cluster) -> None:
    async def lost(_entries: Sequence[InventoryEntry]) -> None:
        raise RuntimeError("the lease is gone")

    with pytest.raises(RuntimeError, match="lease"):
        await apply(cluster, [config_map(cluster)], write_ahead=lost)
    assert not await exists(cluster, config_map(cluster))


async def test_nothing_is_written_ahead_when_nothing_is_to_be_written(cluster: Cluster) -> None:
    told: list[Sequence[InventoryEntry]] = []

    async def write_ahead(entries: Sequence[InventoryEntry]) -> None:
        told.append(entries)

    objects = [config_map(cluster, key="1"), secret(cluster, key="value")]
    await apply(cluster, objects, write_ahead=write_ahead)
    await apply(cluster, objects, write_ahead=write_ahead)
    assert [len(entries) for entries in told] == [2]


async def test_a_rival_owner_is_told(cluster: Cluster) -> None:
    await apply(cluster, [config_map(cluster, key="1")])
    other = {f"{OWNER.group}/name": "other", f"{OWNER.group}/namespace": "elsewhere"}
    await edit(cluster.client, config_map(cluster), {"metadata": {"labels": other}}, manager="other")
    (change,) = await apply(cluster, [config_map(cluster, key="1")])
    assert (change.action, change.rival) == ("configured", "elsewhere/other")


async def test_a_failed_rank_lets_its_own_finish_and_no_other_begin(cluster: Cluster) -> None:
    """A ClusterRole rank before; the ConfigMap that fails at the write is told with what was done."""
    name = f"reader-{cluster.namespace}"
    role = obj(CLUSTER_ROLES, name, rules=[])
    async with faulty(cluster) as proxy, connect(proxy.settings) as client:
        proxy.add(
            answers(
                500,
                where=Where(methods=frozenset({"PATCH"}), path="configmaps/two"),
                after=1,
            )
        )
        objects = [config_map(cluster, "one"), config_map(cluster, "two"), deployment(cluster), role]
        try:
            with pytest.raises(ApplyFailed) as failure:
                await Applier(client).apply(objects, owner=OWNER)
        finally:
            await cluster.client.delete(CLUSTER_ROLES, name)
    assert failure.value.problems == (f"ConfigMap/{cluster.namespace}/two apply failed: by order",)
    assert actions(failure.value.changes) == {f"ClusterRole/{name}": "created", "ConfigMap/one": "created"}
    assert not await exists(cluster, deployment(cluster))
