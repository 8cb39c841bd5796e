"""Why a patched object does not fit its type, in the words the server has for strategic merge patches.

There it does not read JSON: it copies a map into a struct, and complains in its own way.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from penstock.schema.gotypes import below, fields_of, type_of
from penstock.schema.scalars import SCALARS, DecodeError, Mismatch

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.embedded.schema import Schema

_PLACE = re.compile(r"Go struct field \S+ of type")
_GO_SCALARS = {"string": "string", "boolean": "bool", "number": "float64"}


def restore_problem(value: Any, schema: Schema, type_: str | None = None) -> str | None:
    """The first complaint about a value, or None when its shape fits.

    `type_` is its Go type, which some complaints name; that of a whole object is known.
    """
    if type_ is None:
        type_ = _type_of(value)
    if value is None or schema.kind == "any":
        return None
    if schema.kind == "scalar":
        return _scalar_problem(value, schema, type_)
    if schema.kind == "list":
        if not isinstance(value, list):
            return f"cannot restore slice from {_kind(value)}"
        return _first(value, schema.element, below(type_, 0))
    if not isinstance(value, dict):
        return f"cannot restore {'struct from:' if schema.kind == 'struct' else 'map from'} {_kind(value)}"
    for key, child in _in_order(value, type_):
        inner = schema.fields.get(key) or schema.element
        problem = restore_problem(child, inner, below(type_, key)) if inner is not None else None
        if problem is not None:
            return problem
    return None


def alone(error: object) -> str:
    """What a type with a reader of its own says: it sees one value, and not where that stands."""
    return _PLACE.sub("Go value of type", str(error))


def _type_of(value: Any) -> str:
    known = type_of(str(value.get("apiVersion")), str(value.get("kind"))) if isinstance(value, dict) else None
    return f"@{known}" if known else ""


def _in_order(value: dict[str, Any], type_: str) -> Iterable[tuple[str, Any]]:
    """The fields of a struct as Go goes through them; those of a map as they are."""
    name = type_.lstrip("*")
    if name[:1] != "@" or len(name) == 1:
        return value.items()
    return [(field.name, value[field.name]) for field in fields_of(name[1:]) if field.name in value]


def _first(items: list[Any], schema: Schema | None, type_: str) -> str | None:
    problems = (restore_problem(item, schema, type_) for item in items if schema is not None)
    return next((problem for problem in problems if problem is not None), None)


def _scalar_problem(value: Any, schema: Schema, type_: str) -> str | None:
    if schema.scalar == "bytes":
        if isinstance(value, str):
            problem = _own_problem(value, "bytes")
            return f"error decoding from json: {problem}" if problem else None
        if isinstance(value, list):
            return "unrecognized type: uint8" if value else None
        return f"cannot restore slice from {_kind(value)}"
    wanted = schema.format if schema.scalar == "integer" else _GO_SCALARS.get(schema.scalar)
    if wanted is None:
        return _own_problem(value, type_)
    found = _kind(value)
    if found == wanted or (found == "int64" and wanted in {"int32", "float64"}):
        return None
    if found == "float64" and wanted in {"int32", "int64"}:
        return None if value == int(value) else f"cannot convert float64 to {wanted}"
    # Go can make a string of a number in some way, only not in this one.
    named = type_.lstrip("*").partition(":")[2] or wanted
    return (
        f"cannot convert int64 to {named}"
        if found == "int64" and wanted == "string"
        else f"unrecognized type: {wanted}"
    )


def _own_problem(value: Any, type_: str) -> str | None:
    """What a type with a reader of its own says."""
    codec = SCALARS.get(type_.lstrip("*").partition(":")[0])
    if codec is None:
        return None
    try:
        codec(value)
    except Mismatch as mismatch:
        return alone(mismatch.sentence())
    except DecodeError as error:
        return alone(error)
    return None


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    names = {str: "string", int: "int64", float: "float64", dict: "map", list: "slice"}
    return names[type(value)]
