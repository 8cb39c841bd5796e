"""Values of the language that Python has no own type for, and what two values have to do with each other.

Integers are `int`, doubles `float`, strings `str`, and so on; a boolean is never a number here, although it is one in
Python, so types are compared and not classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.cel.errors import Problem

NO_OVERLOAD = "no such overload"


class UInt(int):
    """An unsigned integer."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    """Nanoseconds since 1970."""

    nanos: int


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """Nanoseconds."""

    nanos: int


@dataclass(frozen=True, slots=True)
class TypeValue:
    """A type as a value, such as `int`."""

    name: str


@dataclass(frozen=True, slots=True)
class Optional:
    """A value that may not be there."""

    value: Any = None
    present: bool = False


NONE = Optional()

_NAMES: dict[type, str] = {
    bool: "bool",
    int: "int",
    UInt: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    list: "list",
    dict: "map",
    type(None): "null_type",
    Timestamp: "google.protobuf.Timestamp",
    Duration: "google.protobuf.Duration",
    TypeValue: "type",
    Optional: "optional_type",
}
TYPE_NAMES = frozenset(_NAMES.values())
_NUMBERS = frozenset({int, UInt, float})
_KEYS = frozenset({bool, int, UInt, float})
_ORDERED = frozenset({bool, str, bytes, Timestamp, Duration})


def type_name(value: Any) -> str:
    """The name of a value's type, as `type()` tells it."""
    return _NAMES.get(type(value), "dyn")


def equal(left: Any, right: Any) -> bool:
    """Whether two values are the same; numbers are compared by what they amount to, whatever their type."""
    first, second = type(left), type(right)
    if first in _NUMBERS:
        return second in _NUMBERS and bool(left == right)
    if first is not second:
        return False
    if first is list:
        return len(left) == len(right) and all(map(equal, left, right))
    if first is dict:
        return len(left) == len(right) and all(_has_equal(right, key, value) for key, value in left.items())
    if first is Optional:
        return left.present == right.present and equal(left.value, right.value)
    return bool(left == right)


def _has_equal(entries: dict[Any, Any], key: Any, value: Any) -> bool:
    found, other = find(entries, key)
    return found and equal(value, other)


def find(entries: dict[Any, Any], key: Any) -> tuple[bool, Any]:
    """Whether a map has a key, and its value; a number finds the key that amounts to it."""
    kind = type(key)
    if kind is str:
        return key in entries, entries.get(key)
    if kind not in _KEYS or (kind is float and not key.is_integer()) or key not in entries:
        return False, None
    if key in (0, 1):  # in Python true and 1 are the same key
        stored = next(one for one in entries if one == key)
        if (type(stored) is bool) != (kind is bool):
            return False, None
    return True, entries[key]


def compare(left: Any, right: Any) -> int:
    """Negative, zero or positive, as the left one is less, equal or greater."""
    first, second = type(left), type(right)
    if not (first in _NUMBERS and second in _NUMBERS) and not (first is second and first in _ORDERED):
        raise Problem(NO_OVERLOAD)
    if left != left or right != right:
        raise Problem("NaN values cannot be ordered")
    return int(left > right) - int(left < right)


def is_zero(value: Any) -> bool:
    """Whether a value is the one that a type has by default."""
    if isinstance(value, (Timestamp, Duration)):
        return value.nanos == 0
    if isinstance(value, Optional):
        return not value.present
    return not isinstance(value, TypeValue) and not value
