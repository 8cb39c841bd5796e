"""The shape of a document between its text and its ciphertext: order, comments and exact scalar types survive.

Text that is not UTF-8 (a binary file) is carried in `str` with surrogate escapes, so that no byte is lost.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from math import isinf, isnan
from typing import TYPE_CHECKING, TypeAlias

from penstock.sops.errors import LoadError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment without its `#`. An inline one stands behind a value."""

    text: str
    inline: bool = False


@dataclass(frozen=True, slots=True)
class Timestamp:
    """A point in time, as RFC 3339 text with as many fractional digits as it has."""

    text: str


class Branch:
    """A mapping as pairs: order, repeated keys and comments (pairs of a comment and nothing) are kept."""

    __slots__ = ("pairs",)

    def __init__(self, pairs: Iterable[tuple[Key, Value]] = ()) -> None:
        self.pairs = list(pairs)

    def __iter__(self) -> Iterator[tuple[Key, Value]]:
        return iter(self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Branch) and self.pairs == other.pairs

    __hash__ = None  # type: ignore[assignment]  # it changes while a file is read

    def append(self, pair: tuple[Key, Value]) -> None:
        self.pairs.append(pair)

    def extend(self, pairs: Iterable[tuple[Key, Value]]) -> None:
        self.pairs.extend(pairs)

    def get(self, name: str) -> Value:
        """The first value under a name, or None."""
        return next((value for key, value in self.pairs if key == name), None)


Scalar: TypeAlias = "str | int | float | bool | Timestamp | None"
Key: TypeAlias = "str | Comment"
Value: TypeAlias = "Scalar | Comment | Branch | list[Value]"

_TIMESTAMP = re.compile(
    r"(\d{4})-(\d{1,2})-(\d{1,2})(?:([Tt ])(\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)?)?\Z",
    re.ASCII,
)
_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def timestamp(text: str) -> Timestamp | None:
    """The time that a plain YAML scalar means, or None when it means none."""
    match = _TIMESTAMP.match(text)
    if not match:
        return None
    year, month, day, between, hour, minute, second, fraction, zone = match.groups()
    if between is None:
        hour = minute = second = "0"
    elif (between == " ") == (zone is not None):
        return None  # a space goes without a zone, a T with one
    if not _on_calendar(int(year), int(month), int(day)) or int(hour) > 23 or int(minute) > 59 or int(second) > 59:
        return None
    digits = (fraction or "").rstrip("0")
    when = f"{year}-{int(month):02}-{int(day):02}T{int(hour):02}:{int(minute):02}:{int(second):02}"
    return Timestamp(f"{when}{'.' + digits if digits else ''}{_zone(zone)}")


def _on_calendar(year: int, month: int, day: int) -> bool:
    if not 1 <= month <= 12 or not 1 <= day <= _DAYS[month - 1]:
        return False
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return leap or (month, day) != (2, 29)


def _zone(zone: str | None) -> str:
    return "Z" if zone in (None, "Z", "+00:00") else str(zone)


def plain_bytes(value: str | float | Timestamp | Comment) -> bytes:
    """The bytes that are encrypted, and that the MAC is made of."""
    if isinstance(value, str):
        return encoded(value)
    if isinstance(value, bool):
        return b"True" if value else b"False"
    if isinstance(value, int):
        return str(value).encode()
    if isinstance(value, float):
        return fixed(value).encode()
    return encoded(value.text)


def encoded(text: str) -> bytes:
    """The bytes of a text, those that are not UTF-8 included."""
    return text.encode("utf-8", "surrogateescape")


def decoded(data: bytes) -> str:
    """The text of some bytes, those that are not UTF-8 included."""
    return data.decode("utf-8", "surrogateescape")


def is_text(value: str) -> bool:
    """False when the string carries bytes that are not UTF-8."""
    return not any("\udc80" <= char <= "\udcff" for char in value) if not value.isascii() else True


def integer(text: str) -> int:
    """A decimal integer of 64 bits."""
    if not re.fullmatch(r"[+-]?[0-9]{1,20}", text) or not -(2**63) <= int(text) < 2**63:
        raise LoadError("an encrypted integer is no integer of 64 bits")
    return int(text)


def fixed(value: float) -> str:
    """The shortest decimal digits that give this float, never with an exponent."""
    return _special(value) or _trimmed(format(_digits(value), "f"))


def general(value: float, exponent: str = "e") -> str:
    """The shortest decimal digits, with an exponent below 1e-4 and from a million on."""
    return _special(value) or _scientific(value, exponent)


def json_number(value: float) -> str:
    """A float as JSON writers of Go spell it."""
    if isinf(value) or isnan(value):
        raise ValueError("JSON has no infinity and no NaN")
    if value == 0 or 1e-6 <= abs(value) < 1e21:
        return fixed(value)
    mantissa, power = _mantissa(value)
    sign = "-" if power < 0 else "+"
    return f"{mantissa}e{sign}{abs(power):02}" if power >= 0 or power <= -10 else f"{mantissa}e-{abs(power)}"


def _scientific(value: float, exponent: str) -> str:
    mantissa, power = _mantissa(value)
    if -4 <= power < 6:
        return fixed(value)
    return f"{mantissa}{exponent}{'-' if power < 0 else '+'}{abs(power):02}"


def _mantissa(value: float) -> tuple[str, int]:
    sign, digits, _ = _digits(value).normalize().as_tuple()
    power = _digits(value).adjusted() if value else 0
    text = "".join(str(digit) for digit in digits)
    return ("-" if sign else "") + text[0] + ("." + text[1:] if len(text) > 1 else ""), power


def _digits(value: float) -> Decimal:
    return Decimal(repr(value))


def _special(value: float) -> str:
    if isnan(value):
        return "NaN"
    return ("+Inf" if value > 0 else "-Inf") if isinf(value) else ""


def _trimmed(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text
