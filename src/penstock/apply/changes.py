"""What an apply or a prune did, object by object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from penstock.api.inventory import Identity, Inventory, InventoryEntry
from penstock.errors import StageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from penstock.apply.inventory import Pruned
    from penstock.health import HealthStatus
    from penstock.kube import ObjectRef

Action = Literal["created", "configured", "unchanged", "deleted", "skipped", "unknown"]

_CHANGES = frozenset({"created", "configured", "deleted"})


@dataclass(frozen=True, slots=True)
class Change:
    """What became of one object."""

    ref: ObjectRef
    action: Action
    version: str
    """Of its API, without the group."""
    uid: str = ""
    health: HealthStatus | None = None
    """How it was doing when it was last seen; None when nobody looked."""
    rival: str = ""
    """Another owner that its labels named before, as `namespace/name`."""

    @property
    def subject(self) -> str:
        return str(self.ref)

    @property
    def entry(self) -> InventoryEntry:
        return InventoryEntry(id=Identity(*self.ref).id, v=self.version)

    def __str__(self) -> str:
        return f"{self.ref} {self.action}"


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """All changes, in the order in which the objects were applied or deleted."""

    entries: tuple[Change, ...] = ()
    warnings: tuple[str, ...] = ()
    """What went well and should still be told."""

    def __iter__(self) -> Iterator[Change]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __add__(self, other: ChangeSet) -> ChangeSet:
        return ChangeSet(self.entries + other.entries, self.warnings + other.warnings)

    def changed(self) -> ChangeSet:
        """Without what is unchanged or was left alone."""
        return ChangeSet(tuple(one for one in self.entries if one.action in _CHANGES), self.warnings)

    def lines(self) -> list[str]:
        """One line for each object: `<Kind/namespace/name> <action>`."""
        return [str(one) for one in self.entries]

    def applied(self) -> list[ObjectRef]:
        """What is ours to keep healthy: everything that was not left alone."""
        return [one.ref for one in self.entries if one.action != "skipped"]

    def pending(self) -> list[ObjectRef]:
        """The same without what was Current already when it was applied or compared, a moment ago."""
        current = {one.ref for one in self.entries if one.health == "Current"}
        return [ref for ref in self.applied() if ref not in current]

    def inventory(self) -> Inventory:
        """All of it as an inventory, in the same order."""
        return Inventory(entries=tuple(one.entry for one in self.entries))

    def outcome(self) -> dict[Identity, Pruned]:
        """What became of objects that were to be pruned, for `inventory.survivors`."""
        known: dict[str, Pruned] = {"deleted": "deleted", "skipped": "skipped"}
        return {Identity(*one.ref): known.get(one.action, "unknown") for one in self.entries}


class ApplyFailed(StageError):
    """Something could not be validated or applied. `changes` has what was done: it is still ours to track."""

    def __init__(self, problems: Iterable[str], changes: ChangeSet, *, reason: str | None = None) -> None:
        self.problems = tuple(problems)
        """One sentence for each object; the first one opens the text."""
        self.changes = changes
        done = changes.changed().lines()
        super().__init__("\n".join([_joined(self.problems), *done]))
        if reason:
            self.reason = reason


class PruneFailed(StageError):
    """Some objects could not be deleted. `changes` has what became of each; the unknown ones may still be there."""

    reason = "PruneFailed"

    def __init__(self, problems: Iterable[str], changes: ChangeSet) -> None:
        self.problems = tuple(problems)
        self.changes = changes
        super().__init__(f"delete failed, errors: {''.join(f'{problem};' for problem in self.problems)}")


class TerminationTimeout(StageError):
    """Objects that were deleted are still there; their finalizers hold them."""


MOST = 20
"""Problems that an error tells one by one."""


def _joined(problems: tuple[str, ...]) -> str:
    rest = len(problems) - MOST
    return "; ".join([*problems[:MOST], *([f"and {rest} more"] if rest > 0 else [])])
