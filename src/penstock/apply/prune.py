"""Deletes what an inventory has and nobody wants any more.

Only what still carries the labels of its owner is touched, and only the very object that was looked at: a delete names
its uid. What could not be read is not gone.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from penstock.api.inventory import InvalidInventoryId
from penstock.apply.changes import Change, ChangeSet, PruneFailed, TerminationTimeout
from penstock.apply.gone import until_gone
from penstock.apply.order import apply_order, rank
from penstock.apply.parallel import each
from penstock.apply.vanished import Kinds
from penstock.kube.errors import Conflict, KubeError, NotFound, NotServed
from penstock.kube.resources import GroupKind, ObjectRef

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from penstock.api.inventory import InventoryEntry
    from penstock.apply.policy import Owner
    from penstock.kube import Client, Object, Resource

DATA_LOSS = "penstock.dev/allow-crd-data-loss"
"""The annotation with which a CRD may be pruned although others have objects of its kind."""


@dataclass(frozen=True, slots=True)
class _Target:
    ref: ObjectRef
    version: str

    @property
    def api_version(self) -> str:
        return f"{self.ref.group}/{self.version}" if self.ref.group else self.version


@dataclass(frozen=True, slots=True)
class _Outcome:
    change: Change
    problem: str = ""
    warning: str = ""


async def prune(
    client: Client,
    entries: Iterable[InventoryEntry],
    *,
    owner: Owner,
    concurrency: int = 16,
    dry_run: bool = False,
    guard: Callable[[], None] = lambda: None,
) -> ChangeSet:
    """Delete the objects in reverse order of their kinds, all of a kind at once.

    PruneFailed when some may still be there; its `changes` have what became of each. "Deleted" means that the server
    has accepted it: `until_terminated` waits for the rest. `guard` is called before every delete, and may raise.
    """
    targets, problems = _read(entries)
    pruner = _Pruner(client, owner, {target.ref for target in targets}, dry_run=dry_run, guard=guard)
    outcomes: list[_Outcome] = []
    for _, ranked in groupby(targets, key=lambda target: rank(target.ref.kind)):
        outcomes += await each(list(ranked), pruner.prune, at_once=concurrency)
    warnings = tuple(one.warning for one in outcomes if one.warning)
    changes = ChangeSet(tuple(one.change for one in outcomes), warnings)
    problems += [one.problem for one in outcomes if one.problem]
    if problems:
        raise PruneFailed(problems, changes)
    return changes


async def until_terminated(client: Client, changes: ChangeSet, *, timeout: float) -> None:
    """Wait until everything that was deleted is gone; TerminationTimeout names what is not after so many seconds."""
    wanted = {one.ref: one.uid for one in changes if one.action == "deleted" and one.uid}
    if not wanted:
        return
    if remaining := await until_gone(client, wanted, timeout=timeout):
        raise TerminationTimeout("; ".join(f"{ref} termination timeout" for ref in remaining))


def _read(entries: Iterable[InventoryEntry]) -> tuple[list[_Target], list[str]]:
    """The objects that the entries name, last kinds first. An entry that names none is told, and deletes nothing."""
    targets: dict[ObjectRef, _Target] = {}
    problems: list[str] = []
    for entry in entries:
        try:
            ref = ObjectRef(*entry.identity)
        except InvalidInventoryId as error:
            problems.append(str(error))
        else:
            targets[ref] = _Target(ref, entry.v)
    return sorted(targets.values(), key=lambda target: apply_order(target.ref), reverse=True), problems


class _Pruner:
    def __init__(
        self, client: Client, owner: Owner, doomed: set[ObjectRef], *, dry_run: bool, guard: Callable[[], None]
    ) -> None:
        self._client = client
        self._dry_run = dry_run
        self._owner = owner
        self._doomed = doomed
        self._guard = guard
        self._kinds = Kinds(client)

    async def prune(self, target: _Target, *, again: bool = True) -> _Outcome:
        try:
            resource = await self._kinds.find(target.ref.group_kind, target.api_version)
            if resource is None:
                return self._outcome(target, deleted=True)
            live = await self._client.get(resource, target.ref.name, target.ref.namespace or None, metadata_only=True)
        except NotServed as error:
            return self._unknown(target, "query", error)
        except NotFound:
            return self._outcome(target, deleted=True)
        except KubeError as error:
            return self._unknown(target, "query", error)
        uid = str((live.get("metadata") or {}).get("uid") or "")
        if not self._owner.owns(live) or self._owner.keeps(live):
            return self._outcome(target, deleted=False, uid=uid)
        try:
            if warning := await self._guarded(target, live):
                return _Outcome(Change(target.ref, "skipped", target.version, uid), warning=warning)
            self._guard()
            await self._client.delete(
                resource,
                target.ref.name,
                target.ref.namespace or None,
                propagation="Background",
                uid=uid,
                dry_run=self._dry_run,
            )
        except NotServed as error:
            return self._unknown(target, "delete", error)
        except NotFound:
            pass
        except Conflict as error:
            # Another object has taken the name since we looked.
            return await self.prune(target, again=False) if again else self._unknown(target, "delete", error)
        except KubeError as error:
            return self._unknown(target, "delete", error)
        return self._outcome(target, deleted=True, uid=uid)

    async def _guarded(self, target: _Target, live: Object) -> str:
        """Why a CRD has to stay: its deletion would take objects along that nobody asked to delete."""
        if target.ref.group_kind != GroupKind("apiextensions.k8s.io", "CustomResourceDefinition"):
            return ""
        annotations = (live.get("metadata") or {}).get("annotations") or {}
        if annotations.get(DATA_LOSS) == "true":
            return ""
        plural, _, group = target.ref.name.partition(".")
        served = [one.resource for one in await self._client.discovery.kinds() if one.resource.group == group]
        resource = next((one for one in served if one.plural == plural), None)
        if resource is None:
            return ""
        listing = await self._client.list(resource, metadata_only=True)
        others = [one for one in listing.items if self._stays(one, resource)]
        if not others:
            return ""
        metadata = others[0]["metadata"]
        first = ObjectRef(resource.group, resource.kind, metadata.get("namespace") or "", metadata["name"])
        return (
            f"{target.ref} is kept: {len(others)} objects of its kind would be lost with it, {first} for one; "
            f"annotate it with {DATA_LOSS}=true to delete them all"
        )

    def _stays(self, instance: Object, resource: Resource) -> bool:
        metadata = instance.get("metadata") or {}
        ref = ObjectRef(resource.group, resource.kind, metadata.get("namespace") or "", metadata.get("name") or "")
        return ref not in self._doomed and not metadata.get("deletionTimestamp")

    def _outcome(self, target: _Target, *, deleted: bool, uid: str = "") -> _Outcome:
        return _Outcome(Change(target.ref, "deleted" if deleted else "skipped", target.version, uid))

    def _unknown(self, target: _Target, verb: str, error: KubeError) -> _Outcome:
        return _Outcome(Change(target.ref, "unknown", target.version), f"{target.ref} {verb} failed: {error}")
