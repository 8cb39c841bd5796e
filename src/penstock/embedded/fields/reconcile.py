"""Field sets that were written under an older schema of a custom resource."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.embedded.fields.sets import LEAF, SELF

if TYPE_CHECKING:
    from penstock.embedded.fields.managers import Entry, Managers
    from penstock.embedded.fields.sets import FieldSet
    from penstock.embedded.fields.tracking import Request
    from penstock.embedded.schema import Schema
    from penstock.kube.resources import Object


def reconciled(managers: Managers, live: Object, by: Request) -> Managers:
    """The managers with sets that fit the schema of today. Types of the server itself never change.

    `TypedError` for a version that the definition of a custom resource does not have any more.
    """
    if by.schema.name:
        return managers
    return {identifier: _reconciled(entry, live, by) for identifier, entry in managers.items()}


def _reconciled(entry: Entry, live: Object, by: Request) -> Entry:
    schema: Schema | None = by.schema
    if entry.api_version != by.api_version:
        seen = by.convert(live, entry.api_version)
        schema = seen[1] if seen is not None else None
    if schema is None or schema.kind == "any":
        return entry
    return replace(entry, fields=_fitting(entry.fields, schema))


def _fitting(fields: FieldSet, schema: Schema) -> FieldSet:
    result: FieldSet = {}
    for key, node in fields.items():
        inner = _inner(key, schema)
        result[key] = node if inner is None or not node or key == SELF else _node(node, inner)
    return result


def _node(node: FieldSet, schema: Schema) -> FieldSet:
    """A node with children: of a type that is one leaf by now, only the field itself stays."""
    if schema.atomic or (schema.kind == "list" and schema.list_type == "atomic"):
        return LEAF
    return _fitting(node, schema)


def _inner(key: str, schema: Schema) -> Schema | None:
    if schema.kind == "any" or (schema.kind == "map" and schema.element is not None and schema.element.kind == "any"):
        return None
    if key.startswith("f:"):
        return schema.fields.get(key[2:]) or (schema.element if schema.kind != "list" else None)
    return schema.element if schema.kind == "list" else None
