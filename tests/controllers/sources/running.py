"""A source controller on the cluster of a test, and what the tests look at."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from penstock.api import crd
from penstock.controllers.sources import Setup, source_controller
from penstock.kube import WatchCache
from penstock.runtime.announcing import Announcer
from penstock.runtime.delays import Backoff
from penstock.runtime.manager import Manager
from penstock.sources.store import ArtifactStore
from penstock.sources.store.scratch import Scratch
from tests.definitions import define, release
from tests.waiting import following

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from pathlib import Path

    from penstock.controllers.sources import SourceKind
    from penstock.kube import Change, Event
    from penstock.kube.resources import Object, Resource
    from penstock.runtime.controller import Controller
    from penstock.runtime.metrics import Metrics
    from penstock.sources import Remote
    from tests.clusters import Cluster
    from tests.waiting import Until

SOON = Backoff(base=0.01, cap=0.05)
"""For tests of what comes after a failure."""
NEVER = Backoff(base=3600.0, cap=3600.0)
"""For tests that count: a failure stays as it is until the test asks for a run."""
UNSEEN = 3600.0
"""For tests that count: no run shows its progress, however busy the machine is."""


class Heard:
    """Takes events instead of the cluster."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def record(self, event: Event) -> None:
        self.events.append(event)

    @property
    def reasons(self) -> list[tuple[str, str]]:
        return [(event.type, event.reason) for event in self.events]


@dataclass
class Sources:
    """One kind of source on a cluster, with its controller running."""

    cluster: Cluster
    resource: Resource
    store: ArtifactStore
    controller: Controller
    seen: WatchCache[Object]
    until: Until
    heard: Heard = field(default_factory=Heard)
    history: list[Object] = field(default_factory=list[Any])
    """Every version of every object that the watch showed."""

    async def create(self, name: str, spec: Object, **metadata: Any) -> Object:
        body = {
            "apiVersion": self.resource.api_version,
            "kind": self.resource.kind,
            "metadata": {"name": name, **metadata},
            "spec": spec,
        }
        return await self.cluster.client.create(self.resource, body, namespace=self.cluster.namespace)

    async def patch(self, name: str, change: Object, **options: Any) -> Object:
        return await self.cluster.client.patch(self.resource, name, self.cluster.namespace, change, **options)

    async def request(self, name: str, token: str) -> None:
        """Ask for a run, as `flux reconcile` does."""
        await self.patch(name, {"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": token}}})

    async def asked(self, name: str, token: str) -> Object:
        """Ask for a run, and wait until it is over."""
        await self.request(name, token)
        await self.until(lambda: self.status(name).get("lastHandledReconcileAt") == token)
        return self.status(name)

    async def delete(self, name: str) -> None:
        await self.cluster.client.delete(self.resource, name, self.cluster.namespace)

    def live(self, name: str) -> Object:
        return self.seen.get(name, self.cluster.namespace) or {}

    def status(self, name: str) -> Object:
        return self.live(name).get("status") or {}

    def condition(self, name: str, kind: str) -> Object:
        found = [one for one in self.status(name).get("conditions") or () if one["type"] == kind]
        return found[0] if found else {}

    def says(self, name: str, kind: str) -> tuple[str, str, str] | None:
        """Status, reason and message of a condition."""
        one = self.condition(name, kind)
        return (one["status"], one["reason"], one["message"]) if one else None

    async def ready(self, name: str, truth: str = "True") -> Object:
        """Wait until Ready has this value for the present generation."""

        def holds() -> bool:
            ready = self.condition(name, "Ready")
            generation = (self.live(name).get("metadata") or {}).get("generation")
            return bool(ready) and ready["status"] == truth and ready["observedGeneration"] == generation

        await self.until(holds)
        return self.status(name)


@asynccontextmanager
async def running(
    cluster: Cluster,
    kind: SourceKind[Any],
    folder: Path,
    metrics: Metrics,
    *,
    instead: Callable[[Any], Remote | None] = lambda _: None,
    address: str = "source-controller.test",
    **options: Any,
) -> AsyncGenerator[Sources]:
    """Run the controller of a kind; `options` go to its Setup."""
    resource, client = kind.resource, cluster.client
    await define(client, crd(kind.name))
    heard = Heard()
    store = options.pop("store", None) or ArtifactStore(folder / "store", address=address)
    await store.open()
    cache: WatchCache[Object] = WatchCache(client, resource, namespace=cluster.namespace)
    seen: WatchCache[Object] = WatchCache(client, resource, namespace=cluster.namespace)
    history: list[Object] = []

    async def note(change: Change[Object]) -> None:
        history.append(change.new or {})

    seen.subscribe(note)
    manager = Manager(metrics=metrics)
    async with Scratch.below(folder / "scratch") as scratch, following(seen) as until:
        announcer = options.pop("announcer", None) or Announcer(heard)
        setup = Setup(client=client, store=store, scratch=scratch, announcer=announcer, metrics=metrics, **options)
        controller = source_controller(kind, cache, setup, instead=instead)
        manager.add_cache(cache)
        manager.add_controller(controller)
        async with asyncio.TaskGroup() as group:
            code = group.create_task(manager.run())
            try:
                yield Sources(cluster, resource, store, controller, seen, until, heard, history)
            finally:
                manager.stop()
    assert code.result() == 0
    await release(client, cluster.namespace, resource)
