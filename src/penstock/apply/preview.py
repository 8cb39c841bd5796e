"""What an apply and its prune would do, object by object and field by field. Nothing is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from penstock.api.inventory import Inventory
from penstock.apply import inventory
from penstock.apply.changes import ApplyFailed, Change, ChangeSet
from penstock.apply.fieldchanges import FieldChange, field_changes
from penstock.apply.ignore import without
from penstock.apply.managers import migration
from penstock.apply.parallel import each
from penstock.apply.plan import Refused, Settled, Write
from penstock.apply.providers import Providers, cluster_scoped
from penstock.apply.prune import prune
from penstock.apply.takeover import after_takeover
from penstock.apply.validate import Validator
from penstock.kube.errors import KubeError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from penstock.apply.plan import Step
    from penstock.apply.validate import Terms
    from penstock.kube import Client, Object, ObjectRef

Action = Literal["created", "configured", "recreated", "deleted", "unchanged", "skipped"]

_DIFFERENT = frozenset({"created", "configured", "recreated", "deleted"})


@dataclass(frozen=True, slots=True)
class Difference:
    """What would become of one object."""

    ref: ObjectRef
    action: Action
    version: str
    """Of its API, without the group."""
    fields: tuple[FieldChange, ...] = ()
    """What would change in it. Empty for an object that comes or goes as a whole, and where only owners change."""
    note: str = ""
    """What else a person should know about it."""

    def __str__(self) -> str:
        return f"{self.ref} {self.action}"


@dataclass(frozen=True, slots=True)
class Preview:
    """All objects of the set, in the order of an apply, then those that would be pruned."""

    differences: tuple[Difference, ...] = ()
    warnings: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Difference]:
        return iter(self.changed())

    def __len__(self) -> int:
        return len(self.changed())

    def __bool__(self) -> bool:
        """Whether anything would change."""
        return len(self) > 0

    def changed(self) -> list[Difference]:
        """Without what would stay as it is."""
        return [one for one in self.differences if one.action in _DIFFERENT]

    def counts(self) -> dict[str, int]:
        """How many objects share an action."""
        found: dict[str, int] = {}
        for one in self.differences:
            found[one.action] = found.get(one.action, 0) + 1
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Discretion:
    """Whose values are not shown: those of every Secret, and of the objects named here."""

    hidden: Collection[ObjectRef] = ()
    reveal: bool = False
    """Show everything after all."""

    def fields(self, ref: ObjectRef, changes: Sequence[FieldChange]) -> tuple[FieldChange, ...]:
        is_secret = ref.group == "" and ref.kind == "Secret"
        if self.reveal or not (is_secret or ref in self.hidden):
            return tuple(changes)
        return tuple(change if change.path[:2] == ("metadata", "labels") else change.hidden() for change in changes)


@dataclass(frozen=True, slots=True)
class Pruning:
    """What was applied before, and whether what is missing now would be deleted."""

    before: Inventory | None = None
    wanted: bool = False


class Witness(Validator):
    """A validator that keeps what it saw."""

    def __init__(self, client: Client, terms: Terms) -> None:
        super().__init__(client, terms)
        self.seen: dict[ObjectRef, tuple[Object | None, Object | None]] = {}
        """What is there, and what a dry-run made of it."""

    def _judged(
        self, step: Step, live: Object | KubeError | None, planned: Object | KubeError
    ) -> Settled | Write | Refused:
        self.seen[step.ref] = (
            None if isinstance(live, KubeError) else live,
            None if isinstance(planned, KubeError) else planned,
        )
        return super()._judged(step, live, planned)


async def preview(
    client: Client, plan: list[Step], terms: Terms, pruning: Pruning, discretion: Discretion, *, concurrency: int
) -> Preview:
    """Try every object; ApplyFailed tells what a run would refuse, and PruneFailed what it could not delete."""
    witness = Witness(client, terms)
    await each(plan, witness.examine, at_once=concurrency)
    _stop_if_refused(plan, terms)
    differences = [_difference(step, terms, witness, discretion) for step in plan]
    warnings: tuple[str, ...] = ()
    if pruning.wanted:
        stale = inventory.stale(pruning.before, _inventory(plan))
        pruned = await prune(client, stale, owner=terms.owner, concurrency=concurrency, dry_run=True)
        warnings = pruned.warnings
        # What is gone already has no uid: nothing would be deleted.
        differences += [
            Difference(one.ref, "deleted" if one.action == "deleted" else "skipped", one.version)
            for one in pruned
            if one.uid
        ]
    return Preview(tuple(differences), warnings)


def _stop_if_refused(plan: list[Step], terms: Terms) -> None:
    providers = Providers(plan)
    problems = [
        step.outcome.problem
        for step in plan
        if isinstance(step.outcome, Refused)
        and not providers.explain(step, step.outcome.error)
        and not _is_migrated(step, step.outcome, terms)
    ]
    if problems:
        raise ApplyFailed(problems, ChangeSet())


def _is_migrated(step: Step, refused: Refused, terms: Terms) -> bool:
    """Whether a run would first move the object's field managers to a newer API version, and try again."""
    if not terms.migrate or refused.live is None:
        return False
    return bool(migration(refused.live, str(step.desired.get("apiVersion"))))


def _difference(step: Step, terms: Terms, witness: Witness, discretion: Discretion) -> Difference:
    live, planned = witness.seen.get(step.ref, (None, None))
    match step.outcome:
        case Settled(change):
            return Difference(step.ref, "skipped" if change.action == "skipped" else "unchanged", step.version)
        case Write(replaces=uid) if uid and live is not None:
            changes = field_changes(live, _laid_over(live, step.desired))
            note = "a field that cannot change differs: the object would be deleted and made anew"
            return Difference(step.ref, "recreated", step.version, discretion.fields(step.ref, changes), note)
        case Write(action="configured") as write if live is not None and planned is not None:
            return _configured(step, write, live, planned, terms, discretion)
        case Refused(live=there) if there is not None:
            note = "it cannot be tried before its field managers moved to a newer API version"
            return Difference(step.ref, "configured", step.version, note=note)
        case Refused():
            note = "it cannot be tried before something else of the set is there"
            return Difference(step.ref, "created", step.version, note=note)
        case _:
            return Difference(step.ref, "created", step.version)


def _configured(
    step: Step, write: Write, live: Object, planned: Object, terms: Terms, discretion: Discretion
) -> Difference:
    ignored = terms.ignore.pointers(planned)
    takes_over = write.live is not None and not terms.owner.merges(step.desired, live)
    after = after_takeover(live, planned, terms.rivals) if takes_over else planned
    changes = field_changes(without(live, ignored), without(after, ignored))
    notes = [f"another Kustomization owns it: {write.rival}"] if write.rival else []
    if not changes:
        notes.append("only the owners of fields change")
    return Difference(step.ref, "configured", step.version, discretion.fields(step.ref, changes), "; ".join(notes))


def _laid_over(live: Object, desired: Object) -> Object:
    """The live object with the wished fields in it, for an object that cannot be tried as it is."""
    result = dict(live)
    for key, value in desired.items():
        there = result.get(key)
        result[key] = _laid_over(there, value) if isinstance(there, dict) and isinstance(value, dict) else value
    return result


def _inventory(plan: list[Step]) -> Inventory:
    outside = cluster_scoped(plan)
    refs = [
        (step.ref._replace(namespace="") if step.ref.group_kind in outside else step.ref, step.version) for step in plan
    ]
    return Inventory(entries=tuple(Change(ref, "unknown", version).entry for ref, version in refs))
