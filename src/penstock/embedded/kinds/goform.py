"""What an object looks like in Go: which fields its kind declares, and in which order Go writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.schema.gotypes import fields_of, type_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from penstock.kube.resources import Object


def is_declared(obj: Object, path: Iterable[str | int]) -> bool:
    """Whether the kind of the object has a field at this path."""
    type_ = f"@{type_of(str(obj.get('apiVersion', '')), str(obj.get('kind', ''))) or ''}"
    for step in path:
        type_ = _below(type_, step)
        if not type_:
            return False
    return True


def in_go_order(obj: Object) -> Object:
    """The object with the fields of its structs in Go's order, and the keys of its maps sorted."""
    type_name = type_of(obj["apiVersion"], obj["kind"])
    made: Object = _in_order(obj, f"@{type_name}" if type_name else "{}")
    return made


def _in_order(value: Any, type_: str) -> Any:
    type_ = type_.lstrip("*")
    if isinstance(value, list):
        below = _below(type_, 0) or "{}"
        return [_in_order(item, below) for item in value]
    if not isinstance(value, dict) or type_ == "raw":
        return value
    if type_[:1] == "@":
        return {name: _in_order(value[name], below) for name, below in _fields(type_) if name in value}
    below = _below(type_, "") or "{}"
    return {key: _in_order(value[key], below) for key in sorted(value)}


def _below(type_: str, step: str | int) -> str:
    """The type of a field or an item; empty when there is none."""
    type_ = type_.lstrip("*")
    if type_[:1] in ("[", "{"):
        return type_.partition("]" if type_[0] == "[" else "}")[2]
    return next((found for name, found in _fields(type_) if name == step), "")


def _fields(type_: str) -> Iterator[tuple[str, str]]:
    if type_[:1] == "@" and len(type_) > 1:
        for field in fields_of(type_[1:]):
            yield field.name, field.type
