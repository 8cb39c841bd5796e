"""The entries of `metadata.managedFields`: who manages which fields, how, and since when."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import orjson

from penstock.embedded.fields.gotext import go_value
from penstock.embedded.fields.sets import ordered, parsed, quoted, union
from penstock.errors import PenstockError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.embedded.fields.sets import FieldSet

MAX_UPDATE_MANAGERS = 10
OLD_UPDATES = "ancient-changes"
BEFORE_FIRST_APPLY = "before-first-apply"

Identifier = tuple[str, str, str, str]
"""Manager, operation, apiVersion (of updates only) and subresource: one entry for each."""


class EntryError(PenstockError):
    """An entry of managedFields that the server does not accept."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What one manager does by one operation in one version, to the object or to a subresource of it."""

    manager: str
    operation: str
    api_version: str
    subresource: str
    fields: FieldSet
    time: str | None = None

    @property
    def identifier(self) -> Identifier:
        """An applier is the same one in every version."""
        version = "" if self.operation == "Apply" else self.api_version
        return (self.manager, self.operation, version, self.subresource)

    @property
    def applied(self) -> bool:
        return self.operation == "Apply"

    def described(self) -> str:
        """The manager as conflicts name it."""
        name = quoted(self.manager)
        if self.subresource:
            name = f"{name} with subresource {quoted(self.subresource)}"
        return name if self.applied else f"{name} using {self.api_version}"


Managers = dict[Identifier, Entry]


def read(entries: Sequence[Mapping[str, Any]] | None, *, foreign: bool = False) -> Managers:
    """The managers of an object; `EntryError` as the server words it for entries that it cannot read.

    Fields of `foreign` entries, which a client made up, are looked at one by one.
    """
    managers: Managers = {}
    for index, raw in enumerate(entries or ()):
        _check(raw, index)
        entry = Entry(
            manager=raw.get("manager", ""),
            operation=raw["operation"],
            api_version=raw["apiVersion"],
            subresource=raw.get("subresource", ""),
            fields=_fields(raw) if foreign else raw.get("fieldsV1") or {},
            time=raw.get("time"),
        )
        managers[entry.identifier] = entry
    return managers


def _fields(raw: Mapping[str, Any]) -> FieldSet:
    try:
        return parsed(raw.get("fieldsV1"))
    except ValueError as error:
        raise EntryError(f"error decoding set: {error}") from None


def _check(raw: Mapping[str, Any], index: int) -> None:
    if raw.get("operation") not in {"Apply", "Update"}:
        raise EntryError("operation must be `Apply` or `Update`")
    if not raw.get("apiVersion"):
        raise EntryError("apiVersion must not be empty")
    fields_type = raw.get("fieldsType", "")
    if not fields_type:
        raise EntryError(f"missing fieldsType in managed fields entry {index}")
    if fields_type != "FieldsV1":
        raise EntryError(f"invalid fieldsType {go_value(quoted(fields_type))} in managed fields entry {index}")


def is_reset(entries: Any) -> bool:
    """Whether a request asks to forget all managers: an empty list, or one empty entry."""
    return isinstance(entries, list) and entries in ([], [{}])


def written(managers: Managers) -> list[dict[str, Any]]:
    """The entries as the server writes and sorts them."""
    return [_entry(entry) for entry in sorted(managers.values(), key=_order)]


def _order(entry: Entry) -> tuple[str, str, str, str, str]:
    # Times are UTC to the second, so their texts sort as they do; none comes first.
    return (entry.operation, entry.time or "", entry.manager, entry.api_version, entry.subresource)


def _entry(entry: Entry) -> dict[str, Any]:
    raw: dict[str, Any] = {
        "manager": entry.manager,
        "operation": entry.operation,
        "apiVersion": entry.api_version,
        "time": entry.time,
        "fieldsType": "FieldsV1",
        "fieldsV1": ordered(entry.fields),
        "subresource": entry.subresource,
    }
    return {key: value for key, value in raw.items() if value or key == "fieldsV1"}


def identifier_text(identifier: Identifier) -> str:
    """The text by which the server tells managers apart, and by which it sorts them."""
    manager, operation, version, subresource = identifier
    parts = {"manager": manager, "operation": operation, "apiVersion": version, "subresource": subresource}
    return orjson.dumps({key: value for key, value in parts.items() if value}).decode()


def capped(managers: Managers) -> Managers:
    """The managers with at most ten updaters: the oldest of each version become one."""
    updaters = [entry for entry in managers.values() if not entry.applied]
    if len(updaters) <= MAX_UPDATE_MANAGERS:
        return managers
    updaters.sort(key=lambda entry: (entry.time or "", identifier_text(entry.identifier)))
    result, left = dict(managers), len(updaters)
    first: dict[str, Entry] = {}
    for entry in updaters:
        if left <= MAX_UPDATE_MANAGERS:
            break
        version = entry.api_version
        if version not in first:
            first[version] = entry
            continue
        bucket: Identifier = (OLD_UPDATES, "Update", version, "")
        if bucket not in result:
            oldest = result.pop(first[version].identifier)
            result[bucket] = replace(oldest, manager=OLD_UPDATES, subresource="")
        merged = union(entry.fields, result[bucket].fields)
        result[bucket] = replace(result[bucket], fields=merged, time=entry.time)
        if entry.identifier != bucket:
            del result[entry.identifier]
        left -= 1
    return result
