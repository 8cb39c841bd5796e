"""The controller put together: caches, wakers and workers of one process."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from penstock.controllers.kustomization import source, triggers
from penstock.controllers.kustomization.artifacts import Artifacts
from penstock.controllers.kustomization.awaited import Awaited
from penstock.controllers.kustomization.builds import Builds
from penstock.controllers.kustomization.finalize import Finalizer
from penstock.controllers.kustomization.index import Index
from penstock.controllers.kustomization.parts import KUSTOMIZATIONS, Parts
from penstock.controllers.kustomization.pinning import Pinned, annotated
from penstock.controllers.kustomization.readiness import Readiness
from penstock.controllers.kustomization.reconcile import Reconciler
from penstock.controllers.kustomization.references import References
from penstock.controllers.kustomization.target import Targets
from penstock.controllers.pins import Pins
from penstock.kube import Resource, WatchCache
from penstock.kube.resources import CONFIG_MAPS, SECRETS
from penstock.runtime import Controller
from penstock.runtime.triggers import spec_changed, urgency

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.controllers.kustomization.settings import Settings
    from penstock.kube import Client, Object, ObjectRef
    from penstock.runtime import Backoff, Fence, Jitter, Manager, Metrics, WorkerPool
    from penstock.runtime.announcing import Announcer
    from penstock.sources.store import ArtifactStore
    from penstock.sources.store.trees import Trees


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What the controllers of one process share."""

    client: Client
    metrics: Metrics
    pool: WorkerPool
    trees: Trees
    announcer: Announcer
    store: ArtifactStore | None = None
    """The store of the sources, where they run in this process too."""
    pins: Pins = field(default_factory=Pins)
    backoff: Backoff | None = None
    jitter: Jitter | None = None
    fence: Fence | None = None
    mine: Callable[[ObjectRef], bool] = lambda _: True


def install(manager: Manager, setup: Setup, settings: Settings) -> Controller:
    """Add the Kustomization controller to a process."""
    references = References(setup.client, settings)
    targets = Targets(setup.client, references, settings)
    client, namespace = setup.client, settings.watch_namespace
    kustomizations: WatchCache[Object] = WatchCache(
        client, KUSTOMIZATIONS, namespace=namespace, labels=settings.watch_labels or None
    )
    sources = {
        kind: WatchCache(client, resource, namespace=namespace, transform=source.summary)
        for kind, resource in source.KINDS.items()
        if kind != "ExternalArtifact" or settings.gates.external_artifact
    }
    parts = Parts(
        client=client,
        settings=settings,
        kustomizations=kustomizations,
        sources=sources,
        artifacts=Artifacts(setup.trees, settings),
        pinned=Pinned(setup.pins, setup.store),
        builds=Builds(setup.pool, references, settings),
        targets=targets,
        announcer=setup.announcer,
    )
    awaited = Awaited(client, lambda key, cause: controller.add(key, cause=cause))
    readiness = Readiness(parts, awaited)
    reconciler = Reconciler(parts, readiness=readiness, finalizer=Finalizer(parts))
    controller = Controller(
        KUSTOMIZATIONS.group_kind,
        reconciler,
        metrics=setup.metrics,
        concurrency=settings.concurrent,
        backoff=setup.backoff,
        jitter=setup.jitter,
        fence=setup.fence or manager.fence,
        mine=setup.mine,
    )
    index = Index()
    kustomizations.subscribe(setup.pins.follow)
    kustomizations.subscribe(index.follow)  # before the wakers, which ask it
    wakers = triggers.Wakers(index, waits=readiness.waits, runs=controller.queue.is_running)
    controller.reconciles(
        kustomizations, when=lambda change: spec_changed(change) or annotated(change), priority=urgency
    )
    setup.pins.when_settled(lambda holder, cause: controller.add(holder, cause=cause))
    controller.watches(kustomizations, to=wakers.of_dependency)
    manager.add_cache(kustomizations)
    for cache in sources.values():
        controller.watches(cache, to=wakers.of_source, when=triggers.new_revision)
        manager.add_cache(cache)
    if not settings.gates.disable_config_watchers:
        for resource in (CONFIG_MAPS, SECRETS):
            watched = _metadata(client, resource, settings)
            controller.watches(watched, to=wakers.of_config)
            manager.add_cache(watched)
    manager.add_service("the watches of awaited objects", awaited.run)
    manager.add_service("the connections to other clusters", targets.run)
    manager.add_controller(controller)
    return controller


def _metadata(client: Client, resource: Resource, settings: Settings) -> WatchCache[str]:
    """Names and versions of the ConfigMaps or Secrets whose changes matter; never their content."""
    return WatchCache(
        client,
        resource,
        namespace=settings.watch_namespace,
        labels=settings.config_labels or None,
        transform=lambda obj: str(obj["metadata"].get("resourceVersion")),
        metadata_only=True,
    )
