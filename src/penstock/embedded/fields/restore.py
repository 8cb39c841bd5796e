"""Why a patched object does not fit its type, in the words the server has for strategic merge patches.

There it does not read JSON: it copies a map into a struct, and complains in its own way.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.embedded.schema import Schema

_PLACE = re.compile(r"Go struct field \S+ of type")
_GO_SCALARS = {"string": "string", "boolean": "bool", "number": "float64"}


def restore_problem(value: Any, schema: Schema) -> str | None:
    """The first complaint about a value, or None when its shape fits."""
    if value is None or schema.kind == "any":
        return None
    if schema.kind == "scalar":
        return _scalar_problem(value, schema)
    if schema.kind == "list":
        if not isinstance(value, list):
            return f"cannot restore slice from {_kind(value)}"
        return _first(value, schema.element)
    if not isinstance(value, dict):
        return f"cannot restore {'struct from:' if schema.kind == 'struct' else 'map from'} {_kind(value)}"
    for key, child in value.items():
        type_ = schema.fields.get(key) or schema.element
        problem = restore_problem(child, type_) if type_ is not None else None
        if problem is not None:
            return problem
    return None


def alone(error: object) -> str:
    """What a type with a reader of its own says: it sees one value, and not where that stands."""
    return _PLACE.sub("Go value of type", str(error))


def _first(items: list[Any], schema: Schema | None) -> str | None:
    problems = (restore_problem(item, schema) for item in items if schema is not None)
    return next((problem for problem in problems if problem is not None), None)


def _scalar_problem(value: Any, schema: Schema) -> str | None:
    if schema.scalar == "bytes":
        if isinstance(value, str):
            return None
        if isinstance(value, list):
            return "unrecognized type: uint8" if value else None
        return f"cannot restore slice from {_kind(value)}"
    wanted = schema.format if schema.scalar == "integer" else _GO_SCALARS.get(schema.scalar)
    if wanted is None:
        # Types with a reader of their own say themselves what is wrong.
        return None
    found = _kind(value)
    if found == wanted or (found == "int64" and wanted in {"int32", "float64"}):
        return None
    if found == "float64" and wanted in {"int32", "int64"}:
        return None if value == int(value) else f"cannot convert float64 to {wanted}"
    # Go can make a string of a number in some way, only not in this one.
    return (
        f"cannot convert int64 to {wanted}"
        if found == "int64" and wanted == "string"
        else f"unrecognized type: {wanted}"
    )


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    names = {str: "string", int: "int64", float: "float64", dict: "map", list: "slice"}
    return names[type(value)]
