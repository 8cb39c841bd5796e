"""From one type to another: `int("12")`, `string(1.5)`, `timestamp("...")`."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from penstock.cel import times
from penstock.cel.errors import Problem
from penstock.cel.values import Duration, Timestamp, TypeValue, UInt, type_name

if TYPE_CHECKING:
    from collections.abc import Callable

_INT64 = 2**63
_WHOLE = re.compile(r"[+-]?[0-9]+\Z", re.ASCII)
_NUMBER = re.compile(
    r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf(?:inity)?|nan)\Z", re.ASCII | re.IGNORECASE
)
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})


def integer(number: int) -> int:
    if not -_INT64 <= number < _INT64:
        raise Problem("integer overflow")
    return number


def unsigned(number: int) -> UInt:
    if not 0 <= number < 2 * _INT64:
        raise Problem("unsigned integer overflow")
    return UInt(number)


def show_double(number: float) -> str:
    """The shortest form that reads back as the same number."""
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "+Inf" if number > 0 else "-Inf"
    if number == 0:
        return "-0" if math.copysign(1, number) < 0 else "0"
    exact = Decimal(repr(number)).normalize()
    _, digits, exponent = exact.as_tuple()
    scale = len(digits) + int(exponent) - 1
    if -5 < scale < 21:
        return f"{exact:f}"
    shown = "".join(map(str, digits))
    head = shown[0] + (f".{shown[1:]}" if len(shown) > 1 else "")
    return f"{'-' if number < 0 else ''}{head}e{'+' if scale >= 0 else '-'}{abs(scale):02d}"


def _to_int(value: Any) -> int:
    match value:
        case float():
            if not -_INT64 < value < _INT64:
                raise Problem("integer overflow")
            return int(value)
        case str():
            if _WHOLE.match(value) and len(value) < 25 and -_INT64 <= int(value) < _INT64:
                return int(value)
            raise _refused(value, "int")
        case Timestamp():
            return value.nanos // times.SECOND
        case Duration():
            return value.nanos
        case _:
            return integer(int(value))


def _to_uint(value: Any) -> UInt:
    if isinstance(value, float):
        if not 0 <= value < 2 * _INT64:
            raise Problem("unsigned integer overflow")
        return UInt(int(value))
    if isinstance(value, str):
        if value.isascii() and value.isdigit() and len(value) < 25 and int(value) < 2 * _INT64:
            return UInt(int(value))
        raise _refused(value, "uint")
    return unsigned(value)


def _to_double(value: Any) -> float:
    if isinstance(value, str):
        if not _NUMBER.match(value):
            raise _refused(value, "double")
        return float(value)
    return float(value)


def _to_string(value: Any) -> str:
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case float():
            return show_double(value)
        case bytes():
            try:
                return value.decode()
            except UnicodeError:
                raise Problem("invalid UTF-8 in bytes, cannot convert to string") from None
        case Timestamp():
            return times.show_timestamp(value)
        case Duration():
            return times.show_duration(value)
        case _:
            return str(int(value))


def _to_bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if value in _TRUE:
        return True
    if value in _FALSE:
        return False
    raise _refused(value, "bool")


def _to_timestamp(value: Any) -> Timestamp:
    if isinstance(value, Timestamp):
        return value
    if isinstance(value, int):
        return times.timestamp(value * times.SECOND)
    read = times.parse_timestamp(value)
    if read is None:
        raise _refused(value, "google.protobuf.Timestamp")
    return times.timestamp(read.nanos)


def _to_duration(value: Any) -> Duration:
    if isinstance(value, Duration):
        return value
    read = times.parse_duration(value) if isinstance(value, str) else None
    if read is None:
        raise _refused(value, "google.protobuf.Duration")
    return read


def _refused(value: Any, wanted: str) -> Problem:
    return Problem(f"type conversion error from '{type_name(value)}' to '{wanted}'")


_CONVERTERS: dict[str, tuple[frozenset[type], Callable[[Any], Any]]] = {
    "bool": (frozenset({bool, str}), _to_bool),
    "bytes": (frozenset({bytes, str}), lambda value: value.encode() if isinstance(value, str) else value),
    "double": (frozenset({float, int, UInt, str}), _to_double),
    "duration": (frozenset({Duration, int, str}), _to_duration),
    "int": (frozenset({int, UInt, float, str, Timestamp, Duration}), _to_int),
    "string": (frozenset({str, bool, bytes, float, Duration, int, Timestamp, UInt}), _to_string),
    "timestamp": (frozenset({Timestamp, int, str}), _to_timestamp),
    "uint": (frozenset({UInt, float, int, str}), _to_uint),
}
NAMES = frozenset(_CONVERTERS)


def fits(name: str, value: Any) -> bool:
    """Whether a value of this type can become the other one at all."""
    return type(value) in _CONVERTERS[name][0]


def convert(name: str, value: Any) -> Any:
    """The value as another type; it has to fit."""
    return _CONVERTERS[name][1](value)


def type_value(value: Any) -> TypeValue:
    """The type of a value, as a value."""
    return TypeValue(type_name(value))
