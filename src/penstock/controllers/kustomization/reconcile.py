"""One run of one Kustomization, from the first look to the report.

`Work._pipeline` is the way that every successful run takes. Whatever stops it is a Halt or a StageError, and
`Work._halted` is the one place that turns it into conditions, an event and the time of the next run.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, contextmanager
from typing import TYPE_CHECKING

import structlog

from penstock import health
from penstock.api import InvalidObject, decode
from penstock.api.durations import SECOND, Duration
from penstock.api.inventory import Inventory
from penstock.api.kustomization import Kustomization
from penstock.apply import Owner, PruneFailed, inventory
from penstock.controllers.kustomization import checks, children, events, refusal, source, suspension
from penstock.controllers.kustomization.halt import Halt, Then
from penstock.controllers.kustomization.report import Report
from penstock.controllers.kustomization.settings import FINALIZER, MANAGER, PREFIX
from penstock.errors import PenstockError, StageError
from penstock.health import HealthCheckFailed
from penstock.render import prepare
from penstock.runtime import After, Again, Done, OwnershipLost, StatusWriter, Terminal, finalizers
from penstock.runtime.conditions import HEALTHY

if TYPE_CHECKING:
    from collections.abc import Coroutine, Generator, Sequence

    from penstock.api.inventory import InventoryEntry
    from penstock.api.meta import Artifact
    from penstock.apply import ChangeSet
    from penstock.controllers.kustomization.finalize import Finalizer
    from penstock.controllers.kustomization.parts import Parts
    from penstock.controllers.kustomization.readiness import Readiness
    from penstock.controllers.kustomization.target import Target
    from penstock.health import Expressions
    from penstock.kube import Object
    from penstock.render import Rendered
    from penstock.runtime import Result, Run

PATIENCE = 0.2
"""Seconds that health may take before the status says that it is being waited for."""
UNSEEN = 1.0
"""Seconds that a run may last before its progress is shown: the inventory that is written ahead shows it anyway.

