"""Waiting for health on a cluster: by watch, bounded, and no longer than there is hope."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from penstock.health import HealthCheckFailed, open_lookout, vanishing, wait
from penstock.kube import Identity, ObjectRef, Resource, connect
from penstock.kube.resources import CONFIG_MAPS, JOBS, PODS
from tests.definitions import define
from tests.faults.proxy import faulty
from tests.faults.rules import READS, WATCHES, Where, answers

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from penstock.kube import Client, Object
    from tests.clusters import Cluster
    from tests.faults.proxy import Proxy

pytestmark = pytest.mark.scenario("22.11 Wait")

WIDGETS = Resource("health.example.com", "v1", "widgets", "Widget")
STATEFUL_SETS = Resource("apps", "v1", "statefulsets", "StatefulSet")
SHORT = 0.3
LONG = 30.0


def definition(resource: Resource = WIDGETS) -> Object:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": resource.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    names = {"plural": resource.plural, "singular": resource.kind.lower(), "kind": resource.kind}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": str(resource)},
        "spec": {"group": resource.group, "scope": "Namespaced", "names": names, "versions": [version]},
    }


def condition(name: str, status: str = "True") -> Object:
    return {
        "type": name,
        "status": status,
        "reason": "Test",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }


async def widget(cluster: Cluster, name: str, *conditions: Object) -> ObjectRef:
    metadata = {"name": name, "namespace": cluster.namespace}
    await cluster.client.create(WIDGETS, {"apiVersion": WIDGETS.api_version, "kind": "Widget", "metadata": metadata})
    await report(cluster, name, *conditions)
    return ObjectRef(*WIDGETS.group_kind, cluster.namespace, name)


async def report(cluster: Cluster, name: str, *conditions: Object, resource: Resource = WIDGETS, **status: Any) -> None:
    body = {"status": {"conditions": list(conditions), **status}}
    await cluster.client.patch(resource, name, cluster.namespace, body, subresource="status")


async def config_map(cluster: Cluster, name: str) -> ObjectRef:
    await cluster.client.create(CONFIG_MAPS, {"metadata": {"name": name, "namespace": cluster.namespace}})
    return ref(cluster, name)


def ref(cluster: Cluster, name: str, kind: str = "ConfigMap") -> ObjectRef:
    return ObjectRef("", kind, cluster.namespace, name)


@asynccontextmanager
async def watched(cluster: Cluster) -> AsyncGenerator[tuple[Proxy, Client]]:
    """A client whose requests are counted, and which knows discovery already."""
    async with faulty(cluster) as proxy, connect(proxy.settings) as client:
        await client.discovery.kinds()
        proxy.forget()
        yield proxy, client


async def watching(proxy: Proxy) -> None:
    """Until somebody watches."""
    async with asyncio.timeout(20):
        while True:
            if proxy.count("WATCH"):
                return
            await asyncio.sleep(0.01)


async def test_what_is_current_costs_one_look(cluster: Cluster) -> None:
    targets = [await config_map(cluster, name) for name in ("one", "two")]
    async with watched(cluster) as (proxy, client):
        await wait(client, targets, timeout=LONG)
        assert proxy.count() == 2


async def test_many_of_a_kind_are_looked_at_together(cluster: Cluster) -> None:
    targets = [await config_map(cluster, f"many-{number}") for number in range(10)]
    async with watched(cluster) as (proxy, client):
        await wait(client, targets, timeout=LONG)
        assert proxy.count() == 1
        with pytest.raises(
            HealthCheckFailed, match=r"^timeout waiting for: \[ConfigMap/.*/many-10 status: 'NotFound'\]$"
        ):
            await wait(client, [*targets, ref(cluster, "many-10")], timeout=SHORT)


async def test_a_new_kind_and_its_object_become_current(cluster: Cluster) -> None:
    await define(cluster.client, definition())
    crd = ObjectRef("apiextensions.k8s.io", "CustomResourceDefinition", "", str(WIDGETS))
    target = await widget(cluster, "late", condition("Ready", "False"))
    async with watched(cluster) as (proxy, client), asyncio.TaskGroup() as group:
        waiting = group.create_task(wait(client, [crd, target], timeout=LONG))
        await watching(proxy)
        assert not waiting.done()
        await report(cluster, "late", condition("Ready"))


async def test_without_hurry_everything_that_is_not_current_is_told_at_the_end(cluster: Cluster) -> None:
    await define(cluster.client, definition())
    targets = [
        await widget(cluster, "failed", condition("Stalled")),
        await widget(cluster, "slow", condition("Reconciling")),
        await widget(cluster, "fine", condition("Ready")),
    ]
    with pytest.raises(HealthCheckFailed) as failure:
        await wait(cluster.client, targets, timeout=3.0, fail_fast=False)  # all of them have to be seen in it
    place = f"Widget/{cluster.namespace}"
    assert str(failure.value) == (
        f"timeout waiting for: [{place}/failed status: 'Failed', {place}/slow status: 'InProgress']"
    )


async def test_in_a_hurry_the_first_failure_ends_it(cluster: Cluster) -> None:
    await define(cluster.client, definition())
    targets = [
        await widget(cluster, "failed", condition("Stalled")),
        await widget(cluster, "slow", condition("Reconciling")),
    ]
    with pytest.raises(HealthCheckFailed) as failure:
        await wait(cluster.client, targets, timeout=LONG)
    assert str(failure.value) == (
        f"failed early due to stalled resources: [Widget/{cluster.namespace}/failed status: 'Failed']"
    )


async def test_when_nothing_is_on_its_way_any_more_it_ends_without_hurry_too(cluster: Cluster) -> None:
    await define(cluster.client, definition())
    targets = [
        await widget(cluster, "failed", condition("Stalled")),
        await widget(cluster, "fine", condition("Ready")),
    ]
    with pytest.raises(
        HealthCheckFailed, match=r"^failed early due to stalled resources: \[Widget/[^,]*/failed status"
    ):
        await wait(cluster.client, targets, timeout=LONG, fail_fast=False)


@pytest.mark.parametrize("code", [500, 429], ids=["an error", "a server that has too much to do"])
async def test_what_cannot_be_read_is_unknown(cluster: Cluster, code: int) -> None:
    await config_map(cluster, "settings")
    async with watched(cluster) as (proxy, client):
        message = {"kind": "Status", "code": code, "message": "error reading status"}
        proxy.add(answers(code, message, where=READS))
        with pytest.raises(HealthCheckFailed) as failure:
            await wait(client, [ref(cluster, "settings")], timeout=SHORT)
    place = f"ConfigMap/{cluster.namespace}/settings"
    assert str(failure.value) in (
        f"timeout waiting for: [{place} status: 'Unknown': error reading status]",
        f"timeout waiting for: [can't determine status for {place}]",
    )


async def test_cancelling_cancels(cluster: Cluster) -> None:
    async with watched(cluster) as (proxy, client):
        waiting = asyncio.create_task(wait(client, [ref(cluster, "missing")], timeout=LONG))
        await watching(proxy)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting


async def test_a_job_that_deletes_itself_is_done_when_it_is_gone(cluster: Cluster) -> None:
    metadata = {"name": "once", "namespace": cluster.namespace}
    keeps: Object = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "keeps"}, "spec": {}}
    goes: Object = {**keeps, "metadata": metadata, "spec": {"ttlSecondsAfterFinished": 0}}
    job = ObjectRef(*JOBS.group_kind, cluster.namespace, "once")
    assert vanishing([keeps, goes, {**goes, "kind": "CronJob"}]) == {job}
    await wait(cluster.client, [job], timeout=LONG, vanishing={job})
    with pytest.raises(HealthCheckFailed, match=r"Job/.*/once status: 'NotFound'"):
        await wait(cluster.client, [job], timeout=SHORT)


async def test_a_target_without_its_namespace_is_told_at_once(cluster: Cluster) -> None:
    target = ObjectRef("apps", "Deployment", "", "web")
    with pytest.raises(
        HealthCheckFailed, match=r"^resource Deployment\.apps web is namespace scoped, but namespace is"
    ):
        await wait(cluster.client, [target], timeout=LONG)


async def test_a_target_that_comes_late(cluster: Cluster) -> None:
    async with watched(cluster) as (proxy, client), asyncio.TaskGroup() as group:
        group.create_task(wait(client, [ref(cluster, "late")], timeout=LONG))
        await watching(proxy)
        await config_map(cluster, "late")


async def test_a_kind_that_comes_late(cluster: Cluster) -> None:
    gadgets = Resource(f"{cluster.namespace}.example.com", "v1", "gadgets", "Gadget")
    target = ObjectRef(*gadgets.group_kind, cluster.namespace, "late")
    async with asyncio.TaskGroup() as group:
        group.create_task(wait(cluster.client, [target], timeout=LONG))
        await define(cluster.client, definition(gadgets))
        metadata = {"name": "late", "namespace": cluster.namespace}
        gadget = {"apiVersion": gadgets.api_version, "kind": "Gadget", "metadata": metadata}
        await cluster.client.create(gadgets, gadget)


async def test_a_watch_that_breaks_is_taken_up_again(cluster: Cluster) -> None:
    await define(cluster.client, definition())
    target = await widget(cluster, "late", condition("Ready", "False"))
    async with watched(cluster) as (proxy, client), asyncio.TaskGroup() as group:
        group.create_task(wait(client, [target], timeout=LONG))
        await watching(proxy)
        await proxy.cut_off()
        await report(cluster, "late", condition("Ready"))


@pytest.mark.parametrize("refused", [WATCHES, Where(methods=frozenset({"GET"}), path="configmaps$")])
async def test_what_cannot_be_watched_is_asked_for(
    cluster: Cluster, refused: Where, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tenant may have the right to get and no other."""
    monkeypatch.setattr("penstock.health.lookout.POLL", 0.05)
    async with watched(cluster) as (proxy, client), asyncio.TaskGroup() as group:
        proxy.add(answers(403, where=refused))
        group.create_task(wait(client, [ref(cluster, "late")], timeout=LONG))
        async with asyncio.timeout(20):
            while True:
                if proxy.count("GET", "configmaps/late"):
                    break
                await asyncio.sleep(0.01)
        await config_map(cluster, "late")


