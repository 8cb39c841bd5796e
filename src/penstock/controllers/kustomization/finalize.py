"""The end of a Kustomization: what becomes of its objects, and when it may go."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from penstock.api import decode
from penstock.api.kustomization import Kustomization
from penstock.apply import Owner, inventory, until_terminated
from penstock.controllers.kustomization import children, events
from penstock.controllers.kustomization.accounts import SERVICE_ACCOUNTS
from penstock.controllers.kustomization.settings import FINALIZER, MANAGER
from penstock.errors import PenstockError
from penstock.kube.errors import NotFound
from penstock.runtime import Done, finalizers
from penstock.runtime.conditions import READY

if TYPE_CHECKING:
    from penstock.apply import ChangeSet
    from penstock.controllers.kustomization.parts import Parts
    from penstock.controllers.kustomization.target import Target
    from penstock.kube import Object
    from penstock.runtime import Result, Run

log = structlog.get_logger()


class Finalizer:
    """Deletes what a Kustomization applied, if its policy says so, and lets it go."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def finalize(self, run: Run, obj: Object) -> Result:
        """Clean up after an object that is being deleted. An error leaves it there, and is tried again."""
        if FINALIZER not in (obj["metadata"].get("finalizers") or ()):
            return Done()
        kustomization = decode(obj, Kustomization)
        if self._deletes(kustomization):
            await self._delete_objects(run, obj, kustomization)
        await finalizers.remove(
            self._parts.client, self._parts.resource, obj, FINALIZER, manager=MANAGER, fence=run.fence
        )
        return Done()

    @staticmethod
    def _deletes(kustomization: Kustomization) -> bool:
        spec, known = kustomization.spec, kustomization.status.inventory
        if spec.suspend or known is None or not known.entries:
            return False
        match spec.deletion_policy:
            case "Orphan":
                return False
            case "MirrorPrune":
                return spec.prune
            case _:
                return True

    async def _delete_objects(self, run: Run, obj: Object, kustomization: Kustomization) -> None:
        async with self._parts.targets.open(kustomization) as target:
            await self._delete_from(target, run, obj, kustomization)

    async def _delete_from(self, target: Target, run: Run, obj: Object, kustomization: Kustomization) -> None:
        known = inventory.readable(kustomization.status.inventory)
        entries = known.entries if known else ()
        if not await self._account_exists(target, kustomization):
            names = "\n".join(str(entry.identity.id) for entry in entries)
            self._tell(obj, kustomization, "error", f"unable to prune objects: \n{names}")
            return
        owner = Owner(kustomization.metadata.name, kustomization.metadata.namespace)
        try:
            changes = await children.prune(target, entries, owner=owner, run=run, parent=kustomization)
        except PenstockError as error:
            self._tell(obj, kustomization, "error", "pruning for deleted resource failed")
            raise PenstockError(f"pruning for deleted resource failed: {error}") from error
        if lines := changes.lines():
            self._tell(obj, kustomization, "info", "\n".join(lines))
        if kustomization.spec.deletion_policy == "WaitForTermination":
            await self._wait_gone(obj, kustomization, target, changes)

    async def _wait_gone(self, obj: Object, kustomization: Kustomization, target: Target, changes: ChangeSet) -> None:
        try:
            await until_terminated(target.client, changes, timeout=kustomization.spec.health_timeout.seconds)
        except PenstockError as error:
            told = "failed to wait for resources termination"
            log.error(told, error=str(error))  # noqa: TRY400 - expected, and told in one sentence
            self._tell(obj, kustomization, "error", told)

    async def _account_exists(self, target: Target, kustomization: Kustomization) -> bool:
        """Whether the account to act as is still there, on the cluster where the objects are."""
        if not target.account:
            return True
        try:
            await target.cluster.get(SERVICE_ACCOUNTS, target.account, kustomization.metadata.namespace)
        except NotFound:
            return False
        return True

    def _tell(self, obj: Object, kustomization: Kustomization, severity: str, message: str) -> None:
        status = kustomization.status
        ready = status.condition(READY)
        self._parts.announcer.tell(
            obj,
            "Warning" if severity == "error" else "Normal",
            ready.reason if ready else severity,
            message,
            events.metadata(status.last_applied_revision, status.last_applied_origin_revision),
        )
