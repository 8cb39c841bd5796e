"""One object on its way into the cluster, and what the validation found out about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from penstock.apply.order import Stage, apply_order, stage
from penstock.kube.resources import ObjectRef, version_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from penstock.apply.changes import Change
    from penstock.health import HealthStatus
    from penstock.kube import GroupKind, Object, Resource
    from penstock.kube.errors import KubeError


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of an object of which an apply would change nothing."""

    uid: str = ""
    health: HealthStatus | None = None


class Ledger(Protocol):
    """A memory of what was applied, which can spare requests. It must be sure: what it settles is not looked at."""

    def settled(self, ref: ObjectRef, desired: Object) -> Known | None:
        """Proof that an apply would change nothing; None when there is none."""

    def applied(self, ref: ObjectRef, desired: Object, answer: Object) -> None:
        """What the server answered to an apply. An answer to a dry-run never comes here."""


@dataclass(frozen=True, slots=True)
class Settled:
    """There is nothing to write."""

    change: Change


@dataclass(frozen=True, slots=True)
class Write:
    """The object is to be applied."""

    action: Literal["created", "configured"]
    payload: Object = field(repr=False)
    live: Object | None = field(default=None, repr=False)
    """What is there now, when something of it has to be taken over first."""
    replaces: str = ""
    """The uid of the object that has to go first."""
    rival: str = ""


@dataclass(frozen=True, slots=True)
class Refused:
    """The server does not accept the object as things are now."""

    error: KubeError
    problem: str
    live: Object | None = field(default=None, repr=False)


@dataclass(slots=True)
class Step:
    """One object of the set."""

    desired: Object = field(repr=False)
    ref: ObjectRef
    stage: Stage
    resource: Resource | None = None
    outcome: Settled | Write | Refused | None = None

    @property
    def version(self) -> str:
        return version_of(str(self.desired.get("apiVersion") or ""))


def steps(objects: Iterable[Object], custom: Collection[GroupKind] = ()) -> list[Step]:
    """The objects in the order of their stages and kinds. Of two with one identity the later one counts."""
    found: dict[ObjectRef, Step] = {}
    for obj in objects:
        ref = ObjectRef.of(obj)
        found[ref] = Step(obj, ref, stage(ref, custom))
    return sorted(found.values(), key=lambda step: (step.stage, apply_order(step.ref)))
