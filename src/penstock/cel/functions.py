"""What operators and functions do with values; the types of their arguments decide."""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import re2

from penstock.cel import conversions, strings, times
from penstock.cel.conversions import integer, unsigned
from penstock.cel.errors import Problem
from penstock.cel.values import (
    NO_OVERLOAD,
    NONE,
    Duration,
    Optional,
    Timestamp,
    UInt,
    compare,
    equal,
    find,
    is_zero,
    type_name,
)

Function = Callable[..., Any]
_PARTS = ("getFullYear", "getMonth", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear")
_TIMES = ("getHours", "getMinutes", "getSeconds", "getMilliseconds")
_LARGEST_PATTERN = 8 << 20  # bytes of memory for one compiled pattern


@lru_cache(128)
def pattern(text: str) -> Any:
    """A compiled regular expression; Problem when it is none."""
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _LARGEST_PATTERN
    try:
        return re2.compile(text, options)
    except re2.error as error:
        reason = str(error.args[0].decode() if error.args and isinstance(error.args[0], bytes) else error)
        raise Problem(f"error parsing regexp: {reason}") from None


def _quotient(left: int, right: int) -> int:
    whole = abs(left) // abs(right)
    return whole if (left < 0) == (right < 0) else -whole


def _divide(left: int, right: int) -> int:
    if not right:
        raise Problem("division by zero")
    return _quotient(left, right)


def _modulo(left: int, right: int) -> int:
    if not right:
        raise Problem("modulus by zero")
    return left - right * _quotient(left, right)


def _divide_doubles(left: float, right: float) -> float:
    if right:
        return left / right
    if not left or left != left:
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1, right)


def _numbers(whole: Callable[[int, int], int], double: Callable[[float, float], float] | None) -> dict[Any, Function]:
    """An operation on two numbers of the same type."""
    table: dict[Any, Function] = {
        (int, int): lambda left, right: integer(whole(left, right)),
        (UInt, UInt): lambda left, right: unsigned(whole(int(left), int(right))),
    }
    return table if double is None else {**table, (float, float): double}


_OPERATORS: dict[str, dict[Any, Function]] = {
    "_+_": {
        **_numbers(lambda left, right: left + right, lambda left, right: left + right),
        (str, str): lambda left, right: left + right,
        (bytes, bytes): lambda left, right: left + right,
        (list, list): lambda left, right: left + right,
        (Duration, Duration): lambda left, right: times.duration(left.nanos + right.nanos),
        (Timestamp, Duration): lambda left, right: times.timestamp(left.nanos + right.nanos),
        (Duration, Timestamp): lambda left, right: times.timestamp(left.nanos + right.nanos),
    },
    "_-_": {
        **_numbers(lambda left, right: left - right, lambda left, right: left - right),
        (Duration, Duration): lambda left, right: times.duration(left.nanos - right.nanos),
        (Timestamp, Duration): lambda left, right: times.timestamp(left.nanos - right.nanos),
        (Timestamp, Timestamp): lambda left, right: times.duration(left.nanos - right.nanos),
    },
    "_*_": _numbers(lambda left, right: left * right, lambda left, right: left * right),
    "_/_": _numbers(_divide, _divide_doubles),
    "_%_": _numbers(_modulo, None),
}


def operate(name: str, left: Any, right: Any) -> Any:
    """`+`, `-`, `*`, `/` or `%`."""
    function = _OPERATORS[name].get((type(left), type(right)))
    if function is None:
        known = any(first is type(left) for first, _ in _OPERATORS[name])
        raise Problem(NO_OVERLOAD if known else f"{NO_OVERLOAD}: {name}")
    return function(left, right)


def negate(value: Any) -> Any:
    if type(value) is int:
        return integer(-value)
    if type(value) is float:
        return -value
    if type(value) is Duration:
        return times.duration(-value.nanos)
    raise Problem(NO_OVERLOAD)


def contains(value: Any, holder: Any) -> bool:
    """`in`: an element of a list, or a key of a map."""
    if type(holder) is list:
        return any(equal(value, item) for item in holder)
    if type(holder) is dict:
        return find(holder, value)[0]
    raise Problem(NO_OVERLOAD)


def _size(value: Any) -> int:
    if type(value) not in (str, bytes, list, dict):
        raise no_overload("size", [value])
    return len(value)


def no_overload(name: str, arguments: list[Any]) -> Problem:
    """There is no such function for arguments of these types."""
    return Problem(f"{NO_OVERLOAD}: {name}({', '.join(map(type_name, arguments))})")


def _decoded(text: str) -> bytes:
    for padded in (text, text + "=" * (-len(text) % 4)):
        try:
            return base64.b64decode(padded.replace("\n", "").replace("\r", ""), validate=True)
        except (binascii.Error, ValueError):
            continue
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    bad = next((at for at, char in enumerate(text) if char not in alphabet), len(text))
    raise Problem(f"illegal base64 data at input byte {bad}")


