"""What a plain scalar means: the rules of the two YAML dialects that kustomize reads.

Resources follow YAML 1.2 with the integers of 1.1 (`0777` is octal, `yes` is a string); kustomization files
follow 1.1 (`yes` and `y` are booleans). A number that is written in an unusual way keeps its text: an
annotation `version: 1.10` must come out as "1.10", although the value is the number 1.1.
"""

import re
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal

from penstock.yaml.errors import YAMLError

if TYPE_CHECKING:
    from datetime import timezone

Dialect = Literal["resource", "kustomization"]

NULLS = frozenset({"", "~", "null", "Null", "NULL"})
TRUTHS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
OLD_TRUTHS = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "off", "Off", "OFF"), False),
}
NOT_FINITE = {
    sign + word: float(sign + word.lower().strip(".")) for sign in ("", "+", "-") for word in (".inf", ".Inf", ".INF")
} | dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan"))

_INTEGER = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_TIME = (  # not compiled before the first one is met: few builds have any, and all of them should start fast
    r"(\d{4})-(\d{1,2})-(\d{1,2})"
    r"(?:(?:[Tt](\d{1,2}):(\d{1,2}):(\d{1,2})(?:[.,](\d+))?(Z|[-+]\d\d:\d\d))"
    r"|(?: (\d{1,2}):(\d{1,2}):(\d{1,2})(?:[.,](\d+))?))?\Z"
)
_LONGEST_NUMBER = 400  # more digits than any float has; conversion cost grows with the square


class WrittenInt(int):
    """An integer or boolean whose text is not the one we would write."""

    text: str


class WrittenBool(WrittenInt):
    """A boolean spelled `True` or `FALSE`; Python's own bool cannot carry a text."""


class WrittenFloat(float):
    """A float whose text is not the one we would write."""

    text: str


class WrittenTime(str):
    """A date that was written without quotes: the value is RFC 3339, the text is what stood there."""

    __slots__ = ("text",)
    text: str


class Untagged(str):
    """A scalar that was set without a type: in the end it has the one that its text suggests."""

    __slots__ = ()


class WrittenKey(str):
    """A key that was not written as a string: it can be matched, but not printed."""

    __slots__ = ()


def written_key(text: str) -> str:
    """A key as kustomize writes a new one, without quotes: a number makes the object unprintable."""
    return text if type(resolve(text, "resource")) is str else WrittenKey(text)


def resolve(text: str, dialect: Dialect) -> Any:
    """The value of a plain scalar."""
    if text in NULLS:
        return None
    if text in TRUTHS:
        return _truth(text, TRUTHS[text])
    if dialect == "kustomization" and text in OLD_TRUTHS:
        return OLD_TRUTHS[text]
    if text[0] not in "+-.0123456789":
        return text
    return _number_or_time(text)


def is_string(text: str) -> bool:
    """Whether a YAML 1.1 reader takes the plain text for a string; if not, it has to be quoted."""
    if text in NULLS or text in TRUTHS or text in OLD_TRUTHS:
        return False
    if text[0] not in "+-.0123456789":
        return True
    value = _number_or_time(text)
    return type(value) is str


def text_of(value: Any) -> str:
    """The text that stands for a scalar in the file; empty for null and collections."""
    kind = type(value)
    if kind is str:
        return str(value)
    if kind is bool:
        return "true" if value else "false"
    if kind is int:
        return str(value)
    if isinstance(value, (WrittenInt, WrittenFloat, WrittenTime)):
        return value.text
    if kind is float:
        return repr(value)
    return str(value) if isinstance(value, str) else ""


def plain(value: Any) -> Any:
    """The value without its memory of how it was written: what JSON knows."""
    if isinstance(value, dict):
        return {_plain_key(key): plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, WrittenBool):
        return bool(value)
    if isinstance(value, WrittenInt):
        return int(value)
    if isinstance(value, Untagged):
        return plain(resolve(str(value), "resource"))
    if isinstance(value, WrittenTime):
        return str(value)
    if isinstance(value, float):
        if not isfinite(value):
            raise YAMLError(f"JSON has no number '{value}'")
        return _json_number(float(value))
    return value