With 0.2 seconds each of 200 Kustomizations, 20 at once on a busy machine, wrote one status more.
"""

log = structlog.get_logger()


class Reconciler:
    """Reconciles Kustomizations; one instance for all of them."""

    def __init__(self, parts: Parts, *, readiness: Readiness, finalizer: Finalizer) -> None:
        self._parts = parts
        self._readiness, self._finalizer = readiness, finalizer

    async def __call__(self, run: Run) -> Result:
        obj = self._parts.current(run.key)
        if obj is None:
            self._readiness.forget(run.key)
            return Done()
        try:
            kustomization = decode(obj, Kustomization)
        except InvalidObject as error:
            return await self._refuse(run, obj, error)
        if obj["metadata"].get("deletionTimestamp"):
            self._readiness.forget(run.key)
            return await self._finalizer.finalize(run, obj)
        if suspension.is_over(kustomization, self._parts.now()):
            client, resource = self._parts.client, self._parts.resource
            obj = await suspension.lift(client, resource, obj, manager=MANAGER, fence=run.fence)
        return await self._reconcile(run, obj)

    async def _refuse(self, run: Run, obj: Object, error: InvalidObject) -> Result:
        """The API server took a spec that makes no sense: say so, wait for another, and delete nothing on a guess."""
        told = f"the object cannot be used: {error}"
        status = {**(obj.get("status") or {}), "conditions": refusal.conditions(obj, told, now=self._parts.now())}
        writer = StatusWriter(self._parts.client, self._parts.resource, obj, manager=MANAGER, fence=run.fence)
        await writer.write(status)
        self._parts.writes.note(writer.object)
        self._parts.announcer.tell(obj, "Warning", refusal.REASON, told)
        raise Terminal(told) from error

    async def _reconcile(self, run: Run, obj: Object) -> Result:
        client, resource = self._parts.client, self._parts.resource
        obj = await finalizers.add(client, resource, obj, FINALIZER, manager=MANAGER, fence=run.fence)
        writer = StatusWriter(client, resource, obj, manager=MANAGER, fence=run.fence)
        work = Work(self._parts, self._readiness, run, obj, writer)
        async with writer.showing(patience=UNSEEN):
            result = await work.outcome()
        self._parts.writes.note(await work.report.close())
        work.tell_success()
        return result


class Work:
    """One run, and its values on their way through the stages."""

    def __init__(self, parts: Parts, readiness: Readiness, run: Run, obj: Object, writer: StatusWriter) -> None:
        self.report = Report(obj, writer, now=parts.now)
        self._parts, self._readiness = parts, readiness
        self._run, self._obj = run, obj
        self._kustomization = self.report.kustomization
        self._spec = self._kustomization.spec
        self._owner = Owner(self._kustomization.metadata.name, self._kustomization.metadata.namespace)
        self._started = asyncio.get_running_loop().time()
        self._suspended = suspension.is_suspended(self._kustomization, parts.now())

    async def outcome(self) -> Result:
        """Work, and say when the next run comes."""
        if self._suspended:
            log.info("Reconciliation is suspended for this object", reason=suspension.reason(self._kustomization))
            return suspension.wake(self._kustomization, self._parts.now())
        try:
            await self._pipeline()
        except OwnershipLost:
            raise
        except Halt as halt:
            return self._halted(halt)
        except StageError as error:
            return self._halted(Halt(error.reason, str(error)))
        except PenstockError as error:
            return self._halted(Halt("ReconciliationFailed", str(error)))
        self.report.succeeded()
        self._tell_pinned()
        return After(self._spec.requeue_interval.seconds, spread=True)

    async def _pipeline(self) -> None:
        parts, kustomization, report = self._parts, self._kustomization, self.report
        expressions = checks.expressions(kustomization)
        checks.require_gates(kustomization, parts.settings.gates)
        report.artifact = await self._find()
        await self._readiness.check(kustomization, self._obj, report.revision)
        report.progress("Fetching manifests")
        async with AsyncExitStack() as opened:
            async with parts.artifacts.tree(report.artifact, self._spec.path, latest=self._latest) as tree:
                report.attempt()
                report.progress("Building manifests")
                target = await opened.enter_async_context(parts.targets.open(kustomization))
                rendered = await parts.builds.render(kustomization, report.artifact.digest, tree)
            report.progress("Detecting drift")
            changes = await self._apply(target, rendered, expressions)
            await self._prune(target, rendered, changes)
            await self._check_health(target, rendered, changes, expressions)
        report.remember(rendered.digest, "ReconciliationSucceeded", self._took())

    async def _find(self) -> Artifact:
        """The artifact to build from: that of the pinned revision, or the newest one of the source."""
        found = source.find(self._kustomization, self._parts.sources, self._parts.settings)
        if not self.report.is_pinned:
            return source.newest(found, self._parts.settings)
        return await self._parts.pinned.find(self._kustomization, found)

    def _latest(self) -> Artifact:
        """What the source has by now; a pinned revision stays what it is."""
        if self.report.is_pinned and self.report.artifact is not None:
            return self.report.artifact
        found = source.find(self._kustomization, self._parts.sources, self._parts.settings)
        return source.newest(found, self._parts.settings)

    async def _apply(self, target: Target, rendered: Rendered, expressions: Expressions) -> ChangeSet:
        """Bring the objects to the cluster; what will be created is in the inventory before it is there."""
        metadata = self._kustomization.metadata
        with self._recorded(rendered, "ReconciliationFailed"):
            objects = prepare(
                rendered.objects,
                name=metadata.name,
                namespace=metadata.namespace,
                common_metadata=self._spec.common_metadata,
            )
            changes = await target.applier.apply(
                objects,
                owner=self._owner,
                force=self._spec.force,
                ignore=self._spec.ignore,
                expressions=expressions,
                expected=self.report.known,
                write_ahead=self._write_ahead,
                guard=self._run.fence.check,
            )
        if changed := changes.changed().lines():
            self._tell("info", "\n".join(changed))
        return changes

    async def _write_ahead(self, entries: Sequence[InventoryEntry]) -> None:
        """A kill after this leaves nothing behind that nobody knows of."""
        known = self.report.status.inventory or Inventory(entries=())
        self.report.keep(inventory.merged(known, entries))
        await self.report.save()

    async def _prune(self, target: Target, rendered: Rendered, changes: ChangeSet) -> None:
        """Delete what the build no longer has; what could not be deleted stays in the inventory."""
        applied = changes.inventory()
        stale = inventory.stale(self.report.status.inventory, applied)
        self.report.keep(applied)
        if not (self._spec.prune and stale):
            return
        with self._recorded(rendered, "PruneFailed"):
            try:
                pruned = await children.prune(
                    target, stale, owner=self._owner, run=self._run, parent=self._kustomization
                )
            except PruneFailed as error:
                survivors = inventory.survivors(stale, error.changes.outcome())
                self.report.keep(inventory.merged(applied, survivors))
                raise
        if lines := pruned.lines():
            self._tell("info", "\n".join(lines))

    async def _check_health(
        self, target: Target, rendered: Rendered, changes: ChangeSet, expressions: Expressions
    ) -> None:
        """Wait until what was applied is healthy; the slot is free for others meanwhile."""
        targets = checks.targets(self._kustomization, changes)
        if not targets:
            self.report.drop(HEALTHY)
            return
        begun = asyncio.get_running_loop().time()
        waiting = health.wait(
            target.client,
            checks.pending(targets, changes),
            timeout=self._spec.health_timeout.seconds,
            fail_fast=not self._parts.settings.gates.disable_fail_fast_behavior,
            expressions=expressions,
            vanishing=health.vanishing(rendered.objects),
        )
        with self._recorded(rendered, "HealthCheckFailed"):
            try:
                await self._until_healthy(waiting)
            except HealthCheckFailed as error:
                self.report.mark(HEALTHY, "False", "HealthCheckFailed", str(error))
                raise Halt("HealthCheckFailed", f"health check failed after {_since(begun)}: {error}") from error
        if self.report.was_healthy and not (self.report.is_new_revision and changes.changed()):
            self.report.stay_healthy()
            return
        passed = f"Health check passed in {_since(begun)}"
        self.report.mark(HEALTHY, "True", "Succeeded", passed)
        self._tell("info", passed)

    async def _until_healthy(self, waiting: Coroutine[object, object, None]) -> None:
        """Wait for health, show that it is waited for if it takes a while, and stop when another run is wanted."""

        async def verdict() -> HealthCheckFailed | None:
            try:
                await waiting
            except HealthCheckFailed as error:
                return error
            return None

        async with self._run.parked("health"), asyncio.TaskGroup() as group:
            healthy = group.create_task(verdict())
            wanted = group.create_task(self._run.wanted.wait())
            await asyncio.wait({healthy}, timeout=PATIENCE)
            if not healthy.done():
                self.report.wait_for_health()
                await self.report.save()
                stops = self._parts.settings.gates.cancel_health_check_on_new_revision
                await asyncio.wait({healthy, wanted} if stops else {healthy}, return_when=asyncio.FIRST_COMPLETED)
            done = healthy.done()
            healthy.cancel()
            wanted.cancel()
        if not done:
            raise self._interrupted()
        if (error := healthy.result()) is not None:
            raise error

    def _interrupted(self) -> Halt:
        cause = self._run.again.cause if self._run.again else None
        told = f"new reconciliation triggered by {cause or self._run.key}"
        return Halt(
            "HealthCheckCanceled",
            told[0].upper() + told[1:],
            then=Then.BACKOFF,
            event=f"Health checks canceled due to {told}",
            severity="info",
        )

    @contextmanager
    def _recorded(self, rendered: Rendered, outcome: str) -> Generator[None]:
        """Have the history show the failure of a stage; a health check that was cut short is none."""
        try:
            yield
        except OwnershipLost:
            raise
        except PenstockError as error:
            if getattr(error, "reason", outcome) != "HealthCheckCanceled":
                self.report.remember(rendered.digest, outcome, self._took())
            if isinstance(error, Halt | StageError):
                raise
            raise Halt(outcome, str(error)) from error

    def _halted(self, halt: Halt) -> Result:
        self.report.halted(halt)
        if halt.event is not None:
            self._tell(halt.severity, halt.event, attempted=halt.attempted)
        retry = self._spec.retry_after
        match halt.then:
            case Then.CHANGE:
                log.error("reconcile stalled", error=str(halt))
                return Done()
            case Then.DEPENDENCY:
                log.info(str(halt))
                return After(self._parts.settings.requeue_dependency.seconds)
            case Then.BACKOFF:
                log.info(str(halt))
                return Again()
            case Then.RETRY:
                told = f"Reconciliation failed after {_since(self._started)}, next try in {retry}"
                log.error(told, error=str(halt))
                return After(retry.seconds)

    def _tell_pinned(self) -> None:
        """Say once that a revision is held from now on, or no longer."""
        if self.report.is_pinned and not (self.report.was_pinned and not self.report.is_new_revision):
            self._tell("info", f"Pinned to revision {self.report.revision}")
        elif self.report.was_pinned and not self.report.is_pinned:
            self._tell("info", f"No longer pinned, applied revision {self.report.revision}")

    def tell_success(self) -> None:
        """The event at the end of a run that left the object ready."""
        if self._suspended or not self.report.is_ready:
            return
        interval = self._spec.requeue_interval
        told = f"Reconciliation finished in {_since(self._started)}, next run in {interval}"
        log.info(told, revision=self.report.revision)
        self._tell("info", told, more={f"{PREFIX}/commit_status": "update"})

    def _tell(self, severity: str, message: str, *, attempted: bool = True, more: dict[str, str] | None = None) -> None:
        revision, origin = (self.report.revision, self.report.origin) if attempted else ("", "")
        self._parts.announcer.tell(
            self._obj,
            "Warning" if severity == "error" else "Normal",
            self.report.reason or severity,
            message,
            events.metadata(revision, origin) | (more or {}),
        )

    def _took(self) -> float:
        return asyncio.get_running_loop().time() - self._started


def _since(begun: float) -> Duration:
    """How long ago that was, as Go prints it."""
    return Duration(max(int((asyncio.get_running_loop().time() - begun) * SECOND), 1))
