"""One run of a source: finalizer, suspension, pipeline, and what its end means for status, events and the next run."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Generic

import structlog

from penstock.api import InvalidObject
from penstock.controllers.sources.draft import Draft
from penstock.controllers.sources.kind import W
from penstock.controllers.sources.pipeline import Steps
from penstock.controllers.sources.ready import FETCH_FAILED, OWNED, VERIFIED
from penstock.controllers.sources.surroundings import Surroundings
from penstock.kube.resources import ObjectRef
from penstock.runtime import finalizers
from penstock.runtime.conditions import READY, RECONCILING, find
from penstock.runtime.controller import After, Done, Result, Terminal
from penstock.runtime.ownwrites import OwnWrites
from penstock.runtime.redaction import redact_text
from penstock.runtime.status import PATIENCE, StatusWriter
from penstock.runtime.triggers import REQUESTED_AT
from penstock.sources import SourceError, Stalled, Waiting
from penstock.sources.store import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.controllers.sources.pipeline import Outcome, Pipeline
    from penstock.kube.cache import WatchCache
    from penstock.kube.client import Client
    from penstock.kube.resources import Object
    from penstock.runtime.announcing import Announcer
    from penstock.runtime.metrics import Metrics
    from penstock.runtime.run import Run

FINALIZER = "finalizers.fluxcd.io"
MANAGER = "gotk-source-controller"
"""Field manager of everything that is written here, and the name under which events are reported."""
DEPENDENCY = 30.0
"""Seconds between two looks at something that is not there yet."""
_METADATA = "source.toolkit.fluxcd.io/"

log = structlog.get_logger()


class SourceReconciler(Generic[W]):
    """Reconciles the objects of one kind of source."""

    def __init__(
        self,
        pipeline: Pipeline[W],
        *,
        client: Client,
        cache: WatchCache[Object],
        announcer: Announcer,
        metrics: Metrics,
        dependency: float = DEPENDENCY,
        patience: float = PATIENCE,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`dependency` is how many seconds a source waits before it looks again for what it depends on, `patience` how
        many a run may last before anybody sees what it is doing.
        """
        self._pipeline = pipeline
        self._kind, self._store = pipeline.kind, pipeline.store
        self._client, self._cache = client, cache
        self._announcer, self._metrics = announcer, metrics
        self._dependency, self._patience, self._now = dependency, patience, now
        self._writes = OwnWrites()

    async def __call__(self, run: Run) -> Result:
        cached = self._cache.get(run.key.name, run.key.namespace)
        if cached is None:
            return Done()
        obj = self._writes.newest(cached)
        if obj["metadata"].get("deletionTimestamp"):
            return await self._delete(run, obj)
        try:
            source, base = self._decoded(obj)
        except InvalidObject as error:
            return await self._refuse(run, obj, error)
        self._metrics.object_suspended.labels(*_labels(run.key)).set(source.spec.suspend)
        if source.spec.suspend:
            log.info("reconciliation is suspended for this object")
            return Done()
        if FINALIZER not in (obj["metadata"].get("finalizers") or ()):
            obj = await finalizers.add(
                self._client, self._kind.resource, obj, FINALIZER, manager=MANAGER, fence=run.fence
            )
            self._writes.note(obj)
            source, base = self._decoded(obj)  # somebody may have changed it since
        return await self._reconcile(run, obj, source, base)

    def _decoded(self, obj: Object) -> tuple[W, Object]:
        """The object as a Struct, and as the raw object that the run starts from."""
        try:
            return self._kind.decode(obj), obj
        except InvalidObject as error:
            if not error.field.startswith("status"):
                raise
        # A status that nobody can read is worth nothing: it is built anew.
        blank = {**obj, "status": {}}
        return self._kind.decode(blank), blank

    async def _refuse(self, run: Run, obj: Object, error: InvalidObject) -> Result:
        """The API server took a spec that makes no sense: say so, and wait for another."""
        draft = Draft({**obj, "status": {**(obj.get("status") or {}), "conditions": []}}, now=self._now())
        self._conclude(draft, Stalled(str(error), reason="Failed"))
        self._announcer.tell(obj, "Warning", "Failed", str(error))
        status = StatusWriter(self._client, self._kind.resource, obj, manager=MANAGER, fence=run.fence, owned=OWNED)
        await status.write(draft.status)
        self._writes.note(status.object)
        raise Terminal(str(error)) from error

    async def _reconcile(self, run: Run, obj: Object, source: W, base: Object) -> Result:
        draft = Draft(base, now=self._now())
        status = StatusWriter(self._client, self._kind.resource, obj, manager=MANAGER, fence=run.fence, owned=OWNED)
        around = Surroundings(self._client, run.key.namespace, self._store)
        steps = Steps(self._pipeline, run, obj, source, draft, around=around, show=lambda: status.show(draft.status))
        self._begin(obj, source, draft, status)
        outcome: Outcome | None = None
        failure: SourceError | None = None
        async with status.showing(patience=self._patience):
            try:
                outcome = await steps.reconcile()
            except SourceError as error:
                failure = error
        wish = (obj["metadata"].get("annotations") or {}).get(REQUESTED_AT)
        if wish is not None:
            draft.set({"lastHandledReconcileAt": wish})
        self._conclude(draft, failure)
        run.fence.check()
        for severity, reason, message in steps.notes:
            self._announcer.tell(obj, severity, reason, message)
        if failure is not None:
            severity = "Normal" if isinstance(failure, Waiting) else "Warning"
            self._announcer.tell(obj, severity, failure.reason, redact_text(str(failure)))
        if outcome is not None:
            self._tell(obj, source, draft, outcome)
        await status.write(draft.status)
        self._writes.note(status.object)
        self._measure(run.key, draft)
        return self._result(source, failure)

    def _begin(self, obj: Object, source: W, draft: Draft, status: StatusWriter) -> None:
        """Say that work begins; the world sees it only when somebody changed the object or asked for a run."""
        draft.drop("StorageOperationFailed")
        seen, now = source.status.observed_generation, draft.generation
        wish = (obj["metadata"].get("annotations") or {}).get(REQUESTED_AT) or ""
        if seen != now:
            draft.progress(f"processing object: new generation {seen} -> {now}")
        else:
            draft.progress("reconciliation in progress")
        if seen != now or wish != source.status.last_handled_reconcile_at:
            status.show(draft.status)

    def _conclude(self, draft: Draft, failure: SourceError | None) -> None:
        """What the end of the run means for the conditions."""
        told = redact_text(str(failure))
        if failure is not None:
            verification = failure.condition == VERIFIED
            draft.mark(failure.condition, "False" if verification else "True", failure.reason, told)
            if verification:  # what could not be trusted was fetched, after all
                draft.drop(FETCH_FAILED)
        match failure:
            case None:
                draft.drop(RECONCILING)
                draft.observe()
            case Stalled():
                draft.stall(failure.reason, told)
                draft.observe()
            case _:
                draft.retry()
        draft.settle()

    def _result(self, source: W, failure: SourceError | None) -> Result:
        match failure:
            case None:
                return After(source.spec.interval.seconds, spread=True)
            case Waiting():
                return After(self._dependency)
            case Stalled():
                raise Terminal(str(failure)) from failure
            case _:
                raise failure

    def _tell(self, obj: Object, source: W, draft: Draft, outcome: Outcome) -> None:
        """Tell of a new artifact, or that a failure is over."""
        artifact, before = outcome.artifact, source.status.artifact
        metadata = {f"{_METADATA}revision": artifact.revision, f"{_METADATA}digest": artifact.digest}
        message = self._kind.news(source, artifact.revision, outcome.fetched)
        if before is None or before.digest != artifact.digest:
            self._announcer.tell(obj, "Normal", "NewArtifact", message, metadata)
            log.info("stored artifact", revision=artifact.revision, size=artifact.size)
        elif draft.recovered:
            self._announcer.tell(obj, "Normal", "Succeeded", message, metadata)

    async def _delete(self, run: Run, obj: Object) -> Result:
        """Remove the files, then let the object go."""
        if FINALIZER not in (obj["metadata"].get("finalizers") or ()):
            return Done()
        try:
            await self._store.remove(ObjectRef.of(obj))
        except StoreError as error:
            self._announcer.tell(obj, "Warning", "GarbageCollectionFailed", str(error))
            raise
        told = "garbage collected artifacts for deleted resource"
        self._announcer.tell(obj, "Trace", "GarbageCollectionSucceeded", told)
        await finalizers.remove(self._client, self._kind.resource, obj, FINALIZER, manager=MANAGER, fence=run.fence)
        return Done()

    def _measure(self, key: ObjectRef, draft: Draft) -> None:
        now = find(draft.conditions, READY)
        for truth in ("True", "False", "Unknown"):
            gauge = self._metrics.object_condition.labels(*_labels(key), READY, truth)
            gauge.set(now is not None and now.status == truth)


def _labels(key: ObjectRef) -> tuple[str, str, str]:
    return key.kind, key.name, key.namespace
