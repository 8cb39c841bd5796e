"""An object of a built-in kind as it looks after a Go program has read it into its type and written it out again.

Unknown fields are gone, as are nulls and what is empty and may be left out; structs and fields that Go always writes
are there; quantities, times and base64 have their one form. Nothing gets a default.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from penstock.schema.gotypes import STRUCTS, fields_of, type_of
from penstock.schema.scalars import INT_LIMITS, SCALARS, Codec, DecodeError, Mismatch, json_type, string

Object = dict[str, Any]

__all__ = ["DecodeError", "typed"]


def typed(obj: Object) -> Object | None:
    """A new object of the same kind; None for a kind that is not built in.

    DecodeError when a value does not fit its type; the sentence is Go's.
    """
    type_name = type_of(str(obj.get("apiVersion", "")), str(obj.get("kind", "")))
    if type_name is None:
        return None
    try:
        read: Object = _struct(type_name)(obj)
    except Mismatch as mismatch:
        raise DecodeError(mismatch.sentence()) from None
    return read


@lru_cache(None)
def _struct(type_name: str) -> Codec:
    """Reads one Go struct. Types can contain themselves, so the fields are prepared at first use."""
    struct = type_name.rpartition(".")[2]
    fields: dict[str, tuple[Codec, bool, str]] = {}
    always: list[tuple[str, Codec | None, Any]] = []

    def prepare() -> None:
        for field in fields_of(type_name):
            fields[field.name] = (_codec(field.type), field.omits_empty, field.embedded)
            if field.flag == "!":
                continue
            if field.type.startswith("@"):
                always.append((field.name, _struct(field.type[1:]), None))
            elif not field.flag or field.type in STRUCTS:
                always.append((field.name, None, _zero(field.type)))

    def read(value: Any) -> Object:
        if not fields:
            prepare()
        if type(value) is not dict:
            raise Mismatch(json_type(value), struct)
        result: Object = {}
        for key, item in value.items():
            field = fields.get(key)
            if field is None or item is None:
                continue
            codec, omits_empty, embedded = field
            try:
                item = codec(item)
            except Mismatch as mismatch:
                mismatch.enter(struct, key, embedded)
                raise
            if item or not omits_empty:
                result[key] = item
        for key, inner, zero in always:
            if key not in result:
                result[key] = zero if inner is None else inner({})
        return result

    return read


@lru_cache(None)
def _codec(type_: str) -> Codec:
    """The reader for a type expression of the table."""
    if type_[0] == "*":
        return _codec(type_[1:])
    if type_[0] == "@":
        return _struct(type_[1:])
    if type_[0] == "[":
        return _list(type_.partition("]")[2])
    if type_[0] == "{":
        return _map(type_.partition("}")[2])
    if type_.startswith("string"):
        return string(type_.partition(":")[2] or "string")
    return SCALARS[type_.partition(":")[0]]


def _list(element_type: str) -> Codec:
    element = _codec(element_type)

    def read(value: Any) -> Any:
        if type(value) is not list:
            raise Mismatch(json_type(value), f"[]{element_type}")
        return [element(item) if item is not None else _none(element_type) for item in value]

    return read


def _map(element_type: str) -> Codec:
    element = _codec(element_type)

    def read(value: Any) -> Any:
        if type(value) is not dict:
            raise Mismatch(json_type(value), f"map[string]{element_type}")
        return {key: element(item) if item is not None else _none(element_type) for key, item in value.items()}

    return read


def _none(type_: str) -> Any:
    """What a null among elements becomes."""
    return _struct(type_[1:])({}) if type_[0] == "@" else _zero(type_)


def _zero(type_: str) -> Any:
    if type_.startswith("string"):
        return ""
    if type_ == "bool":
        return False
    if type_.partition(":")[0] in (*INT_LIMITS, "float64"):
        return 0
    return {"quantity": "0", "intstr": 0, "duration": "0s"}.get(type_)
