"""Pruning: what goes, what stays, in which order, and what is remembered when it fails."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING

import pytest

from penstock.api.inventory import InventoryEntry
from penstock.apply import Applier, ApplyFailed, Owner, PruneFailed, TerminationTimeout, until_terminated
from penstock.apply.inventory import survivors
from penstock.kube import connect
from penstock.kube.resources import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES
from tests.apply.world import (
    OWNER,
    SERVICE_ACCOUNTS,
    SERVICES,
    actions,
    apply,
    config_map,
    deployment,
    edit,
    exists,
    live,
    namespace_object,
    obj,
    secret,
    widgets,
)
from tests.faults.discovery import omits_group, stales_group
from tests.faults.proxy import faulty
from tests.faults.rules import Rule, Where, answers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from penstock.apply import ChangeSet
    from penstock.kube import Object
    from tests.clusters import Cluster

DELETES = frozenset({"DELETE"})


async def prune(cluster: Cluster, entries: Iterable[InventoryEntry], owner: Owner = OWNER) -> ChangeSet:
    return await Applier(cluster.client).prune(entries, owner=owner)


async def inventory(cluster: Cluster, *objects: Object) -> tuple[InventoryEntry, ...]:
    return (await apply(cluster, objects)).inventory().entries


@pytest.mark.scenario("22.11 Delete in reverse order")
async def test_objects_go_in_reverse_order(cluster: Cluster) -> None:
    objects = (
        obj(SERVICE_ACCOUNTS, "web", cluster.namespace),
        config_map(cluster),
        secret(cluster),
        obj(SERVICES, "web", cluster.namespace, spec={"ports": [{"port": 80}]}),
        deployment(cluster),
    )
    entries = await inventory(cluster, *objects)
    async with faulty(cluster) as proxy, connect(proxy.settings) as client:
        await client.discovery.kinds()
        proxy.forget()
        changes = await Applier(client).prune(entries, owner=OWNER)
        deleted = [call.path.split("/")[-2] for call in proxy.calls if call.method == "DELETE"]
        assert deleted == ["deployments", "services", "secrets", "configmaps", "serviceaccounts"]
        assert proxy.count() == 10
    assert changes.lines() == [
        f"Deployment/{cluster.namespace}/web deleted",
        f"Service/{cluster.namespace}/web deleted",
        f"Secret/{cluster.namespace}/keys deleted",
        f"ConfigMap/{cluster.namespace}/settings deleted",
        f"ServiceAccount/{cluster.namespace}/web deleted",
    ]
    await until_terminated(cluster.client, changes, timeout=20)
    assert not any([await exists(cluster, thing) for thing in objects])
    assert set(actions(await prune(cluster, entries)).values()) == {"deleted"}


@pytest.mark.scenario("22.11 Delete in reverse order")
@pytest.mark.parametrize(
    "metadata",
    [
        pytest.param({"labels": {f"{OWNER.group}/prune": "Disabled"}}, id="prune is disabled by label"),
        pytest.param({"annotations": {f"{OWNER.group}/prune": "disabled"}}, id="prune is disabled by annotation"),
        pytest.param({"annotations": {f"{OWNER.group}/reconcile": "disabled"}}, id="the object is left alone"),
        pytest.param({"annotations": {f"{OWNER.group}/ssa": "Ignore"}}, id="the object is ignored"),
        pytest.param({"labels": {f"{OWNER.group}/name": "other"}}, id="it has another owner by now"),
        pytest.param({"labels": {f"{OWNER.group}/namespace": None}}, id="it has no owner any more"),
    ],
)
async def test_what_says_so_on_the_live_object_stays(cluster: Cluster, metadata: Object) -> None:
    """A27: an inventory alone deletes nothing; the object itself has to say whose it is."""
    entries = await inventory(cluster, config_map(cluster), secret(cluster))
    await edit(cluster.client, config_map(cluster), {"metadata": metadata})
    assert actions(await prune(cluster, entries)) == {"ConfigMap/settings": "skipped", "Secret/keys": "deleted"}
    assert await exists(cluster, config_map(cluster))


async def test_an_inventory_that_names_foreign_objects_deletes_none(cluster: Cluster) -> None:
    """A27."""
    foreign = {**config_map(cluster, "foreign"), "metadata": {"name": "foreign", "namespace": cluster.namespace}}
    await cluster.client.create(CONFIG_MAPS, foreign)
    entry = InventoryEntry(id=f"{cluster.namespace}_foreign__ConfigMap", v="v1")
    assert actions(await prune(cluster, [entry])) == {"ConfigMap/foreign": "skipped"}
    assert await exists(cluster, foreign)


async def test_an_entry_that_names_nothing_is_told_and_holds_up_nobody(cluster: Cluster) -> None:
    entries = await inventory(cluster, config_map(cluster))
    with pytest.raises(PruneFailed, match="nothing is deleted for it") as failure:
        await prune(cluster, [InventoryEntry(id="nonsense", v="v1"), *entries])
    assert actions(failure.value.changes) == {"ConfigMap/settings": "deleted"}


async def test_one_that_cannot_be_deleted_survives_and_the_others_go(cluster: Cluster) -> None:
    entries = await inventory(cluster, config_map(cluster), secret(cluster))
    async with faulty(cluster) as proxy, connect(proxy.settings) as client:
        proxy.add(answers(403, where=Where(methods=DELETES, path="secrets/keys")))
        with pytest.raises(PruneFailed) as failure:
            await Applier(client).prune(entries, owner=OWNER)
    changes = failure.value.changes
    assert str(failure.value) == f"delete failed, errors: Secret/{cluster.namespace}/keys delete failed: by order;"
    assert actions(changes) == {"Secret/keys": "unknown", "ConfigMap/settings": "deleted"}
    assert [entry.id for entry in survivors(entries, changes.outcome())] == [f"{cluster.namespace}_keys__Secret"]


async def test_one_that_cannot_be_read_is_not_gone(cluster: Cluster) -> None:
    entries = await inventory(cluster, config_map(cluster))
    async with faulty(cluster) as proxy, connect(proxy.settings) as client:
        proxy.add(answers(404, b"404 page not found", where=Where(path="configmaps/settings")))
        with pytest.raises(PruneFailed, match="query failed"):
            await Applier(client).prune(entries, owner=OWNER)


class Replaces(Rule):
    """Somebody puts another object of the same name in place, just before it is deleted."""

    def __init__(self, cluster: Cluster, other: Object) -> None:
        super().__init__(where=Where(methods=DELETES), times=1)
        self._cluster, self._other = cluster, other

    async def before(self) -> None:
        resource = await self._cluster.client.discovery.resource(self._other["apiVersion"], self._other["kind"])
        await self._cluster.client.delete(resource, self._other["metadata"]["name"], self._cluster.namespace)
        await self._cluster.client.create(resource, self._other)


async def test_a_namesake_made_meanwhile_is_another_object(cluster: Cluster) -> None:
    """The delete names the uid that was looked at; the namesake is judged by its own labels."""
    entries = await inventory(cluster, config_map(cluster))
    foreign = {**config_map(cluster), "metadata": {"name": "settings", "namespace": cluster.namespace}}
    async with faulty(cluster, Replaces(cluster, foreign)) as proxy, connect(proxy.settings) as client:
        changes = await Applier(client).prune(entries, owner=OWNER)
        assert proxy.count("DELETE") == 1
    assert actions(changes) == {"ConfigMap/settings": "skipped"}
    assert await exists(cluster, foreign)


async def test_a_namesake_of_our_own_goes_too(cluster: Cluster) -> None:
    entries = await inventory(cluster, config_map(cluster))
    async with faulty(cluster, Replaces(cluster, config_map(cluster))) as proxy, connect(proxy.settings) as client:
        changes = await Applier(client).prune(entries, owner=OWNER)
        assert proxy.count("DELETE") == 2
    assert actions(changes) == {"ConfigMap/settings": "deleted"}
    assert not await exists(cluster, config_map(cluster))


async def test_only_the_object_that_was_validated_is_made_anew(cluster: Cluster) -> None:
    sealed = {**secret(cluster, key="value-1"), "immutable": True}
    await apply(cluster, [sealed])
    async with faulty(cluster, Replaces(cluster, sealed)) as proxy, connect(proxy.settings) as client:
        changed = {**secret(cluster, key="value-2"), "immutable": True}
        with pytest.raises(ApplyFailed, match=r"^Secret/.*/keys immutable field detected, failed to delete object: "):
            await Applier(client).apply([changed], owner=OWNER, force=True)
    assert (await live(cluster, sealed))["data"] == sealed["data"]


async def test_a_kind_that_is_gone_took_its_objects_along(cluster: Cluster) -> None:
    entry = InventoryEntry(id=f"{cluster.namespace}_one_nobody.example.com_Widget", v="v1")
    assert actions(await prune(cluster, [entry])) == {"Widget/one": "deleted"}


@pytest.mark.parametrize("fault", [stales_group, omits_group], ids=["is unknown", "is left out"])
async def test_a_group_that_cannot_be_read_took_nothing_along(cluster: Cluster, fault: Callable[[str], Rule]) -> None:
    """A39."""
    entries = await inventory(cluster, deployment(cluster))
    async with faulty(cluster, fault("apps")) as proxy, connect(proxy.settings) as client:
        with pytest.raises(PruneFailed, match="is not known") as failure:
            await Applier(client).prune(entries, owner=OWNER)
    assert actions(failure.value.changes) == {"Deployment/web": "unknown"}
    assert await exists(cluster, deployment(cluster))


async def test_a_definition_that_is_there_but_not_served_took_nothing_along(cluster: Cluster) -> None:
    """A39: so looks a server that is just starting, to a client that has just started too."""
    group = f"{cluster.namespace}.example.com"
    await inventory(cluster, widgets(group))
    entry = InventoryEntry(id=f"{cluster.namespace}_one_{group}_Widget", v="v1")
    try:
        async with faulty(cluster, omits_group(group)) as proxy, connect(proxy.settings) as client:
            with pytest.raises(PruneFailed, match="discovery is not complete"):
                await Applier(client).prune([entry], owner=OWNER)
    finally:
        await cluster.client.delete(CUSTOM_RESOURCE_DEFINITIONS, f"widgets.{group}")


async def test_a_version_that_is_no_longer_served_is_pruned_in_another(cluster: Cluster) -> None:
    await inventory(cluster, deployment(cluster))
    entry = InventoryEntry(id=f"{cluster.namespace}_web_apps_Deployment", v="v1beta1")
    assert actions(await prune(cluster, [entry])) == {"Deployment/web": "deleted"}
    assert not await exists(cluster, deployment(cluster))


@pytest.mark.parametrize("accepted", [False, True], ids=["kept", "allowed by annotation"])
async def test_a_definition_with_objects_of_others_is_kept(cluster: Cluster, accepted: bool) -> None:
    group = f"{cluster.namespace}.example.com"
    definition = widgets(group)
    if accepted:
        definition["metadata"]["annotations"] = {"penstock.dev/allow-crd-data-loss": "true"}
    ours = {
        "apiVersion": f"{group}/v1",
        "kind": "Widget",
        "metadata": {"name": "ours", "namespace": cluster.namespace, "labels": OWNER.labels()},
    }
    entries = await inventory(cluster, definition, ours)
    widget = await cluster.client.discovery.resource(f"{group}/v1", "Widget")
    await cluster.client.create(widget, {**ours, "metadata": {"name": "theirs", "namespace": cluster.namespace}})
    changes = await prune(cluster, entries)
    kept = "deleted" if accepted else "skipped"
    assert actions(changes) == {"Widget/ours": "deleted", f"CustomResourceDefinition/widgets.{group}": kept}
    told = f"widgets.{group} is kept: 1 objects of its kind would be lost with it, Widget/{cluster.namespace}/theirs"
    assert [told in warning for warning in changes.warnings] == ([] if accepted else [True])
    await until_terminated(cluster.client, changes, timeout=30)
    if not accepted:
        await cluster.client.delete(CUSTOM_RESOURCE_DEFINITIONS, f"widgets.{group}")


@pytest.mark.scenario("22.11 Delete in reverse order")
async def test_what_does_not_go_is_told_and_what_was_skipped_is_not_waited_for(cluster: Cluster) -> None:
    name = f"{cluster.namespace}-held"
    held, kept = config_map(cluster, "held"), config_map(cluster, "kept")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    namespace = namespace_object(name)
    entries = await inventory(cluster, held, kept, namespace)
    await edit(cluster.client, kept, {"metadata": {"labels": {f"{OWNER.group}/prune": "disabled"}}})
    blocker = {"metadata": {"name": "blocker", "namespace": name, "finalizers": ["example.com/hold"]}}
    await cluster.client.create(CONFIG_MAPS, blocker)
    changes = await prune(cluster, entries)
    assert actions(changes) == {
        "ConfigMap/kept": "skipped",
        "ConfigMap/held": "deleted",
        f"Namespace/{name}": "deleted",
    }
    expected = f"^ConfigMap/{cluster.namespace}/held termination timeout; Namespace/{name} termination timeout$"
    with pytest.raises(TerminationTimeout, match=expected):
        await until_terminated(cluster.client, changes, timeout=0.5)

    async with asyncio.TaskGroup() as group:
        group.create_task(until_terminated(cluster.client, changes, timeout=30))
        await edit(cluster.client, held, {"metadata": {"finalizers": None}}, manager="somebody")
        free = {"metadata": {"finalizers": None}}
        await cluster.client.patch(CONFIG_MAPS, "blocker", name, free, manager="somebody")
    assert not await exists(cluster, held)
    async with (
        asyncio.timeout(20),
        aclosing(cluster.client.watch(NAMESPACES, fields=f"metadata.name={name}")) as events,
    ):
        assert not await exists(cluster, namespace) or (await anext(events)).type == "DELETED"


async def test_termination_is_of_this_very_object(cluster: Cluster) -> None:
    entries = await inventory(cluster, config_map(cluster))
    changes = await prune(cluster, entries)
    await apply(cluster, [config_map(cluster)])
    await until_terminated(cluster.client, changes, timeout=5)
    assert await live(cluster, config_map(cluster))
