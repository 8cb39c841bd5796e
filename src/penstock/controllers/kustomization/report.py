"""What a run tells: the conditions and the status of one Kustomization, from the first look to the closing write."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from penstock.api import decode, encode
from penstock.api.kustomization import Kustomization
from penstock.apply import inventory
from penstock.controllers.kustomization import history, pinning
from penstock.kube import ObjectRef
from penstock.runtime import conditions
from penstock.runtime.conditions import HEALTHY, READY, RECONCILING, STALLED
from penstock.runtime.triggers import REQUESTED_AT

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.api.inventory import Inventory
    from penstock.api.meta import Artifact
    from penstock.controllers.kustomization.halt import Halt
    from penstock.kube import Object
    from penstock.runtime.conditions import Truth
    from penstock.runtime.status import StatusWriter

ORIGIN = "org.opencontainers.image.revision"


class Report:
    """The status that a run writes, kept as a value and sent when it matters.

    Progress is shown only by runs that last; the closing write is always there.
    """

    def __init__(
        self,
        obj: Object,
        writer: StatusWriter,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.kustomization = decode(obj, Kustomization)
        status = self.kustomization.status
        self.status = msgspec.structs.replace(status, inventory=inventory.readable(status.inventory))
        self.artifact: Artifact | None = None
        self._writer = writer
        self._now = now

    @property
    def generation(self) -> int:
        return self.kustomization.metadata.generation

    @property
    def reason(self) -> str:
        """The reason of Ready, which events carry too."""
        ready = self.status.condition(READY)
        return ready.reason if ready else ""

    @property
    def is_ready(self) -> bool:
        return conditions.is_ready(self.status.conditions)

    @property
    def was_healthy(self) -> bool:
        healthy = self.kustomization.status.condition(HEALTHY)
        return healthy is not None and healthy.status == "True"

    @property
    def is_pinned(self) -> bool:
        return bool(pinning.revision(self.kustomization))

    @property
    def was_pinned(self) -> bool:
        """Whether the last run that went well held on to a revision."""
        ready = self.kustomization.status.condition(READY)
        return ready is not None and ready.message.endswith(pinning.MARK)

    @property
    def is_new_revision(self) -> bool:
        return self.kustomization.status.last_applied_revision != self.revision

    @property
    def revision(self) -> str:
        return self.artifact.revision if self.artifact else ""

    @property
    def origin(self) -> str:
        return self.artifact.metadata.get(ORIGIN, "") if self.artifact else ""

    @property
    def known(self) -> frozenset[ObjectRef]:
        """The objects that are ours already."""
        return frozenset(ObjectRef(*identity) for identity in inventory.identities(self.status.inventory))

    def mark(self, name: str, status: Truth, reason: str, message: str) -> None:
        self._set(
            conditions=conditions.mark(
                self.status.conditions,
                name,
                status,
                reason=reason,
                message=message,
                generation=self.generation,
                now=self._now(),
            )
        )

    def drop(self, *names: str) -> None:
        self._set(conditions=conditions.drop(self.status.conditions, *names))

    def progress(self, doing: str) -> None:
        """Say what the run is at; it is seen when the run lasts."""
        timeout = self.kustomization.spec.health_timeout
        self.mark(READY, "Unknown", "Progressing", "Reconciliation in progress")
        self.mark(
            RECONCILING, "True", "Progressing", f"{doing} for revision {self.revision} with a timeout of {timeout}"
        )
        self._writer.show(self._encoded())

    def wait_for_health(self) -> None:
        """The objects are applied, and not healthy yet."""
        self.progress("Running health checks")
        waiting = self.status.condition(RECONCILING)
        self.mark(HEALTHY, "Unknown", "Progressing", waiting.message if waiting else "")

    def stay_healthy(self) -> None:
        """Nothing has changed for health: the condition stays as it was, and is not written again and again."""
        before = self.kustomization.status.condition(HEALTHY)
        if before is not None:
            self.mark(HEALTHY, "True", before.reason, before.message)

    def attempt(self) -> None:
        self._set(last_attempted_revision=self.revision)

    def keep(self, objects: Inventory | None) -> None:
        """The objects that are ours from now on."""
        self._set(inventory=objects)

    def halted(self, halt: Halt) -> None:
        """The run ends here."""
        self.mark(READY, "False", halt.reason, str(halt))
        if halt.stalled:
            self.mark(STALLED, "True", halt.reason, str(halt))
        if halt.observed:
            self._set(observed_generation=self.generation)

    def succeeded(self) -> None:
        pinned = pinning.MARK if self.is_pinned else ""
        self.mark(READY, "True", "ReconciliationSucceeded", f"Applied revision: {self.revision}{pinned}")
        self._set(last_applied_revision=self.revision, last_applied_origin_revision=self.origin)

    def remember(self, digest: str, outcome: str, took: float) -> None:
        """Record an outcome of the content that was built."""
        self._set(
            history=history.remember(
                self.status.history,
                digest=digest,
                outcome=outcome,
                now=self._now(),
                took=took,
                revision=self.revision,
                origin=self.origin,
            )
        )

    async def save(self) -> None:
        """Write the status as it is now."""
        await self._writer.write(self._encoded())

    async def close(self) -> Object:
        """The last write of a run, whatever came of it; the answer is the object as it is then."""
        wish = self.kustomization.metadata.annotations.get(REQUESTED_AT)
        if wish is not None:
            self._set(last_handled_reconcile_at=wish)
        ready, reconciling = self.status.condition(READY), self.status.condition(RECONCILING)
        if ready is not None and ready.status == "True":
            self.drop(RECONCILING)
            self._set(observed_generation=self.generation)
        elif ready is not None and ready.status == "False" and reconciling is not None:
            self.mark(RECONCILING, "True", "ProgressingWithRetry", reconciling.message)
        await self.save()
        return self._writer.object

    def _set(self, **changes: Any) -> None:
        self.status = msgspec.structs.replace(self.status, **changes)

    def _encoded(self) -> Object:
        encoded: Object = encode(self.status)
        return encoded
