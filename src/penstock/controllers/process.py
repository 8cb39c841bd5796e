"""All controllers of one process, put together: what `penstock controller` and `penstock up` run.

Sources and Kustomizations share the connection, the metrics and the artifact store, so that an artifact is unpacked
from the disk and never fetched from ourselves.
"""

from __future__ import annotations

import socket
import uuid
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from penstock.controllers.kustomization import wiring
from penstock.controllers.kustomization.settings import CONTROLLER, Settings
from penstock.controllers.pins import Pins
from penstock.controllers.sources import Setup, source_controller
from penstock.controllers.sources.bucket import Buckets
from penstock.controllers.sources.git_repository import GitRepositories
from penstock.controllers.sources.oci_repository import OCIRepositories
from penstock.kube import Lease, Recorder, WatchCache
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
    from penstock.kube import Client, Object
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
    async with AsyncExitStack() as stack:
        metrics = Metrics()
        client.transport.observe = metrics.count_requests(urlsplit(client.transport.settings.server).netloc)
        manager = Manager(metrics=metrics, lead=_lease(client, options) if options.lead else None)
        manager.serve(health=options.health, metrics=options.metrics)
        manager.add_cache(watch_definitions(client))
        scratch = await stack.enter_async_context(Scratch.below(options.storage / "scratch"))
        pins = Pins(cross_namespace=options.kustomize.cross_namespace_references)
        store = await _sources(manager, stack, client, metrics, scratch, pins, options, local)
        await _kustomizations(manager, stack, client, metrics, scratch, store, pins, options)
        if local is not None:
            manager.add_service("the watch of local directories", local.run)
        yield manager


async def _sources(
    manager: Manager,
    stack: AsyncExitStack,
    client: Client,
    metrics: Metrics,
    scratch: Scratch,
    pins: Pins,
    options: Options,
    local: LocalSources | None,
) -> ArtifactStore | None:
    """The controllers of Git, OCI and buckets, the store behind them, and its server."""
    if "source" not in options.components:
        return None
    store = ArtifactStore(
        options.storage / "artifacts",
        address=options.advertise or "localhost",
        algorithm=options.digest_algorithm,
        retention=options.retention,
    )
    await store.open()
    if options.serve is not None:
        listening = await stack.enter_async_context(ArtifactServer(store).serving(options.serve))
        store.address = advertised(options.advertise, listening=listening)
    setup = Setup(
        client=client,
        store=store,
        scratch=scratch,
        announcer=_announcer(manager, client, SOURCES, options),
        metrics=metrics,
        dependency=options.kustomize.requeue_dependency.seconds,
        concurrency=options.concurrent_sources,
        backoff=options.backoff,
        jitter=options.jitter,
        fence=manager.fence,
        pins=pins,
    )
    git = await stack.enter_async_context(Git.open(options.storage / "mirrors", algorithms=options.ssh))
    for kind in (GitRepositories(git), OCIRepositories(), Buckets()):
        _add(manager, kind, setup, options, local)
    return store


def _add(manager: Manager, kind: SourceKind[Any], setup: Setup, options: Options, local: LocalSources | None) -> None:
    settings = options.kustomize
    cache: WatchCache[Object] = WatchCache(
        setup.client, kind.resource, namespace=settings.watch_namespace, labels=settings.watch_labels or None
    )
    manager.add_cache(cache)
    if local is None:
        manager.add_controller(source_controller(kind, cache, setup))
        return
    controller = source_controller(kind, cache, setup, instead=local.instead)
    local.follow(cache, controller)
    manager.add_controller(controller)


async def _kustomizations(
    manager: Manager,
    stack: AsyncExitStack,
    client: Client,
    metrics: Metrics,
    scratch: Scratch,
    store: ArtifactStore | None,
    pins: Pins,
    options: Options,
) -> None:
    if "kustomize" not in options.components:
        return
    fetcher = await stack.enter_async_context(ArtifactFetcher.open(tries=options.fetch_tries))
    pool = await stack.enter_async_context(WorkerPool(observe=lambda result: metrics.worker_calls.labels(result).inc()))
    metrics.follow_pool(pool)
    setup = wiring.Setup(
        client=client,
        metrics=metrics,
        pool=pool,
        trees=Trees(scratch, fetcher, store=store),
        announcer=_announcer(manager, client, CONTROLLER, options),
        store=store,
        pins=pins,
        backoff=options.backoff,
        jitter=options.jitter,
        fence=manager.fence,
    )
    wiring.install(manager, setup, options.kustomize)


def _announcer(manager: Manager, client: Client, component: str, options: Options) -> Announcer:
    recorder = Recorder(client, component=component, instance=socket.gethostname())
    manager.add_service(f"the events of {component}", recorder.run)
    if not options.events:
        return Announcer(recorder)
    sink = EventSink(options.events, controller=component)
    manager.add_service(f"the posts of {component}", sink.run)
    return Announcer(recorder, sink=sink)


def _lease(client: Client, options: Options) -> Lease:
    """One lease for the process; alone, a component has the one that Flux's controller of that name holds."""
    names = [NAMES[component] for component in options.components]
    name = f"{names[0] if len(names) == 1 else 'penstock'}-leader-election"
    holder = f"{socket.gethostname()}_{uuid.uuid4()}"
    return Lease(client, name=name, namespace=options.kustomize.runtime_namespace, holder=holder)
