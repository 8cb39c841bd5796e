"""The schema of a custom resource, from the structural OpenAPI schema that its definition carries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.embedded.schema.model import DEDUCED, Schema
from penstock.embedded.schema.table import builtin_schema

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.embedded.schema.model import ListType, Scalar

_SCALARS: dict[tuple[str, str], Scalar] = {
    ("string", ""): "string",
    ("string", "byte"): "bytes",
    ("string", "date-time"): "date-time",
    ("boolean", ""): "boolean",
}
_LIMITS = (
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "pattern",
    "type",
    "uniqueItems",
    "x-kubernetes-preserve-unknown-fields",
)


def structural_schema(openapi: Mapping[str, Any] | None) -> Schema:
    """The type of the objects of a definition's version.

    Every object has apiVersion, kind and metadata, said or not. Without a schema anything goes below them.
    """
    if not openapi:
        return Schema("struct", fields=_object_fields({}), element=DEDUCED)
    return _made({**openapi, "type": "object"}, preserve=False, embedded=True)


def _object_fields(declared: Mapping[str, Schema]) -> dict[str, Schema]:
    any_kind = builtin_schema("v1", "ConfigMap")
    assert any_kind is not None  # noqa: S101 - the table has it
    own = {name: any_kind.fields[name] for name in ("apiVersion", "kind", "metadata")}
    return {**declared, **own}


def _made(openapi: Mapping[str, Any], *, preserve: bool, embedded: bool = False) -> Schema:
    """`preserve` comes down from a parent that keeps unknown fields: its descendants do too."""
    kind: str = openapi.get("type", "")
    preserve = preserve or openapi.get("x-kubernetes-preserve-unknown-fields") is True
    embedded = embedded or openapi.get("x-kubernetes-embedded-resource") is True
    if kind == "object":
        return _object(openapi, preserve=preserve, embedded=embedded)
    if kind == "array":
        return _list(openapi, preserve=preserve)
    if openapi.get("x-kubernetes-int-or-string") is True:
        return Schema("scalar", scalar="int-or-string", **_facts(openapi))
    if kind:
        return _scalar(kind, openapi)
    return Schema("any", element=DEDUCED, **_facts(openapi))


def _object(openapi: Mapping[str, Any], *, preserve: bool, embedded: bool) -> Schema:
    fields = {name: _made(each, preserve=preserve) for name, each in openapi.get("properties", {}).items()}
    declared = bool(fields)
    if embedded:
        fields = _object_fields(fields)
    return Schema(
        "struct" if fields else "map",
        fields=fields,
        element=_additional(openapi, preserve=preserve, declared=declared or embedded),
        atomic=openapi.get("x-kubernetes-map-type") == "atomic",
        **_facts(openapi),
    )


def _additional(openapi: Mapping[str, Any], *, preserve: bool, declared: bool) -> Schema | None:
    """The type of keys that no field declares; None when there may be none."""
    additional = openapi.get("additionalProperties")
    if additional is None:
        return DEDUCED if preserve or not declared else None
    if isinstance(additional, bool):
        return DEDUCED if additional else None
    return _made(additional, preserve=preserve)


def _list(openapi: Mapping[str, Any], *, preserve: bool) -> Schema:
    element = _made(openapi.get("items") or {}, preserve=preserve)
    keys = tuple(openapi.get("x-kubernetes-list-map-keys", ()))
    list_type: ListType = openapi.get("x-kubernetes-list-type", "atomic")
    return Schema(
        "list",
        element=element,
        list_type=list_type,
        map_keys=keys if list_type == "map" else (),
        key_defaults={
            key: element.fields[key].default
            for key in keys
            if key in element.fields and element.fields[key].default is not None
        },
        **_facts(openapi),
    )


def _scalar(kind: str, openapi: Mapping[str, Any]) -> Schema:
    form: str = openapi.get("format", "")
    if kind in {"integer", "number"}:
        return Schema("scalar", scalar="integer" if kind == "integer" else "number", format=form, **_facts(openapi))
    return Schema("scalar", scalar=_SCALARS.get((kind, form), "untyped"), format=form, **_facts(openapi))


def _facts(openapi: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "required": tuple(openapi.get("required", ())),
        "enum": tuple(openapi.get("enum", ())),
        "default": openapi.get("default"),
        "nullable": openapi.get("nullable") is True,
        "limits": {name: openapi[name] for name in _LIMITS if name in openapi},
    }
