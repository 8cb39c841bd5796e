"""What lies inside a value: its fields, its elements."""

from __future__ import annotations

from typing import Any

from penstock.cel.conversions import show_double
from penstock.cel.errors import Problem
from penstock.cel.values import NONE, Duration, Optional, Timestamp, TypeValue, UInt, find, type_name

_GO: dict[type, str] = {
    bool: "types.Bool",
    int: "types.Int",
    UInt: "types.Uint",
    float: "types.Double",
    str: "types.String",
    bytes: "types.Bytes",
    type(None): "types.Null",
    Timestamp: "types.Timestamp",
    Duration: "types.Duration",
    TypeValue: "*types.Type",
    Optional: "*types.Optional",
}


def select(value: Any, field: str, *, optional: bool = False) -> Any:
    """A field of an object; with `optional`, or of an optional value, it may not be there."""
    if type(value) is Optional:
        return select(value.value, field, optional=True) if value.present else NONE
    if type(value) is dict:
        if field in value:
            return Optional(value[field], present=True) if optional else value[field]
        if optional:
            return NONE
    elif type(value) is list:
        raise Problem("unsupported index type 'string' in list")
    elif optional:
        return NONE
    raise Problem(f"no such key: {field}")


def present(value: Any, field: str) -> bool:
    """Whether a field is there; one that is null is."""
    if type(value) is Optional:
        return value.present and present(value.value, field)
    if type(value) is list:
        raise Problem("unsupported index type 'string' in list")
    return type(value) is dict and field in value


def index(value: Any, key: Any, *, optional: bool = False) -> Any:
    """An element of a list, or the value of a key."""
    if type(value) is Optional:
        return index(value.value, key, optional=True) if value.present else NONE
    if type(value) is list:
        found, item = _element(value, key)
        missing = f"index out of bounds: {_shown(key)}"
    elif type(value) is dict:
        found, item = find(value, key)
        missing = f"no such key: {_shown(key)}"
    else:
        found, item = False, None
        missing = f"no such key: {_shown(key)}"
    if optional:
        return Optional(item, present=True) if found else NONE
    if not found:
        raise Problem(missing)
    return item


def iterated(value: Any) -> list[Any]:
    """The elements of a list, or the keys of a map."""
    if type(value) is list:
        return value
    if type(value) is dict:
        return list(value)
    raise Problem(f"got '{_GO.get(type(value), 'any')}', expected iterable type")


def _element(value: list[Any], key: Any) -> tuple[bool, Any]:
    kind = type(key)
    if kind is float:
        if not key.is_integer():
            raise Problem(f"unsupported index value {key} in list")
        key = int(key)
    elif kind is not int and kind is not UInt:
        raise Problem(f"unsupported index type '{type_name(key)}' in list")
    return (True, value[key]) if 0 <= key < len(value) else (False, None)


def _shown(key: Any) -> str:
    if isinstance(key, float):
        return show_double(key)
    return ("true" if key else "false") if isinstance(key, bool) else str(key)
