"""What a change of an object means for those who manage its fields."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from penstock.embedded.fields import reset
from penstock.embedded.fields.compare import Comparison, compare
from penstock.embedded.fields.errors import FieldConflict, TypedError
from penstock.embedded.fields.managers import Entry, Managers, identifier_text
from penstock.embedded.fields.sets import LEAF, difference, intersection, path_text, paths
from penstock.embedded.fields.typed import checked

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.embedded.fields.managers import Identifier
    from penstock.embedded.fields.sets import FieldSet, Path
    from penstock.embedded.schema import Schema
    from penstock.kube.resources import Object

    Convert = Callable[[Object, str], "tuple[Object, Schema] | None"]

# Never part of anybody's fields.
STRIPPED: FieldSet = {
    "f:apiVersion": LEAF,
    "f:kind": LEAF,
    "f:metadata": {
        ".": LEAF,
        "f:name": LEAF,
        "f:namespace": LEAF,
        "f:creationTimestamp": LEAF,
        "f:selfLink": LEAF,
        "f:uid": LEAF,
        "f:clusterName": LEAF,
        "f:generation": LEAF,
        "f:managedFields": LEAF,
        "f:resourceVersion": LEAF,
    },
}


@dataclass(frozen=True, slots=True)
class Request:
    """What stays the same while one request is worked on."""

    schema: Schema
    api_version: str
    manager: str
    subresource: str
    now: str
    kept: Callable[[FieldSet], FieldSet]
    """Takes the fields out of a set that this path of the object resets."""
    convert: Convert
    everywhere: bool = True
    """Whether `kept` holds for managers who wrote in other versions too: not for custom objects themselves."""

    def entry(self, operation: str, fields: FieldSet, time: str | None) -> Entry:
        return Entry(self.manager, operation, self.api_version, self.subresource, fields, time)


def request(
    obj: Object,
    *,
    schema: Schema,
    manager: str,
    subresource: str,
    now: str,
    resets: FieldSet | None,
    convert: Convert | None,
) -> Request:
    """The request that an object came with; the reset fields of built-in kinds are known."""
    api_version, kind = str(obj.get("apiVersion", "")), str(obj.get("kind", ""))
    group = api_version.rpartition("/")[0]
    kept = reset.kept(group, kind, subresource) if resets is None else reset.without(resets)
    manager = manager or "unknown"
    convert = convert or no_version
    everywhere = resets is None or subresource == "status"
    return Request(schema, api_version, manager, subresource, now, kept, convert, everywhere)


def no_version(_: Object, __: str) -> None:
    """For kinds of which there is one version: managers of any other are forgotten."""


def bare(obj: Object) -> Object:
    """The object without its managedFields; nothing of it is changed."""
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict) or "managedFields" not in metadata:
        return obj
    return {**obj, "metadata": {key: value for key, value in metadata.items() if key != "managedFields"}}


def with_managers(obj: Object, entries: list[Object]) -> Object:
    """The object with these managedFields; no entries mean no field."""
    metadata = {key: value for key, value in (obj.get("metadata") or {}).items() if key != "managedFields"}
    if entries:
        metadata["managedFields"] = entries
    return {**obj, "metadata": metadata}


def track(
    old: Object, new: Object, managers: Managers, me: Identifier | None, by: Request, *, force: bool
) -> tuple[Managers, Comparison]:
    """The managers after a change, and the change. Whoever had a changed field loses it.

    With `force` unset that is a `FieldConflict` instead. `me` is the manager who makes the change.
    """
    change = _kept(compare(old, new, by.schema), by)
    changes: dict[str, Comparison | None] = {by.api_version: change}
    result: Managers = {}
    conflicts: list[tuple[Entry, FieldSet]] = []
    for identifier, entry in managers.items():
        if identifier == me:
            result[identifier] = entry
            continue
        if entry.api_version not in changes:
            changes[entry.api_version] = _converted(old, new, entry.api_version, by)
        seen = changes[entry.api_version]
        if seen is None:
            continue
        lost = intersection(entry.fields, seen.changed)
        if lost:
            conflicts.append((entry, lost))
        result[identifier] = replace(entry, fields=difference(difference(entry.fields, lost), seen.removed))
    if conflicts and not force:
        raise conflict([(entry, path) for entry, lost in _sorted(conflicts) for path in paths(lost)])
    return {identifier: entry for identifier, entry in result.items() if entry.fields}, change


def _kept(change: Comparison, by: Request) -> Comparison:
    return Comparison(*(by.kept(fields) for fields in change))


def _converted(old: Object, new: Object, version: str, by: Request) -> Comparison | None:
    """The same change in another version; None when the server does not have that version any more."""
    before, after = by.convert(old, version), by.convert(new, version)
    if before is None or after is None:
        return None
    # Here items that stand twice in a list are an error; elsewhere what is stored may have them.
    for name, (obj, schema) in (("old", before), ("new", after)):
        try:
            checked(obj, schema)
        except TypedError as error:
            raise TypedError(f"failed to convert {name} object: {error}") from None
    change = compare(before[0], after[0], before[1])
    return _kept(change, by) if by.everywhere else change


def _sorted(conflicts: list[tuple[Entry, FieldSet]]) -> list[tuple[Entry, FieldSet]]:
    return sorted(conflicts, key=lambda each: identifier_text(each[0].identifier))


def conflict(found: Sequence[tuple[Entry, Path]]) -> FieldConflict:
    """The error that names every field, grouped by the manager who owns it."""
    causes = [(f"conflict with {entry.described()}", path_text(path)) for entry, path in found]
    if len(found) == 1:
        message, field = causes[0]
        return FieldConflict(f"Apply failed with 1 conflict: {message}: {field}", causes, found)
    lines: list[str] = []
    last: Entry | None = None
    for entry, path in found:
        if entry is not last:
            lines.append(f"conflicts with {entry.described()}:")
        lines.append(f"- {path_text(path)}")
        last = entry
    return FieldConflict(f"Apply failed with {len(found)} conflicts: " + "\n".join(lines), causes, found)
