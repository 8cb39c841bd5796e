"""The runtime on a cluster: a controller, its status and its finalizer, from the first change to the last."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from penstock.api import crd
from penstock.kube import WatchCache
from penstock.kube.errors import NotFound
from penstock.runtime import finalizers
from penstock.runtime.controller import Controller, Done, Result
from penstock.runtime.fence import Fence, OwnershipLost
from penstock.runtime.manager import Manager
from penstock.runtime.ownwrites import OwnWrites
from penstock.runtime.status import StatusWriter
from penstock.runtime.triggers import REQUESTED_AT, spec_changed, urgency
from tests.definitions import define
from tests.runtime.apiserver import KUSTOMIZATIONS
from tests.runtime.fakes import KIND
from tests.waiting import following

if TYPE_CHECKING:
    from penstock.kube import Client
    from penstock.kube.resources import Object
    from penstock.runtime.metrics import Metrics
    from penstock.runtime.run import Run
    from tests.clusters import Cluster

MANAGER = "gotk-kustomize-controller"
FINALIZER = "finalizers.fluxcd.io"


def kustomization() -> Object:
    return {
        "apiVersion": KUSTOMIZATIONS.api_version,
        "kind": KUSTOMIZATIONS.kind,
        "metadata": {"name": "apps"},
        "spec": {"interval": "10m", "prune": True, "sourceRef": {"kind": "GitRepository", "name": "apps"}},
    }


def ready(generation: int, message: str) -> Object:
    return {
        "type": "Ready",
        "status": "True",
        "reason": "ReconciliationSucceeded",
        "message": message,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
        "observedGeneration": generation,
    }


class Reconciler:
    """Adds the finalizer, reports, and lets go at the end: what every controller does around its work."""

    def __init__(self, client: Client, cache: WatchCache[Object]) -> None:
        self.client, self.cache = client, cache
        self.writes = OwnWrites()
        self.runs: list[Run] = []
        self.sent: list[int] = []

    async def __call__(self, run: Run) -> Result:
        self.runs.append(run)
        cached = self.cache.get(run.key.name, run.key.namespace)
        if cached is None:
            return Done()
        obj = self.writes.newest(cached)
        options: dict[str, Any] = {"manager": MANAGER, "fence": run.fence}
        if obj["metadata"].get("deletionTimestamp"):
            await finalizers.remove(self.client, KUSTOMIZATIONS, obj, FINALIZER, **options)
            return Done()
        obj = await finalizers.add(self.client, KUSTOMIZATIONS, obj, FINALIZER, **options)
        status = StatusWriter(self.client, KUSTOMIZATIONS, obj, **options)
        generation = obj["metadata"]["generation"]
        await status.write({"observedGeneration": generation, "conditions": [ready(generation, "Applied revision: a")]})
        self.writes.note(status.object)
        self.sent.append(status.sent)
        return Done()


async def test_a_controller_from_the_first_change_to_the_last(cluster: Cluster, metrics: Metrics) -> None:
    client, namespace = cluster.client, cluster.namespace
    await define(client, crd("Kustomization"))
    cache: WatchCache[Object] = WatchCache(client, KUSTOMIZATIONS, namespace=namespace)
    reconciler = Reconciler(client, cache)
    manager = Manager(metrics=metrics)
    controller = Controller(KIND, reconciler, metrics=metrics)
    controller.reconciles(cache, when=spec_changed, priority=urgency)
    manager.add_controller(controller)
    manager.add_cache(cache)
    seen: WatchCache[Object] = WatchCache(client, KUSTOMIZATIONS, namespace=namespace)

    def live() -> Object:
        return seen.get("apps", namespace) or {}

    async with asyncio.timeout(40), asyncio.TaskGroup() as group, following(seen) as until:
        code = group.create_task(manager.run())
        await client.create(KUSTOMIZATIONS, kustomization(), namespace=namespace)
        await until(lambda: (live().get("status") or {}).get("observedGeneration") == 1)
        assert live()["metadata"]["finalizers"] == [FINALIZER]
        assert {one["manager"] for one in live()["metadata"]["managedFields"]} >= {MANAGER}

        await client.patch(KUSTOMIZATIONS, "apps", namespace, {"spec": {"interval": "5m"}})
        await until(lambda: live()["status"]["observedGeneration"] == 2)

        wish = {"metadata": {"annotations": {REQUESTED_AT: "now"}}}
        await client.patch(KUSTOMIZATIONS, "apps", namespace, wish)
        await client.delete(KUSTOMIZATIONS, "apps", namespace)
        await until(lambda: not live())
        manager.stop()
    assert code.result() == 0
    assert reconciler.sent[:2] == [1, 1]
    assert set(reconciler.sent[2:]) <= {0}, "nothing changed: nothing is written"
    with pytest.raises(NotFound):
        await client.get(KUSTOMIZATIONS, "apps", namespace)


async def test_status_and_its_rivals(cluster: Cluster) -> None:
    client, namespace = cluster.client, cluster.namespace
    await define(client, crd("Kustomization"))
    created = await client.create(KUSTOMIZATIONS, kustomization(), namespace=namespace)
    fence = Fence()
    status = StatusWriter(client, KUSTOMIZATIONS, created, manager=MANAGER, fence=fence)

    await client.patch(KUSTOMIZATIONS, "apps", namespace, {"metadata": {"labels": {"team": "a"}}})
    await status.write({"observedGeneration": 1, "conditions": [ready(1, "Applied revision: a")]})
    stored = await client.get(KUSTOMIZATIONS, "apps", namespace)
    assert stored["status"]["conditions"] == [ready(1, "Applied revision: a")]
    assert stored["metadata"]["labels"] == {"team": "a"}

    rival = StatusWriter(client, KUSTOMIZATIONS, stored, manager="rival", fence=Fence())
    await rival.write({"observedGeneration": 1, "conditions": [ready(1, "Applied revision: b")]})
    with pytest.raises(OwnershipLost, match="conditions"):
        await status.write({"observedGeneration": 1, "conditions": [ready(1, "Applied revision: c")]})
    stored = await client.get(KUSTOMIZATIONS, "apps", namespace)
    assert stored["status"]["conditions"] == [ready(1, "Applied revision: b")]
    assert fence.why


async def test_a_finalizer_is_not_added_to_what_is_being_deleted(cluster: Cluster) -> None:
    client, namespace = cluster.client, cluster.namespace
    await define(client, crd("Kustomization"))
    held = {**kustomization(), "metadata": {"name": "apps", "finalizers": ["test.penstock.dev/hold"]}}
    created = await client.create(KUSTOMIZATIONS, held, namespace=namespace)
    await client.delete(KUSTOMIZATIONS, "apps", namespace)
    options: dict[str, Any] = {"manager": MANAGER, "fence": Fence()}
    after = await finalizers.add(client, KUSTOMIZATIONS, created, FINALIZER, **options)
    assert after["metadata"]["finalizers"] == ["test.penstock.dev/hold"]
    await finalizers.remove(client, KUSTOMIZATIONS, after, "test.penstock.dev/hold", **options)
    with pytest.raises(NotFound):
        await client.get(KUSTOMIZATIONS, "apps", namespace)