def through_json(value: Any) -> Any:
    """The value as it comes back from JSON: all numbers are floats there, so large integers lose digits."""
    if isinstance(value, dict):
        return {_plain_key(key): through_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [through_json(item) for item in value]
    value = plain(value)
    if isinstance(value, int) and abs(value) > 1 << 53:
        written = WrittenFloat(value)
        written.text = format_float(float(value))
        return written
    return value


def _plain_key(key: str) -> str:
    if type(key) is WrittenKey:
        raise YAMLError(f"the key {key} is not a string; put quotes around it")
    return key


def format_float(value: float) -> str:
    """A float as Go's shortest `%g` writes it: with an exponent below 1e-4 and from 1e6 on."""
    mantissa, _, power = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    exponent = int(power or 0) + (len(whole) - 1 if whole != "0" else len(digits) - len(fraction) - 1)
    if -4 <= exponent < 6 or not digits:
        return repr(value)
    digits = digits.rstrip("0")
    tail = "." + digits[1:] if len(digits) > 1 else ""
    return f"{'-' if value < 0 else ''}{digits[0]}{tail}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def _truth(text: str, value: bool) -> bool | WrittenBool:
    if text in {"true", "false"}:
        return value
    written = WrittenBool(value)
    written.text = text
    return written


def _number_or_time(text: str) -> Any:
    if (not_finite := NOT_FINITE.get(text)) is not None:
        return not_finite
    if text[0] == ".":
        return _float(text, text) if _FLOAT.match(text) else text
    if text[4:5] == "-" and (moment := _time(text)) is not None:
        return moment
    bare = text.replace("_", "")
    if len(bare) > _LONGEST_NUMBER:
        return text
    if (match := _INTEGER.match(bare)) and (whole := _integer(match)) is not None:
        return _written_int(whole, text)
    return _float(bare, text) if _FLOAT.match(bare) else text


def _integer(match: re.Match[str]) -> int | None:
    sign, hexadecimal, binary, octal, decimal = match.groups()
    for digits, base in ((hexadecimal, 16), (binary, 2), (octal, 8), (decimal, 10)):
        if digits is not None:
            value = int(digits, base)
            break
    else:
        return None
    if sign == "-":
        return -value if value <= 1 << 63 else None
    return value if value < (1 << 63 if sign else 1 << 64) else None


def _written_int(value: int, text: str) -> int:
    if str(value) == text:
        return value
    written = WrittenInt(value)
    written.text = text
    return written


def _float(bare: str, text: str) -> Any:
    value = float(bare)
    if value in (float("inf"), float("-inf")):
        return text
    if repr(value) == text and not value.is_integer():
        return value
    written = WrittenFloat(value)
    written.text = text
    return written


def _json_number(value: float) -> int | float:
    if value.is_integer() and -(1 << 63) <= value < 1 << 64:
        mantissa, _, exponent = repr(value).partition("e")
        whole, _, fraction = mantissa.partition(".")
        return int(whole + fraction.ljust(int(exponent), "0")) if exponent else int(whole)
    return value


def _time(text: str) -> WrittenTime | None:
    match = re.match(_TIME, text)
    if match is None:
        return None
    year, month, day, *clock = match.groups()
    hour, minute, second, fraction = clock[5:] if clock[5] else clock[:4]
    from datetime import datetime, timedelta  # dates without quotes are rare, and imports cost

    nanoseconds = (fraction or "").rstrip("0")[:9]
    offset = clock[4] or "Z"
    try:
        moment = datetime(
            int(year),
            int(month),
            int(day),
            int(hour or 0),
            int(minute or 0),
            int(second or 0),
            tzinfo=_zone(offset),
        )
    except ValueError:
        return None
    suffix = "Z" if moment.utcoffset() == timedelta(0) else offset
    written = WrittenTime(
        f"{moment:%Y-%m-%dT%H:%M:%S}".rjust(19, "0") + (f".{nanoseconds}" if nanoseconds else "") + suffix
    )
    written.text = text
    return written


def _zone(offset: str) -> "timezone":
    from datetime import UTC, timedelta, timezone

    if offset == "Z":
        return UTC
    shift = timedelta(hours=int(offset[1:3]), minutes=int(offset[4:6]))
    return timezone(-shift if offset[0] == "-" else shift)
