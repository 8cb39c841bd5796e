"""All controllers of one process, put together: what `penstock controller` and `penstock up` run.

Sources and Kustomizations share the connection, the metrics and the artifact store, so that an artifact is unpacked
from the disk and never fetched from ourselves.
"""

from __future__ import annotations

import socket
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from penstock.controllers import replicas
from penstock.controllers.kustomization import wiring
from penstock.controllers.kustomization.settings import CONTROLLER, Settings
from penstock.controllers.pins import Pins
from penstock.controllers.replicas import Shares
from penstock.controllers.sources import Setup, source_controller
from penstock.controllers.sources.bucket import Buckets
from penstock.controllers.sources.git_repository import GitRepositories
from penstock.controllers.sources.oci_repository import OCIRepositories
from penstock.kube import Recorder, WatchCache
from penstock.kube.definitions import watch_definitions
from penstock.runtime import Backoff, Jitter, Manager, Metrics, WorkerPool
from penstock.runtime.announcing import Announcer, EventSink
from penstock.sources.git import Git
from penstock.sources.git.listing import Algorithms
from penstock.sources.store import ArtifactStore
from penstock.sources.store.fetch import TRIES, ArtifactFetcher
from penstock.sources.store.files import Retention
from penstock.sources.store.scratch import Scratch
from penstock.sources.store.server import ArtifactServer, advertised
from penstock.sources.store.trees import Trees

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from penstock.controllers.sources import SourceKind
    from penstock.controllers.sources.local import LocalSources
    from penstock.kube import Client, Lease, Object, Terms
    from penstock.runtime import Address

SOURCES = "source-controller"
COMPONENTS = ("source", "kustomize")
NAMES = {"source": SOURCES, "kustomize": CONTROLLER}
"""Under which name each component tells events and holds its lease; Flux's own, so that either can take over."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What an operator decides for a whole process; the defaults are Flux's."""

    storage: Path
    """Where artifacts and everything that can be made again lies."""
    components: tuple[str, ...] = COMPONENTS
    serve: Address | None = None
    """Where artifacts are served."""
    advertise: str = ""
    events: str = ""
    metrics: Address | None = None
    health: Address | None = None
    lead: bool = False
    share: bool = False
    """Share the work with the other replicas instead of waiting for the lease."""
    terms: Terms | None = None
    """How long leases last; None: as Flux has them, or as members of a group do."""
    release: bool = True
    """Give the lease back at the end."""
    concurrent_sources: int = 8
    backoff: Backoff = field(default_factory=Backoff)
    jitter: Jitter = field(default_factory=Jitter)
    retention: Retention = field(default_factory=Retention)
    digest_algorithm: str = "sha256"
    ssh: Algorithms = field(default_factory=Algorithms)
    fetch_tries: int = TRIES
    kustomize: Settings = field(default_factory=Settings)


async def run(client: Client, options: Options) -> int:
    """Run until a signal comes; the answer is the exit code."""
    async with assembled(client, options) as manager:
        return await manager.run()


@asynccontextmanager
async def assembled(client: Client, options: Options, *, local: LocalSources | None = None) -> AsyncGenerator[Manager]:
    """A manager with everything in it that the options ask for; it is the caller's to run and to stop.

    With `local`, directories stand for sources, and what is saved in them is reconciled at once.
    """
    metrics = Metrics()
    client.transport.observe = metrics.count_requests(urlsplit(client.transport.settings.server).netloc)
    manager = Manager(metrics=metrics, lead=_lease(client, options) if options.lead else None)
    manager.serve(health=options.health, metrics=options.metrics)
    manager.add_cache(watch_definitions(client))
    shares = _shares(manager, client, options) if options.share else Shares()
    async with AsyncExitStack() as stack:
        scratch = await stack.enter_async_context(Scratch.below(options.storage / "scratch"))
        process = _Process(client, options, manager, metrics, scratch, shares, stack)
        store = await process.add_sources(local) if "source" in options.components else None
        if "kustomize" in options.components:
            await process.add_kustomizations(store)
        if local is not None:
            manager.add_service("the watch of local directories", local.run)
        yield manager


