"""What a cluster is at, as values: every source and Kustomization with what it says of itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from penstock.controllers.kustomization.source import GROUP
from penstock.kube import ObjectRef
from penstock.runtime.triggers import REQUESTED_AT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from penstock.cli.up.workloads import Workload
    from penstock.kube import Object

_WAITS = frozenset(("DependencyNotReady", "ArtifactFailed"))
"""Reasons that blame somebody else."""
_NOT_FOUND = "not found"
"""In the message of a Kustomization whose source, or its artifact, is not there yet."""
_REPEATED = frozenset(("HealthCheckFailed", "HealthCheckCanceled"))
"""Reasons for which another run would only wait as long again."""


class Phase(StrEnum):
    """How far an object is."""

    READY = "ready"
    WORKING = "working"
    WAITING = "waiting"
    """For a dependency or a source; nothing is wrong with itself."""
    FAILED = "failed"
    SUSPENDED = "suspended"


@dataclass(frozen=True, slots=True)
class Item:
    """One source or Kustomization."""

    ref: ObjectRef
    phase: Phase
    message: str = ""
    reason: str = ""
    revision: str = ""
    """Of the artifact, or the one that was applied last."""
    needs: tuple[ObjectRef, ...] = ()
    """Its source, then what it depends on."""
    objects: int = 0
    path: str = ""

    @property
    def is_source(self) -> bool:
        return self.ref.group == GROUP

    @property
    def depends_on(self) -> tuple[ObjectRef, ...]:
        return self.needs[1:]

    @property
    def name(self) -> str:
        return f"{self.ref.namespace}/{self.ref.name}"

    @property
    def worth_asking(self) -> bool:
        """Whether another run could end otherwise: something that it needs may have come since."""
        return self.phase is Phase.FAILED and not self.is_source and self.reason not in _REPEATED


@dataclass(frozen=True, slots=True)
class State:
    """All of them, sources first, then Kustomizations after what they depend on."""

    items: tuple[Item, ...]
    workloads: tuple[Workload, ...] = ()

    @classmethod
    def of(cls, objects: Iterable[Object], workloads: Iterable[Workload] = ()) -> State:
        found = {item.ref: item for item in sorted(map(_item, objects), key=_order)}
        for item in _in_order(found):
            # In this order the neighbours that count are judged already; it is the order that is shown, too.
            del found[item.ref]
            found[item.ref] = _judged(item, found)
        return cls(tuple(found.values()), tuple(sorted(workloads, key=lambda workload: workload.ref)))

    @property
    def sources(self) -> list[Item]:
        return [item for item in self.items if item.is_source]

    @property
    def kustomizations(self) -> list[Item]:
        return [item for item in self.items if not item.is_source]

    @property
    def ready(self) -> int:
        return sum(item.phase is Phase.READY for item in self.items)

    @property
    def unready(self) -> list[Item]:
        """What went wrong before what only waits for it."""
        late = [item for item in self.items if item.phase not in (Phase.READY, Phase.SUSPENDED)]
        return sorted(late, key=lambda item: item.phase is not Phase.FAILED)

    @property
    def counted(self) -> str:
        suspended = sum(item.phase is Phase.SUSPENDED for item in self.items)
        told = f"{self.ready}/{len(self.items) - suspended} Ready"
        return f"{told}, {suspended} suspended" if suspended else told

    @property
    def is_settled(self) -> bool:
        """Whether nothing will change by itself: what is not ready has failed, or waits for what has."""
        return bool(self.items) and not any(item.phase is Phase.WORKING for item in self.items)


def _item(obj: Object) -> Item:
    spec: dict[str, Any] = obj.get("spec") or {}
    status: dict[str, Any] = obj.get("status") or {}
    ref = ObjectRef.of(obj)
    phase, condition = _phase(obj, spec, status)
    if ref.group == GROUP:
        revision = str((status.get("artifact") or {}).get("revision", ""))
        return Item(ref, phase, condition.get("message", ""), condition.get("reason", ""), revision)
    return Item(
        ref,
        phase,
        condition.get("message", ""),
        condition.get("reason", ""),
        revision=str(status.get("lastAppliedRevision", "")),
        needs=_needs(ref, spec),
        objects=len((status.get("inventory") or {}).get("entries") or ()),
        path=str(spec.get("path") or "./"),
    )


def _needs(ref: ObjectRef, spec: Mapping[str, Any]) -> tuple[ObjectRef, ...]:
    named: dict[str, Any] = spec.get("sourceRef") or {}
    source = ObjectRef(GROUP, named.get("kind", ""), named.get("namespace") or ref.namespace, named.get("name", ""))
    others = [
        ObjectRef(ref.group, ref.kind, one.get("namespace") or ref.namespace, one["name"])
        for one in spec.get("dependsOn") or ()
    ]
    return (source, *others)


def _phase(obj: Object, spec: Mapping[str, Any], status: Mapping[str, Any]) -> tuple[Phase, dict[str, Any]]:
    """How far it is, and the condition that says so."""
    conditions = {one["type"]: one for one in status.get("conditions") or ()}
    ready: dict[str, Any] = conditions.get("Ready") or {}
    if spec.get("suspend"):
        return Phase.SUSPENDED, ready
    metadata = obj["metadata"]
    wish = (metadata.get("annotations") or {}).get(REQUESTED_AT)
    seen = ready.get("observedGeneration") == metadata.get("generation")
    if (
        not seen
        or (wish is not None and wish != status.get("lastHandledReconcileAt"))
        or metadata.get("deletionTimestamp")
    ):
        return Phase.WORKING, conditions.get("Reconciling") or ready
    match ready.get("status"):
        case "True":
            return Phase.READY, ready
        case "False" if ready.get("reason") in _WAITS:
            return Phase.WAITING, ready
        case "False":
            return Phase.FAILED, ready
        case _:
            return Phase.WORKING, conditions.get("Reconciling") or ready


def _judged(item: Item, found: Mapping[ObjectRef, Item]) -> Item:
    """What can only be told from its neighbours: an old revision is no end, and neither is a wait that is over."""
    if item.is_source:
        return item
    source = found.get(item.needs[0])
    if item.phase is Phase.READY and source is not None and source.revision not in ("", item.revision):
        return replace(item, phase=Phase.WORKING)
    if item.phase is not Phase.WAITING:
        return item
    if item.reason == "ArtifactFailed" and source is None:
        return replace(item, phase=Phase.FAILED)
    blamed = item.needs if item.reason == "DependencyNotReady" else item.needs[:1]
    blocked = any(one not in found or found[one].phase is not Phase.READY for one in blamed)
    if blocked:
        return item
    # A wait that is over is about to end; an artifact that cannot be unpacked has nobody else to blame.
    own = item.reason == "ArtifactFailed" and _NOT_FOUND not in item.message
    return replace(item, phase=Phase.FAILED if own else Phase.WORKING)


def _order(item: Item) -> tuple[bool, str, str, str]:
    return (not item.is_source, item.ref.namespace, item.ref.kind, item.ref.name)


def _in_order(found: Mapping[ObjectRef, Item]) -> list[Item]:
    """Each after what it needs; those in a circle where they come."""
    done: dict[ObjectRef, Item] = {}
    for start in found.values():
        stack = [start]
        met: set[ObjectRef] = set()
        while stack:
            item = stack[-1]
            missing = [found[one] for one in item.needs if one in found and one not in done and one not in met]
            met.add(item.ref)
            if missing:
                stack.append(missing[0])
            else:
                done.setdefault(item.ref, stack.pop())
    return list(done.values())
