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

    `managers` are all who own something now, the applying one with its new fields; `applied` are those.
    """
    if last is None or not last.fields or contains_all(applied, last.fields):
        return merged
    schema = by.schema
    if last.api_version != by.api_version:
        # The last apply was in another version. Without a way back from it nothing can be compared.
        return merged
    named = with_named(last.fields, schema)
    everything = with_named(field_set(merged, schema), schema)
    kept = without(merged, named, schema) or {}
    kept = _with_owned(merged, kept, everything, managers, by)
    return _with_unowned(merged, kept, everything, named, schema)


def _with_owned(merged: Object, kept: Object, everything: FieldSet, managers: Managers, by: Request) -> Object:
    """Put back what anybody owns, the applying manager with its new fields among them."""
    schema = by.schema
    owned: FieldSet = {}
    for entry in managers.values():
        if entry.api_version == by.api_version:
            owned = union(owned, entry.fields)
    staying = with_named(union(field_set(kept, schema), owned), schema)
    result: Object = without(merged, difference(everything, staying), schema) or {}
    return result


def _with_unowned(merged: Object, kept: Object, everything: FieldSet, last: FieldSet, schema: Schema) -> Object:
    """Put back what nobody owns: it came with an item of the manager, and was not the manager's."""
    staying = with_named(field_set(kept, schema), schema)
    result: Object = without(merged, intersection(difference(everything, staying), last), schema) or {}
    return result