class _Process:
    """What the components of one process share."""

    def __init__(
        self,
        client: Client,
        options: Options,
        manager: Manager,
        metrics: Metrics,
        scratch: Scratch,
        shares: Shares,
        stack: AsyncExitStack,
    ) -> None:
        self._client = client
        self._options = options
        self._manager = manager
        self._metrics = metrics
        self._scratch = scratch
        self._shares = shares
        self._stack = stack
        self._pins = Pins(cross_namespace=options.kustomize.cross_namespace_references)

    async def add_sources(self, local: LocalSources | None) -> ArtifactStore:
        """The controllers of Git, OCI and buckets, the store behind them, and its server."""
        options = self._options
        store = await self._store()
        setup = Setup(
            client=self._client,
            store=store,
            scratch=self._scratch,
            announcer=self._announcer(SOURCES),
            metrics=self._metrics,
            dependency=options.kustomize.requeue_dependency.seconds,
            concurrency=options.concurrent_sources,
            backoff=options.backoff,
            jitter=options.jitter,
            fence=self._manager.fence,
            mine=self._shares.mine,
            pins=self._pins,
        )
        git = await self._stack.enter_async_context(Git.open(options.storage / "mirrors", algorithms=options.ssh))
        for kind in (GitRepositories(git), OCIRepositories(), Buckets()):
            self._add_source(kind, setup, local)
        return store

    async def _store(self) -> ArtifactStore:
        options = self._options
        store = ArtifactStore(
            options.storage / "artifacts",
            address=options.advertise or "localhost",
            algorithm=options.digest_algorithm,
            retention=options.retention,
        )
        await store.open()
        if options.serve is not None:
            listening = await self._stack.enter_async_context(ArtifactServer(store).serving(options.serve))
            store.address = advertised(options.advertise, listening=listening)
        return store

    def _add_source(self, kind: SourceKind[Any], setup: Setup, local: LocalSources | None) -> None:
        settings = self._options.kustomize
        cache: WatchCache[Object] = WatchCache(
            self._client, kind.resource, namespace=settings.watch_namespace, labels=settings.watch_labels or None
        )
        self._manager.add_cache(cache)
        instead = local.instead if local is not None else lambda _: None
        controller = source_controller(kind, cache, setup, instead=instead)
        if local is not None:
            local.follow(cache, controller)
        self._manager.add_controller(controller)
        self._shares.follow(controller)

    async def add_kustomizations(self, store: ArtifactStore | None) -> None:
        """The controller of Kustomizations, with the processes that build for it."""
        options, metrics = self._options, self._metrics
        fetcher = await self._stack.enter_async_context(ArtifactFetcher.open(tries=options.fetch_tries))
        pool = WorkerPool(observe=lambda result: metrics.worker_calls.labels(result).inc())
        metrics.follow_pool(await self._stack.enter_async_context(pool))
        setup = wiring.Setup(
            client=self._client,
            metrics=metrics,
            pool=pool,
            trees=Trees(self._scratch, fetcher, store=store),
            announcer=self._announcer(CONTROLLER),
            store=store,
            pins=self._pins,
            backoff=options.backoff,
            jitter=options.jitter,
            fence=self._manager.fence,
            mine=self._shares.mine,
        )
        self._shares.follow(wiring.install(self._manager, setup, options.kustomize))

    def _announcer(self, component: str) -> Announcer:
        recorder = Recorder(self._client, component=component, instance=socket.gethostname())
        self._manager.add_service(f"the events of {component}", recorder.run)
        if not self._options.events:
            return Announcer(recorder)
        sink = EventSink(self._options.events, controller=component)
        self._manager.add_service(f"the posts of {component}", sink.run)
        return Announcer(recorder, sink=sink)


def _lease(client: Client, options: Options) -> Lease:
    settings = options.kustomize
    return replicas.lease(
        client,
        _names(options),
        namespace=settings.runtime_namespace,
        selector=settings.watch_labels,
        terms=options.terms,
        release=options.release,
    )


def _shares(manager: Manager, client: Client, options: Options) -> Shares:
    settings = options.kustomize
    return replicas.shares(
        manager,
        client,
        _names(options),
        namespace=settings.runtime_namespace,
        selector=settings.watch_labels,
        terms=options.terms,
    )


def _names(options: Options) -> list[str]:
    return [NAMES[component] for component in options.components]