def _held(value: Optional) -> Any:
    if not value.present:
        raise Problem("optional.none() dereference")
    return value.value


def _unwrapped(values: list[Any]) -> list[Any]:
    if not all(type(one) is Optional for one in values):
        raise Problem(NO_OVERLOAD)
    return [one.value for one in values if one.present]


def _contains_all(holder: list[Any], wanted: list[Any]) -> bool:
    return all(contains(value, holder) for value in wanted)


def _join(parts: list[Any], separator: str = "") -> str:
    if not all(type(part) is str for part in parts):
        raise Problem(NO_OVERLOAD)
    return separator.join(parts)


_FUNCTIONS: dict[str, dict[tuple[type, ...], Function]] = {
    "matches": {(str, str): lambda text, wanted: pattern(wanted).search(text) is not None},
    "contains": {(str, str): lambda text, part: part in text},
    "startsWith": {(str, str): lambda text, part: text.startswith(part)},
    "endsWith": {(str, str): lambda text, part: text.endswith(part)},
    "charAt": {(str, int): strings.char_at},
    "format": {(str, list): strings.format_text},
    "indexOf": {(str, str): strings.index_of, (str, str, int): strings.index_of},
    "join": {(list,): _join, (list, str): _join},
    "lastIndexOf": {(str, str): strings.last_index_of, (str, str, int): strings.last_index_of},
    "lowerAscii": {(str,): strings.lower_ascii},
    "upperAscii": {(str,): strings.upper_ascii},
    "replace": {
        (str, str, str): lambda text, old, new: text.replace(old, new),
        (str, str, str, int): lambda text, old, new, count: text.replace(old, new, max(count, -1)),
    },
    "reverse": {(str,): lambda text: text[::-1]},
    "split": {(str, str): strings.split, (str, str, int): strings.split},
    "strings.quote": {(str,): strings.quote},
    "substring": {(str, int): strings.substring, (str, int, int): strings.substring},
    "trim": {(str,): strings.trim},
    "base64.decode": {(str,): _decoded},
    "base64.encode": {(bytes,): lambda data: base64.b64encode(data).decode()},
    "sets.contains": {(list, list): _contains_all},
    "sets.equivalent": {(list, list): lambda one, other: _contains_all(one, other) and _contains_all(other, one)},
    "sets.intersects": {(list, list): lambda one, other: any(contains(value, other) for value in one)},
    "optional.none": {(): lambda: NONE},
    "optional.unwrap": {(list,): _unwrapped},
    "unwrapOpt": {(list,): _unwrapped},
    "first": {(list,): lambda values: Optional(values[0], True) if values else NONE},
    "last": {(list,): lambda values: Optional(values[-1], True) if values else NONE},
    "hasValue": {(Optional,): lambda value: value.present},
    "value": {(Optional,): _held},
    **{
        name: {
            (Timestamp,): lambda moment, name=name: times.part(moment, name),
            (Timestamp, str): lambda moment, zone, name=name: times.part(moment, name, zone),
        }
        for name in (*_PARTS, *_TIMES)
    },
}
for _name in _TIMES:
    _FUNCTIONS[_name][Duration,] = lambda length, name=_name: times.total(length, name)


def call(name: str, arguments: list[Any]) -> Any:
    """A function or method by its name; the receiver of a method is the first argument."""
    if name in conversions.NAMES and len(arguments) == 1:
        if not conversions.fits(name, arguments[0]):
            raise no_overload(name, arguments)
        return conversions.convert(name, arguments[0])
    general = _GENERAL.get((name, len(arguments)))
    if general is not None:
        return general(*arguments)
    function = _FUNCTIONS.get(name, {}).get(tuple(type(argument) for argument in arguments))
    if function is None:
        raise no_overload(name, arguments)
    return function(*arguments)


_GENERAL: dict[tuple[str, int], Function] = {
    ("size", 1): _size,
    ("type", 1): conversions.type_value,
    ("dyn", 1): lambda value: value,
    ("optional.of", 1): lambda value: Optional(value, True),
    ("optional.ofNonZeroValue", 1): lambda value: NONE if is_zero(value) else Optional(value, True),
}

COMPARISONS: dict[str, Function] = {
    "_<_": lambda left, right: compare(left, right) < 0,
    "_<=_": lambda left, right: compare(left, right) <= 0,
    "_>_": lambda left, right: compare(left, right) > 0,
    "_>=_": lambda left, right: compare(left, right) >= 0,
    "_==_": equal,
    "_!=_": lambda left, right: not equal(left, right),
    "@in": contains,
}
OPERATORS = frozenset(_OPERATORS)
