"""Go durations: the `1h30m` of every interval and timeout in the Flux API.

A duration is a whole number of nanoseconds between zero and Go's largest, about 292 years. What does not fit is
refused here, where the object and the field are known, and not where somebody sleeps.
"""

import re
from typing import ClassVar, Self

from penstock.errors import PenstockError

NANOSECOND = 1
MICROSECOND = 1_000 * NANOSECOND
MILLISECOND = 1_000 * MICROSECOND
SECOND = 1_000 * MILLISECOND
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE

_UNITS = {
    "ns": NANOSECOND,
    "us": MICROSECOND,
    "\N{MICRO SIGN}s": MICROSECOND,
    "\N{GREEK SMALL LETTER MU}s": MICROSECOND,
    "ms": MILLISECOND,
    "s": SECOND,
    "m": MINUTE,
    "h": HOUR,
}
_LARGEST = 2**63 - 1
_TERM = re.compile(rf"([0-9]*)(?:(\.)([0-9]*))?({'|'.join(sorted(_UNITS, key=len, reverse=True))})")
_SHOWN = 40
_LONGEST_TEXT = 100  # a megabyte of `0s0s0s` is legal to the API server, and nothing to spend a second on


class InvalidDuration(PenstockError, ValueError):
    """A text that is no duration, or one that does not fit."""


class Duration(int):
    """A span of time in nanoseconds, written as Go writes it: `30s`, `4m30s`, `176.163666ms`, `1h0m0s`.

    As the type of a field it takes what the API server takes: no sign, and only the units ms, s, m and h.
    """

    pattern: ClassVar[str] = r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$"
    example: ClassVar[str] = "10m or 1h30m"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read any duration that Go prints; a negative or overflowing one is refused.

        Fractions are cut to nanoseconds with Go's own arithmetic, so both sides agree on every value.
        """
        if text == "0":
            return cls(0)
        if text.startswith("-"):
            raise InvalidDuration(f"{quoted(text)} is negative; a duration here must not be")
        _check_length(text)
        total = end = 0
        while end < len(text):
            term = _TERM.match(text, end)
            if not term or not (term[1] or term[3]):
                break
            total += _nanoseconds(term[1], term[3] or "", _UNITS[term[4]])
            end = term.end()
        if not text or end < len(text):
            raise InvalidDuration(f"{quoted(text)} is not a duration like {cls.example}")
        if total > _LARGEST:
            raise InvalidDuration(f"{quoted(text)} is too long; a duration ends at about 292 years")
        return cls(total)

    @classmethod
    def from_field(cls, value: object) -> Self:
        """Read the value of a field as the API server would accept it."""
        if isinstance(value, str):
            _check_length(value)
        # fullmatch: Python's `$` would let a line break at the end pass, Go's does not.
        if not isinstance(value, str) or not re.fullmatch(cls.pattern, value):
            raise InvalidDuration(f"{quoted(value)} is not a duration like {cls.example}")
        return cls.parse(value)

    @property
    def seconds(self) -> float:
        """The same span for asyncio and the clock."""
        return int(self) / SECOND

    def __str__(self) -> str:
        if self < SECOND:
            return _below_a_second(int(self))
        minutes, rest = divmod(int(self), MINUTE)
        text = f"{_decimal(rest, SECOND)}s"
        if not minutes:
            return text
        hours, minutes = divmod(minutes, 60)
        return f"{hours}h{minutes}m{text}" if hours else f"{minutes}m{text}"

    def __repr__(self) -> str:
        return f"Duration({self})"


class Timeout(Duration):
    """A duration in a field that takes no hours: the timeouts of sources and providers."""

    pattern: ClassVar[str] = r"^([0-9]+(\.[0-9]+)?(ms|s|m))+$"
    example: ClassVar[str] = "30s or 1m30s (hours are not taken here)"


def quoted(value: object) -> str:
    """A value as an error may show it: on one line, and never long."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, (list, tuple)):
        return "a list"
    if isinstance(value, int):
        return str(value) if abs(value) < 10**18 else "a very large number"
    if not isinstance(value, str):
        return str(value)[:_SHOWN]
    cut = value if len(value) <= _SHOWN else value[:_SHOWN] + "..."
    return '"' + cut.encode("unicode_escape").decode().replace('"', '\\"') + '"'


def _check_length(text: str) -> None:
    if len(text) > _LONGEST_TEXT:
        raise InvalidDuration(f"{quoted(text)} has more than {_LONGEST_TEXT} characters; no duration needs that")


def _nanoseconds(whole: str, fraction: str, unit: int) -> int:
    digits = whole.lstrip("0")
    if len(digits) > 19:  # past Go's largest whatever the unit; never hand a million digits to int()
        return _LARGEST + 1
    return int(digits or "0") * unit + _part(fraction, unit)


def _part(fraction: str, unit: int) -> int:
    """What stands behind the point, in nanoseconds.

    Go reads as many digits as fit a signed 64-bit number, ignores the others and multiplies as floats. Whole
    numbers would be more exact, and different in the last nanosecond.
    """
    value, scale = 0, 1.0
    for digit in fraction[:20]:
        longer = value * 10 + int(digit)
        if value > _LARGEST // 10 or longer > _LARGEST + 1:
            break
        value, scale = longer, scale * 10
    return int(value * (unit / scale))


def _below_a_second(nanoseconds: int) -> str:
    if not nanoseconds:
        return "0s"
    for name, unit in (("ms", MILLISECOND), ("\N{MICRO SIGN}s", MICROSECOND)):
        if nanoseconds >= unit:
            return f"{_decimal(nanoseconds, unit)}{name}"
    return f"{nanoseconds}ns"


def _decimal(nanoseconds: int, unit: int) -> str:
    whole, rest = divmod(nanoseconds, unit)
    if not rest:
        return str(whole)
    width = len(str(unit)) - 1
    return f"{whole}.{rest:0{width}}".rstrip("0")
