"""Shapes from an OpenAPI document that the user provides, in place of the built-in table."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from penstock.errors import PenstockError
from penstock.schema.shapes import Finder, Schema, Shape
from penstock.schema.table import SCALAR

_KIND = "x-kubernetes-group-version-kind"
_DEPTH = 50  # of references to references


class OpenAPIError(PenstockError):
    """The document is not an OpenAPI 2 description."""


def from_openapi(document: Any, base: Schema, *, keep: bool = False) -> Schema:
    """The types of an OpenAPI document with `definitions` and, for scopes, `paths`.

    Scopes of `base` stay known. Its shapes do too if `keep`; else the document replaces the built-in types.
    """
    if not isinstance(document, dict):
        raise OpenAPIError("the OpenAPI document is not a mapping with `definitions`")
    definitions = document.get("definitions") or {}
    types = _Definitions(definitions, base.definitions if keep else {})
    shapes: dict[tuple[str, str], Finder] = {}
    for name, definition in definitions.items():
        for kind in definition.get(_KIND) or ():
            if (type_meta := _type_meta(kind)) is not None:
                shapes[type_meta] = partial(types.shape, {"$ref": f"#/definitions/{name}"})
    scopes = _scopes(document.get("paths") or {})
    return Schema({**shapes, **base.shapes} if keep else shapes, {**scopes, **base.namespaced})


def shape_of(schema: Any) -> Shape | None:
    """The shape that a single schema describes; one without any type says nothing."""
    return _Definitions({}, {}).shape(schema) if isinstance(schema, dict) and "type" in schema else None


def _type_meta(kind: Any) -> tuple[str, str] | None:
    if not isinstance(kind, dict) or not isinstance(kind.get("kind"), str):
        return None
    group, version = kind.get("group"), kind.get("version", "")
    return (f"{group}/{version}" if group else version), kind["kind"]


def _scopes(paths: Mapping[str, Any]) -> dict[tuple[str, str], bool]:
    found: dict[tuple[str, str], bool] = {}
    for path, operations in paths.items():
        kind = ((operations or {}).get("get") or {}).get(_KIND)
        if kind and (type_meta := _type_meta(kind)) is not None:
            found[type_meta] = "namespaces/{namespace}" in path or found.get(type_meta, False)
    return found


class _Definitions:
    def __init__(self, definitions: Mapping[str, Any], known: Mapping[str, Finder]) -> None:
        self._definitions = definitions
        self._known = known  # these win

    def shape(self, schema: Any) -> Shape | None:
        for _ in range(_DEPTH):
            reference = schema.get("$ref") if isinstance(schema, dict) else None
            if not reference:
                break
            name = str(reference).removeprefix("#/definitions/")
            if name in self._known:
                return self._known[name]()
            schema = self._definitions.get(name)
        if not isinstance(schema, dict):
            return None
        return self._list(schema) if schema.get("type") == "array" else self._object(schema)

    def _object(self, schema: Mapping[str, Any]) -> Shape:
        properties = schema.get("properties") or {}
        values = schema.get("additionalProperties")
        if not properties and not values:
            return SCALAR
        return Shape(
            fields={name: partial(self.shape, value) for name, value in properties.items()},
            values=partial(self.shape, values) if isinstance(values, dict) else None,
        )

    def _list(self, schema: Mapping[str, Any]) -> Shape:
        strategies = str(schema.get("x-kubernetes-patch-strategy", "")).split(",")
        keys = schema.get("x-kubernetes-list-map-keys") or [schema.get("x-kubernetes-patch-merge-key")]
        return Shape(
            element=partial(self.shape, schema.get("items")),
            merges="merge" in strategies,
            keys=tuple(key for key in keys if key),
        )
