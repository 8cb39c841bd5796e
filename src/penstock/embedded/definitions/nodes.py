"""A structural schema made ready for walking: one node a type, with what pruning, defaults and checks need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import re2

from penstock.embedded.definitions.formats import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

MISSING: Any = object()
"""There is no such value, which is not the same as null."""

_BOUNDS = ("multipleOf", "minimum", "maximum")
_IDENTITY = ("apiVersion", "kind", "metadata")


class Pattern(Protocol):
    """A compiled regular expression of Go's dialect."""

    def search(self, text: str) -> object | None: ...


class Node:
    """One type of a custom resource's schema. Made once per definition, shared by all requests."""

    __slots__ = (
        "additional",
        "all_of",
        "any_of",
        "bounds",
        "default",
        "embedded",
        "enum",
        "exclusive_maximum",
        "exclusive_minimum",
        "format",
        "format_fits",
        "has_defaults",
        "has_lists",
        "items",
        "list_type",
        "map_keys",
        "max_items",
        "max_length",
        "max_properties",
        "min_items",
        "min_length",
        "min_properties",
        "not_",
        "nullable",
        "one_of",
        "pattern",
        "pattern_text",
        "preserve",
        "properties",
        "required",
        "types",
    )

    def __init__(self, schema: Mapping[str, Any], *, root: bool = False) -> None:
        self.types: tuple[str, ...] = _types(schema)
        self.nullable: bool = schema.get("nullable") is True
        self.preserve: bool = schema.get("x-kubernetes-preserve-unknown-fields") is True
        self.embedded: bool = root or schema.get("x-kubernetes-embedded-resource") is True
        self.default: Any = schema.get("default", MISSING)
        self.properties: dict[str, Node] = {name: Node(each) for name, each in (schema.get("properties") or {}).items()}
        if self.embedded:
            for name in _IDENTITY:
                self.properties.pop(name, None)
        additional = schema.get("additionalProperties")
        self.additional: Node | bool = Node(additional) if isinstance(additional, dict) else bool(additional)
        items = schema.get("items")
        self.items: Node | None = Node(items) if isinstance(items, dict) else None
        self.required: tuple[str, ...] = tuple(schema.get("required") or ())
        self.enum: Sequence[Any] = schema.get("enum") or ()
        self._read_limits(schema)
        self.all_of, self.any_of, self.one_of = (
            tuple(Node(each) for each in schema.get(word) or ()) for word in ("allOf", "anyOf", "oneOf")
        )
        self.not_: Node | None = Node(schema["not"]) if schema.get("not") else None
        self.list_type: str = schema.get("x-kubernetes-list-type") or ""
        self.map_keys: tuple[str, ...] = tuple(schema.get("x-kubernetes-list-map-keys") or ())
        inner = [*self.properties.values(), *(each for each in (self.items, self.additional) if isinstance(each, Node))]
        self.has_defaults: bool = any(each.default is not MISSING or each.has_defaults for each in inner)
        self.has_lists: bool = self.list_type in ("set", "map") or any(each.has_lists for each in inner)

    def _read_limits(self, schema: Mapping[str, Any]) -> None:
        self.format: str = schema.get("format") or ""
        self.format_fits: Callable[[str], bool] | None = FORMATS.get(self.format.replace("-", ""))
        self.pattern_text: str = schema.get("pattern") or ""
        self.pattern: Pattern | None = re2.compile(self.pattern_text) if self.pattern_text else None
        self.min_length: int | None = schema.get("minLength")
        self.max_length: int | None = schema.get("maxLength")
        self.min_items: int | None = schema.get("minItems")
        self.max_items: int | None = schema.get("maxItems")
        self.min_properties: int | None = schema.get("minProperties")
        self.max_properties: int | None = schema.get("maxProperties")
        self.bounds: dict[str, float] = {word: schema[word] for word in _BOUNDS if schema.get(word) is not None}
        self.exclusive_minimum: bool = schema.get("exclusiveMinimum") is True
        self.exclusive_maximum: bool = schema.get("exclusiveMaximum") is True

    def child(self, key: str) -> Node | None:
        """The type of a key of an object; None when it is not declared."""
        known = self.properties.get(key)
        if known is not None:
            return known
        return self.additional if isinstance(self.additional, Node) else None


def _types(schema: Mapping[str, Any]) -> tuple[str, ...]:
    if schema.get("x-kubernetes-int-or-string") is True:
        return ("integer", "string")
    return (schema["type"],) if schema.get("type") else ()
