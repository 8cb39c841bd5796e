"""What an object looks like in Go: which fields its kind declares, and in which order Go writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.schema.gotypes import below, fields_of, type_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from penstock.kube.resources import Object


def is_collection(obj: Object, path: Iterable[str | int]) -> bool:
    """Whether the kind of the object has a list or a map at this path."""
    type_ = f"@{type_of(str(obj.get('apiVersion', '')), str(obj.get('kind', ''))) or ''}"
    for step in path:
        type_ = below(type_, step)
        if not type_:
            return False
    return type_.lstrip("*")[:1] in ("[", "{")


def in_go_order(obj: Object) -> Object:
    """The object with the fields of its structs in Go's order, and the keys of its maps sorted."""
    type_name = type_of(obj["apiVersion"], obj["kind"])
    made: Object = _in_order(obj, f"@{type_name}" if type_name else "{}")
    return made


def _in_order(value: Any, type_: str) -> Any:
    type_ = type_.lstrip("*")
    if isinstance(value, list):
        inner = below(type_, 0) or "{}"
        return [_in_order(item, inner) for item in value]
    if not isinstance(value, dict) or type_ == "raw":
        return value
    if type_[:1] == "@":
        return {name: _in_order(value[name], inner) for name, inner in _fields(type_) if name in value}
    inner = below(type_, "") or "{}"
    return {key: _in_order(value[key], inner) for key in sorted(value)}


def _fields(type_: str) -> Iterator[tuple[str, str]]:
    if type_[:1] == "@" and len(type_) > 1:
        for field in fields_of(type_[1:]):
            yield field.name, field.type
