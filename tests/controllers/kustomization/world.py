"""The Kustomization controller on a test's cluster, with sources whose artifacts the test writes.

    async def test_something(world: World) -> None:
        await world.source("v1.0.0", {"config.yaml": config_map("a")})
        await world.kustomization(prune=True)
        await world.until_applied("v1.0.0")

As in the suite that the scenarios come from, a source is a GitRepository whose status the test writes: no source
controller runs.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from penstock.api import crd
from penstock.controllers.kustomization import wiring
from penstock.controllers.kustomization.parts import KUSTOMIZATIONS
from penstock.controllers.kustomization.settings import CONTROLLER
from penstock.controllers.kustomization.source import KINDS
from penstock.controllers.pins import Pins
from penstock.kube import Object, Recorder, Resource, WatchCache
from penstock.kube.errors import NotFound
from penstock.kube.resources import CONFIG_MAPS, SECRETS
from penstock.runtime import Manager
from penstock.runtime.announcing import Announcer
from penstock.sources.store.fetch import ArtifactFetcher
from penstock.sources.store.scratch import Scratch
from penstock.sources.store.trees import Trees
from tests.controllers.kustomization.pool import SharedPool
from tests.controllers.kustomization.shelf import Shelf, shelf
from tests.controllers.kustomization.told import Told
from tests.controllers.kustomization.watched import Watched
from tests.definitions import define, release
from tests.waiting import Until, following

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping
    from pathlib import Path

    from penstock.controllers.kustomization.settings import Settings
    from penstock.kube import Client
    from penstock.runtime import Metrics
    from penstock.sources.store import ArtifactStore
    from tests.clusters import Cluster

NAME = "apps"
REQUESTED_AT = "reconcile.fluxcd.io/requestedAt"


@dataclass(slots=True)
class World:
    """A cluster, a shelf of artifacts and a running controller."""

    cluster: Cluster
    shelf: Shelf
    cache: WatchCache[Object]
    until: Until
    watched: Watched
    controller: Any = None
    pins: Pins = field(default_factory=Pins)

    @property
    def client(self) -> Client:
        return self.cluster.client

    @property
    def namespace(self) -> str:
        return self.cluster.namespace

    async def source(
        self,
        revision: str,
        files: Mapping[str, str | bytes] | None = None,
        *,
        name: str = NAME,
        kind: str = "GitRepository",
        namespace: str = "",
        metadata: Mapping[str, str] | None = None,
        artifact: Mapping[str, Any] | None = None,
    ) -> Object:
        """A source whose artifact has these files and this revision; the answer is its artifact."""
        namespace = namespace or self.namespace
        resource = KINDS[kind]
        url, digest = self.shelf.put(files or {})
        made = {
            "path": url.rpartition("/")[2],
            "url": url,
            "revision": revision,
            "digest": digest,
            "lastUpdateTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            **({"metadata": dict(metadata)} if metadata else {}),
            **(artifact or {}),
        }
        await self.bare_source(name=name, kind=kind, namespace=namespace)
        status = {"status": {"artifact": made}}
        await self.watched.until(await self.client.patch(resource, name, namespace, status, subresource="status"))
        return made

    async def bare_source(self, *, name: str = NAME, kind: str = "GitRepository", namespace: str = "") -> None:
        """A source that has no artifact yet."""
        namespace = namespace or self.namespace
        resource = KINDS[kind]
        with suppress(NotFound):
            await self.client.get(resource, name, namespace)
            return
        spec: dict[str, Any] = {
            "GitRepository": {"url": "https://example.com/repo", "interval": "1h"},
            "OCIRepository": {"url": "oci://example.com/repo", "interval": "1h"},
            "Bucket": {"bucketName": "files", "endpoint": "example.com", "interval": "1h"},
            "ExternalArtifact": {},
        }[kind]
        body = {"apiVersion": resource.api_version, "kind": kind, "metadata": {"name": name}, "spec": spec}
        await self.client.create(resource, body, namespace=namespace)

    async def kustomization(
        self,
        name: str = NAME,
        *,
        annotations: Mapping[str, str] | None = None,
        labels: Mapping[str, str] | None = None,
        finalizers: tuple[str, ...] = (),
        **spec: Any,
    ) -> Object:
        """Create a Kustomization, or change the one that is there."""
        wanted = {
            "interval": "10m",
            "prune": True,
            "path": "./",
            "sourceRef": {"kind": "GitRepository", "name": NAME},
            "targetNamespace": self.namespace,
        } | spec
        metadata: Object = {"name": name, "namespace": self.namespace}
        if annotations:
            metadata["annotations"] = dict(annotations)
        if labels:
            metadata["labels"] = dict(labels)
        if finalizers:
            metadata["finalizers"] = list(finalizers)
        body = {
            "apiVersion": KUSTOMIZATIONS.api_version,
            "kind": KUSTOMIZATIONS.kind,
            "metadata": metadata,
            "spec": {key: value for key, value in wanted.items() if value is not None},
        }
        return await self._seen(await self.client.apply(KUSTOMIZATIONS, body, manager="tests", force=True))

    async def change(self, spec: Mapping[str, Any] | None = None, *, name: str = NAME, **metadata: Any) -> Object:
        """Change fields of a Kustomization, as a merge patch."""
        body: Object = {}
        if spec:
            body["spec"] = dict(spec)
        if metadata:
            body["metadata"] = metadata
        return await self._seen(await self.client.patch(KUSTOMIZATIONS, name, self.namespace, body))

    async def _seen(self, obj: Object) -> Object:
        """Wait until the watch has come as far: what is looked at next must not be older."""
        metadata = obj["metadata"]
        await self.until(
            lambda: bool(self.live(metadata["name"])) and _version(self.live(metadata["name"])) >= _version(obj)
        )
        return obj

    async def ask(self, token: str, *, name: str = NAME) -> None:
        """Ask for a run, as `flux reconcile` does."""
        await self.change(name=name, annotations={REQUESTED_AT: token})

    def live(self, name: str = NAME) -> Object:
        """The Kustomization as the watch shows it; empty when it is gone."""
        return self.cache.get(name, self.namespace) or {}

    def status(self, name: str = NAME) -> Object:
        return self.live(name).get("status") or {}

    def condition(self, kind: str, name: str = NAME) -> Object:
        found = [one for one in self.status(name).get("conditions") or () if one["type"] == kind]
        return found[0] if found else {}

    def inventory(self, name: str = NAME) -> list[str]:
        return [entry["id"] for entry in (self.status(name).get("inventory") or {}).get("entries") or ()]

    async def until_applied(self, revision: str, *, name: str = NAME, within: float = 30.0) -> Object:
        """Wait until the revision is applied and everything about it is settled."""

        def settled() -> bool:
            status, ready = self.status(name), self.condition("Ready", name)
            return (
                status.get("lastAppliedRevision") == revision
                and ready.get("status") == "True"
                and status.get("observedGeneration") == self.live(name)["metadata"]["generation"]
                and not self.condition("Reconciling", name)
            )

        await self._wait(settled, f"{name} at {revision}", name, within)
        self.check_invariants(name)
        return self.live(name)

    async def until_failed(self, reason: str, *, name: str = NAME, says: str = "", within: float = 30.0) -> Object:
        """Wait until Ready is false for this reason, at the present generation; the answer is that condition."""

        def failed() -> bool:
            ready = self.condition("Ready", name)
            return (
                ready.get("status") == "False"
                and ready.get("reason") == reason
                and says in ready.get("message", "")
                and ready.get("observedGeneration") == self.live(name)["metadata"]["generation"]
            )

        await self._wait(failed, f"{name} to fail with {reason} {says!r}", name, within)
        self.check_invariants(name)
        return self.condition("Ready", name)

    async def until_gone(self, name: str = NAME, *, within: float = 30.0) -> None:
        await self._wait(lambda: not self.live(name), f"{name} to be gone", name, within)

    async def delete(self, name: str = NAME) -> None:
        await self.client.delete(KUSTOMIZATIONS, name, self.namespace)

    async def _wait(self, holds: Callable[[], bool], what: str, name: str, within: float) -> None:
        try:
            await self.until(holds, within=within)
        except TimeoutError:
            raise AssertionError(f"waited {within:g} s for {what}; its status is {self.status(name)}") from None

    def check_invariants(self, name: str = NAME) -> None:
        """What holds for every Kustomization that no run is working on."""
        generation = self.live(name)["metadata"]["generation"]
        observed = self.status(name).get("observedGeneration", 0)
        ready, reconciling, stalled = (self.condition(kind, name) for kind in ("Ready", "Reconciling", "Stalled"))
        assert ready, "Ready is always there"
        assert observed <= generation
        assert not (reconciling and stalled)
        if ready["status"] == "True":
            assert not reconciling
            assert not stalled
            assert {one["observedGeneration"] for one in self.status(name)["conditions"]} == {generation} == {observed}
        if ready["status"] == "Unknown":
            assert reconciling
        if observed < generation:
            assert ready["status"] != "True"

    async def get(self, resource: Resource, name: str, namespace: str | None = None) -> Object | None:
        try:
            return await self.client.get(resource, name, self.namespace if namespace is None else namespace or None)
        except NotFound:
            return None

    async def config_map(self, name: str) -> Object | None:
        return await self.get(CONFIG_MAPS, name)

    async def secret(self, name: str) -> Object | None:
        return await self.get(SECRETS, name)

    async def events(self, *, name: str = NAME, revision: str | None = None) -> list[Object]:
        """The events about a Kustomization in the order in which they were told."""
        return await Told(self.cluster, name, revision).now()

    async def until_told(self, count: int, *, name: str = NAME, revision: str | None = None) -> list[Object]:
        """The events in their order, once there are so many."""
        return await Told(self.cluster, name, revision).once(lambda found: len(found) >= count)

    async def until_event(self, *, says: str, name: str = NAME, **fields: str) -> Object:
        """The newest event that says this, once there is one."""

        def fits(one: Object) -> bool:
            return says in one["message"] and all(one[field] == value for field, value in fields.items())

        return [one for one in await Told(self.cluster, name).once(lambda told: any(map(fits, told))) if fits(one)][-1]

    async def write_status(self, status: Object, *, name: str = NAME) -> None:
        """Change the status, as somebody who should not."""
        await self.client.patch(KUSTOMIZATIONS, name, self.namespace, {"status": status}, subresource="status")


def _version(obj: Object) -> int:
    return int(obj["metadata"]["resourceVersion"])


@asynccontextmanager
async def running(
    cluster: Cluster, settings: Settings, folder: Path, metrics: Metrics, store: ArtifactStore | None = None
) -> AsyncGenerator[World]:
    """A world whose controller runs until the body ends; with a store, as if the sources ran in the same process."""
    await define(cluster.client, *(crd(kind) for kind in ("Kustomization", *KINDS)))
    cache: WatchCache[Object] = WatchCache(cluster.client, KUSTOMIZATIONS, namespace=cluster.namespace)
    async with (
        shelf() as kept,
        following(cache) as until,
        SharedPool() as pool,
        ArtifactFetcher.open(tries=1) as fetcher,
        Scratch.below(folder) as scratch,
    ):
        watched = Watched(settings.watch_namespace)
        world = World(cluster, kept, cache, until, watched)
        recorder = Recorder(cluster.client, component=CONTROLLER, instance="tests")
        manager = watched.by(Manager(metrics=metrics, grace=2))
        setup = wiring.Setup(
            client=cluster.client,
            metrics=metrics,
            pool=pool,
            trees=Trees(scratch, fetcher, store=store),
            announcer=Announcer(recorder),
            store=store,
            pins=world.pins,
        )
        manager.add_service("events", recorder.run)
        world.controller = wiring.install(manager, setup, settings)
        task = asyncio.create_task(manager.run())
        try:
            yield world
        finally:
            manager.stop()
            await task
            await release(cluster.client, cluster.namespace, KUSTOMIZATIONS)
