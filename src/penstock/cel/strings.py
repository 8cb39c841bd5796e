"""The functions for texts beyond those of the language itself."""

from __future__ import annotations

import re
from typing import Any

from penstock.cel.conversions import show_double
from penstock.cel.errors import Problem
from penstock.cel.times import show_duration, show_timestamp
from penstock.cel.values import Duration, Timestamp, TypeValue, UInt, type_name

# What Go takes for white space.
_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
_QUOTED = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
}
_CLAUSE = re.compile(r"%(?:%|(?:\.([0-9]+))?(.)?)", re.DOTALL)
_MOST_DIGITS = 100


def char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise Problem(f"index out of range: {index}")
    return text[index : index + 1]


def index_of(text: str, part: str, start: int = 0) -> int:
    if not part:
        return start
    if not 0 <= start <= len(text):
        raise Problem(f"index out of range: {start}")
    return text.find(part, start)


def last_index_of(text: str, part: str, end: int | None = None) -> int:
    if end is None:
        return len(text) if not part else text.rfind(part)
    if not part:
        return end
    if not 0 <= end <= len(text):
        raise Problem(f"index out of range: {end}")
    return text.rfind(part, 0, end + len(part))


def substring(text: str, start: int, end: int | None = None) -> str:
    if end is None:
        end = len(text)
    elif start > end:
        raise Problem(f"invalid substring range. start: {start}, end: {end}")
    if not 0 <= start <= len(text):
        raise Problem(f"index out of range: {start}")
    if not 0 <= end <= len(text):
        raise Problem(f"index out of range: {end}")
    return text[start:end]


def split(text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    if not separator:
        parts = list(text)
        return parts if limit < 0 or limit >= len(parts) else [*parts[: limit - 1], "".join(parts[limit - 1 :])]
    return text.split(separator) if limit < 0 else text.split(separator, limit - 1)


def lower_ascii(text: str) -> str:
    return "".join(char.lower() if "A" <= char <= "Z" else char for char in text)


def upper_ascii(text: str) -> str:
    return "".join(char.upper() if "a" <= char <= "z" else char for char in text)


def trim(text: str) -> str:
    return text.strip(_SPACE)


def quote(text: str) -> str:
    return f'"{"".join(_QUOTED.get(char, char) for char in text)}"'


def format_text(text: str, values: list[Any]) -> str:
    """The text with `%s`, `%d`, `%f`, `%e`, `%b`, `%x`, `%X` and `%o` replaced by the values, one after another."""
    rest = iter(enumerate(values))

    def replaced(match: re.Match[str]) -> str:
        if match[0] == "%%":
            return "%"
        verb = match[2]
        if verb is None:
            raise Problem("could not parse formatting clause: unexpected end of string")
        if verb not in "sdfebxXo":
            raise Problem(f'could not parse formatting clause: unrecognized formatting clause "{verb}"')
        try:
            index, value = next(rest)
        except StopIteration:
            raise Problem(f"index {len(values)} out of range") from None
        precision = min(int(match[1]), _MOST_DIGITS) if match[1] else 6
        try:
            return _verb(verb, value, precision)
        except _Unfit:
            raise Problem(f"error during formatting: no formatting function for {type_name(values[index])}") from None

    return _CLAUSE.sub(replaced, text)


class _Unfit(Exception):
    pass


def _verb(verb: str, value: Any, precision: int) -> str:
    kind = type(value)
    if verb == "s":
        return _shown(value)
    if verb in "fe" and kind in (float, int, UInt):
        return _fraction(float(value), verb, precision)
    if verb == "d" and kind in (int, UInt):
        return str(int(value))
    if verb == "b" and kind in (int, UInt, bool):
        return f"{int(value):b}"
    if verb == "o" and kind in (int, UInt):
        return f"{int(value):o}"
    if verb in "xX":
        if kind in (int, UInt):
            return f"{int(value):{verb}}"
        if kind in (str, bytes):
            digits = bytes(value.encode() if kind is str else value).hex()
            return digits.upper() if verb == "X" else digits
    raise _Unfit


def _fraction(number: float, verb: str, precision: int) -> str:
    if number != number:
        return "NaN"
    if abs(number) == float("inf"):
        return "Infinity" if number > 0 else "-Infinity"
    return f"{number:.{precision}{verb}}"


def _shown(value: Any) -> str:
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case None:
            return "null"
        case float():
            return {"+Inf": "Infinity", "-Inf": "-Infinity"}.get(text := show_double(value), text)
        case bytes():
            return value.decode("utf-8", "replace")
        case Timestamp():
            return show_timestamp(value)
        case Duration():
            return show_duration(value)
        case TypeValue():
            return value.name
        case list():
            return f"[{', '.join(_shown(item) for item in value)}]"
        case dict():
            entries = sorted((_shown(key), _shown(item)) for key, item in value.items())
            return f"{{{', '.join(f'{key}: {item}' for key, item in entries)}}}"
        case int():
            return str(int(value))
        case _:
            raise _Unfit