async def test_a_tenant_sees_no_more_than_its_rights(cluster: Cluster) -> None:
    nobody = cluster.client.impersonate(Identity.service_account(cluster.namespace, "nobody"))
    await config_map(cluster, "settings")
    with pytest.raises(HealthCheckFailed, match=r"status: 'Unknown': configmaps \"settings\" is forbidden"):
        await wait(nobody, [ref(cluster, "settings")], timeout=SHORT)


async def crashing_pod(cluster: Cluster) -> None:
    spec = {"containers": [{"name": "app", "image": "example.com/app:1"}]}
    metadata = {"name": "crashing", "namespace": cluster.namespace, "labels": {"app": "db"}}
    await cluster.client.create(PODS, {"metadata": metadata, "spec": spec})
    state = {"waiting": {"reason": "CrashLoopBackOff"}}
    container = {"name": "app", "image": "x", "imageID": "", "ready": False, "restartCount": 3, "state": state}
    await report(cluster, "crashing", resource=PODS, phase="Running", containerStatuses=[container])


async def test_a_stateful_set_fails_with_its_pods(cluster: Cluster) -> None:
    labels = {"app": "db"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "app", "image": "example.com/app:1"}]}}
    spec = {"replicas": 3, "serviceName": "db", "selector": {"matchLabels": labels}, "template": template}
    metadata = {"name": "db", "namespace": cluster.namespace}
    await cluster.client.create(STATEFUL_SETS, {"metadata": metadata, "spec": spec})
    target = ObjectRef(*STATEFUL_SETS.group_kind, cluster.namespace, "db")
    async with watched(cluster) as (proxy, client):
        waiting = asyncio.create_task(wait(client, [target], timeout=LONG))
        await watching(proxy)
        await crashing_pod(cluster)
        with pytest.raises(HealthCheckFailed, match=r"^failed early .*StatefulSet/.*/db status: 'Failed'\]$"):
            await waiting


async def test_nothing_to_wait_for(cluster: Cluster) -> None:
    async with watched(cluster) as (proxy, client):
        await wait(client, [], timeout=LONG)
        assert proxy.count() == 0


async def test_a_lookout_beyond_its_watches_asks(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.health.lookout.WATCHES", 1)
    monkeypatch.setattr("penstock.health.lookout.POLL", 0.05)
    targets = [ref(cluster, name) for name in ("one", "two")]
    async with watched(cluster) as (proxy, client), open_lookout(client) as view:
        view.follow(await view.look(targets))
        await watching(proxy)
        await config_map(cluster, "one")
        await config_map(cluster, "two")
        async with asyncio.timeout(20):
            while not all((sight := view.sight(target)) and sight.obj for target in targets):
                await view.rings(1)
        assert proxy.count("WATCH") == 1
