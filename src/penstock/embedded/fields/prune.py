"""What goes away with an apply: fields the manager applied last time, leaves out now, and nobody else has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.embedded.fields.sets import contains_all, difference, intersection, union
from penstock.embedded.fields.typed import field_set, with_named, without

if TYPE_CHECKING:
    from penstock.embedded.fields.managers import Entry, Managers
    from penstock.embedded.fields.sets import FieldSet
    from penstock.embedded.fields.tracking import Request
    from penstock.embedded.schema import Schema
    from penstock.kube.resources import Object


def pruned(merged: Object, managers: Managers, last: Entry | None, applied: FieldSet, by: Request) -> Object:
    """The merged object without what the manager has given up.

    `managers` are all who own something now, the applying one with its new fields; `applied` are those. The last
    apply may have been in another version: then that version is looked at.
    """
    if last is None or not last.fields:
        return merged
    if last.api_version == by.api_version and contains_all(applied, last.fields):
        return merged
    seen = _seen(merged, last.api_version, by)
    if seen is None:
        return merged
    converted, schema = seen
    named = with_named(last.fields, schema)
    everything = with_named(field_set(converted, schema), schema)
    kept = without(converted, named, schema) or {}
    kept = _with_owned(converted, kept, last.api_version, managers, by)
    kept = _with_unowned(converted, kept, everything, named, schema)
    back = _seen(kept, by.api_version, by)
    return kept if back is None else back[0]


def _seen(obj: Object, api_version: str, by: Request) -> tuple[Object, Schema] | None:
    """The object in a version; None when there is no such version any more."""
    if api_version == by.api_version and obj.get("apiVersion", api_version) == api_version:
        return obj, by.schema
    return by.convert(obj, api_version)


def _with_owned(merged: Object, kept: Object, api_version: str, managers: Managers, by: Request) -> Object:
    """Put back what anybody owns, the applying manager with its new fields among them; version by version."""
    owned: dict[str, FieldSet] = {api_version: {}}
    for entry in managers.values():
        owned[entry.api_version] = union(owned.get(entry.api_version, {}), entry.fields)
    for version, fields in owned.items():
        whole, part = _seen(merged, version, by), _seen(kept, version, by)
        if whole is None or part is None or not fields:
            continue
        schema = whole[1]
        everything = with_named(field_set(whole[0], schema), schema)
        staying = with_named(union(field_set(part[0], schema), fields), schema)
        kept = without(whole[0], difference(everything, staying), schema) or {}
    last = _seen(kept, api_version, by)
    return kept if last is None else last[0]


def _with_unowned(merged: Object, kept: Object, everything: FieldSet, last: FieldSet, schema: Schema) -> Object:
    """Put back what nobody owns: it came with an item of the manager, and was not the manager's."""
    staying = with_named(field_set(kept, schema), schema)
    result: Object = without(merged, intersection(difference(everything, staying), last), schema) or {}
    return result
