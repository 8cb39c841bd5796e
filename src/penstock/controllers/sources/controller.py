"""A controller for one kind of source, put together."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from penstock.controllers.pins import Pins
from penstock.controllers.sources.pipeline import Pipeline
from penstock.controllers.sources.reconciler import DEPENDENCY, SourceReconciler
from penstock.runtime.controller import Controller
from penstock.runtime.status import PATIENCE
from penstock.runtime.triggers import spec_changed, urgency

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.controllers.sources.kind import SourceKind, W
    from penstock.kube.cache import WatchCache
    from penstock.kube.client import Client
    from penstock.kube.resources import Object, ObjectRef
    from penstock.runtime.announcing import Announcer
    from penstock.runtime.delays import Backoff, Jitter
    from penstock.runtime.fence import Fence
    from penstock.runtime.metrics import Metrics
    from penstock.sources import Remote
    from penstock.sources.store import ArtifactStore
    from penstock.sources.store.scratch import Scratch

CONCURRENCY = 8
"""Runs that work at once. One that only waits for its remote does not count."""


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What the controllers of all kinds of sources share in one process."""

    client: Client
    store: ArtifactStore
    scratch: Scratch
    announcer: Announcer
    metrics: Metrics
    dependency: float = DEPENDENCY
    """Seconds before a source looks again for what it depends on (`--requeue-dependency`)."""
    patience: float = PATIENCE
    """Seconds that a run may last before its status says that it works."""
    concurrency: int = CONCURRENCY
    backoff: Backoff | None = None
    jitter: Jitter | None = None
    fence: Fence | None = None
    mine: Callable[[ObjectRef], bool] = lambda _: True
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))
    pins: Pins = field(default_factory=Pins)
    """What Kustomizations of this process hold on to."""


def source_controller(
    kind: SourceKind[W],
    cache: WatchCache[Object],
    setup: Setup,
    *,
    instead: Callable[[Object], Remote | None] = lambda _: None,
) -> Controller:
    """A controller that runs at once when the spec changes or somebody asks, and at every interval.

    `instead` may give a place that stands in for the one in the spec. Nothing runs before the controller does.
    """
    reconciler = SourceReconciler(
        Pipeline(kind, setup.store, setup.scratch, instead, setup.pins),
        client=setup.client,
        cache=cache,
        announcer=setup.announcer,
        metrics=setup.metrics,
        dependency=setup.dependency,
        patience=setup.patience,
        now=setup.now,
    )
    controller = Controller(
        kind.resource.group_kind,
        reconciler,
        metrics=setup.metrics,
        concurrency=setup.concurrency,
        backoff=setup.backoff,
        jitter=setup.jitter,
        fence=setup.fence,
        mine=setup.mine,
    )
    controller.reconciles(cache, when=spec_changed, priority=urgency)

    def pinned(source: ObjectRef, holder: ObjectRef) -> None:
        if source.kind == kind.name:
            controller.add(source, cause=holder)

    setup.pins.when_pinned(pinned)
    return controller
