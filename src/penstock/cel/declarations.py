"""What every function takes and gives, as the checker needs it.

A line is `name: (types) -> type`, a method has its receiver before the bracket, and `A` and `B` stand for any type. The
functions themselves are in `functions`, `conversions`, `strings` and `times`.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from penstock.cel.types import Type

_LINES = """
_?_:_: (bool, A, A) -> A
!_: (bool) -> bool
-_: (int) -> int | (double) -> double
_==_: (A, A) -> bool
_!=_: (A, A) -> bool
@in: (A, list(A)) -> bool | (A, map(A, B)) -> bool
_+_: (int, int) -> int | (uint, uint) -> uint | (double, double) -> double | (string, string) -> string
_+_: (bytes, bytes) -> bytes | (list(A), list(A)) -> list(A) | (duration, duration) -> duration
_+_: (timestamp, duration) -> timestamp | (duration, timestamp) -> timestamp
_-_: (int, int) -> int | (uint, uint) -> uint | (double, double) -> double | (duration, duration) -> duration
_-_: (timestamp, timestamp) -> duration | (timestamp, duration) -> timestamp
_*_: (int, int) -> int | (uint, uint) -> uint | (double, double) -> double
_/_: (int, int) -> int | (uint, uint) -> uint | (double, double) -> double
_%_: (int, int) -> int | (uint, uint) -> uint
_[_]: (list(A), int) -> A | (map(A, B), A) -> B | (optional(list(A)), int) -> optional(A)
_[_]: (optional(map(A, B)), A) -> optional(B)
_[?_]: (list(A), int) -> optional(A) | (map(A, B), A) -> optional(B) | (optional(list(A)), int) -> optional(A)
_[?_]: (optional(map(A, B)), A) -> optional(B)
size: (string) -> int | (bytes) -> int | (list(A)) -> int | (map(A, B)) -> int
size: string() -> int | bytes() -> int | list(A)() -> int | map(A, B)() -> int
type: (A) -> type(A)
dyn: (A) -> dyn
bool: (bool) -> bool | (string) -> bool
bytes: (bytes) -> bytes | (string) -> bytes
double: (double) -> double | (int) -> double | (uint) -> double | (string) -> double
duration: (duration) -> duration | (int) -> duration | (string) -> duration
int: (int) -> int | (uint) -> int | (double) -> int | (string) -> int | (timestamp) -> int | (duration) -> int
string: (string) -> string | (bool) -> string | (bytes) -> string | (double) -> string | (duration) -> string
string: (int) -> string | (timestamp) -> string | (uint) -> string
timestamp: (timestamp) -> timestamp | (int) -> timestamp | (string) -> timestamp
uint: (uint) -> uint | (double) -> uint | (int) -> uint | (string) -> uint
matches: (string, string) -> bool | string(string) -> bool
contains: string(string) -> bool
startsWith: string(string) -> bool
endsWith: string(string) -> bool
getFullYear: timestamp() -> int | timestamp(string) -> int
getMonth: timestamp() -> int | timestamp(string) -> int
getDate: timestamp() -> int | timestamp(string) -> int
getDayOfMonth: timestamp() -> int | timestamp(string) -> int
getDayOfWeek: timestamp() -> int | timestamp(string) -> int
getDayOfYear: timestamp() -> int | timestamp(string) -> int
getHours: timestamp() -> int | timestamp(string) -> int | duration() -> int
getMinutes: timestamp() -> int | timestamp(string) -> int | duration() -> int
getSeconds: timestamp() -> int | timestamp(string) -> int | duration() -> int
getMilliseconds: timestamp() -> int | timestamp(string) -> int | duration() -> int
charAt: string(int) -> string
format: string(list(dyn)) -> string
indexOf: string(string) -> int | string(string, int) -> int
join: list(string)() -> string | list(string)(string) -> string
lastIndexOf: string(string) -> int | string(string, int) -> int
lowerAscii: string() -> string
upperAscii: string() -> string
replace: string(string, string) -> string | string(string, string, int) -> string
reverse: string() -> string
split: string(string) -> list(string) | string(string, int) -> list(string)
strings.quote: (string) -> string
substring: string(int) -> string | string(int, int) -> string
trim: string() -> string
base64.decode: (string) -> bytes
base64.encode: (bytes) -> string
sets.contains: (list(A), list(A)) -> bool
sets.equivalent: (list(A), list(A)) -> bool
sets.intersects: (list(A), list(A)) -> bool
optional.none: () -> optional(A)
optional.of: (A) -> optional(A)
optional.ofNonZeroValue: (A) -> optional(A)
optional.unwrap: (list(optional(A))) -> list(A)
unwrapOpt: list(optional(A))() -> list(A)
first: list(A)() -> optional(A)
last: list(A)() -> optional(A)
hasValue: optional(A)() -> bool
value: optional(A)() -> A
or: optional(A)(optional(A)) -> optional(A)
orValue: optional(A)(A) -> A
"""
_ORDER = ("<", "<=", ">", ">=")
_ORDERED = ("bool", "int", "uint", "double", "string", "bytes", "timestamp", "duration")
_MIXED = (
    ("int", "uint"),
    ("int", "double"),
    ("uint", "int"),
    ("uint", "double"),
    ("double", "int"),
    ("double", "uint"),
)
_LONG = {
    "timestamp": "google.protobuf.Timestamp",
    "duration": "google.protobuf.Duration",
    "optional": "optional_type",
    "A": "'A",
    "B": "'B",
}
_WORD = re.compile(r"[A-Za-z]+")


class Overload(NamedTuple):
    """One way to call a function; the receiver of a method is its first parameter."""

    method: bool
    parameters: tuple[Type, ...]
    result: Type


@cache
def overloads() -> dict[str, list[Overload]]:
    """All ways to call each function, by its name."""
    found: dict[str, list[Overload]] = {}
    for line in _LINES.strip().splitlines():
        name, _, rest = line.partition(": ")
        found.setdefault(name, []).extend(_overload(form) for form in rest.split(" | "))
    for sign in _ORDER:
        pairs = [*((one, one) for one in _ORDERED), *_MIXED]
        found[f"_{sign}_"] = [Overload(False, (_type(one), _type(other)), Type("bool")) for one, other in pairs]
    return found


def is_declared(name: str) -> bool:
    """Whether there is a function of that name; `&&` and `||` are no functions."""
    return name in overloads()


def _overload(form: str) -> Overload:
    call, _, result = form.partition(" -> ")
    opened = _opening(call)
    arguments = _types(call[opened + 1 : -1])
    receiver = call[:opened]
    return Overload(bool(receiver), (*_types(receiver), *arguments), _type(result))


def _opening(call: str) -> int:
    """Where the last bracket that is closed at the end was opened."""
    depth = 0
    for at in range(len(call) - 1, -1, -1):
        depth += (call[at] == ")") - (call[at] == "(")
        if not depth:
            return at
    raise ValueError(call)


def _types(text: str) -> tuple[Type, ...]:
    """Types with commas between them."""
    found: list[Type] = []
    depth, start = 0, 0
    for at, char in enumerate(f"{text},"):
        depth += (char == "(") - (char == ")")
        if char == "," and not depth:
            if part := text[start:at].strip():
                found.append(_type(part))
            start = at + 1
    return tuple(found)


def _type(text: str) -> Type:
    match = _WORD.match(text)
    name = match[0] if match else text
    return Type(_LONG.get(name, name), _types(text[len(name) + 1 : -1]))
