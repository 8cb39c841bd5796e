"""Timestamps and durations: read, written, and taken apart as Go does."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from penstock.cel.errors import Problem
from penstock.cel.values import Duration, Timestamp

SECOND = 10**9
_UNITS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": SECOND,
    "m": 60 * SECOND,
    "h": 3600 * SECOND,
}
_PART = re.compile(r"([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)")
_MOMENT = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?(Z|[+-][0-9]{2}:[0-9]{2})"
)
_OFFSET = re.compile(r"([+-]?)([0-9]{1,2}):([0-9]{2})")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST, _LAST = -62135596800 * SECOND, 253402300800 * SECOND
_LONGEST = 2**63


def timestamp(nanos: int) -> Timestamp:
    """A moment between the years 1 and 9999."""
    if not _FIRST <= nanos < _LAST:
        raise Problem("timestamp overflow")
    return Timestamp(nanos)


def duration(nanos: int) -> Duration:
    if not -_LONGEST <= nanos < _LONGEST:
        raise Problem("duration overflow")
    return Duration(nanos)


def parse_duration(text: str) -> Duration | None:
    """`1h30m`, `1.5s`, `-1ms`; None for anything else."""
    sign = -1 if text.startswith("-") else 1
    rest = text[1:] if text[:1] in ("-", "+") else text
    if rest == "0":
        return Duration(0)
    nanos, at = 0, 0
    while at < len(rest):
        match = _PART.match(rest, at)
        if match is None or not (match[1] or match[2]) or len(match[0]) > 40:
            return None
        unit, fraction = _UNITS[match[3]], match[2] or ""
        nanos += int(match[1] or "0") * unit + (int(fraction) * unit // 10 ** len(fraction) if fraction else 0)
        at = match.end()
    if not rest or nanos >= _LONGEST:
        return None
    return Duration(sign * nanos)


def parse_timestamp(text: str) -> Timestamp | None:
    """A moment as RFC 3339 writes it; None for anything else."""
    match = _MOMENT.fullmatch(text)
    if match is None:
        return None
    zone = UTC if match[8] == "Z" else _offset(match[8])
    try:
        year, month, day, hour, minute, second = (int(match[group]) for group in range(1, 7))
        moment = datetime(year, month, day, hour, minute, second, tzinfo=zone)
    except ValueError:
        return None
    since = moment - _EPOCH
    nanos = int((match[7] or "0")[:9].ljust(9, "0"))
    return Timestamp((since.days * 86400 + since.seconds) * SECOND + nanos)


def show_timestamp(moment: Timestamp) -> str:
    seconds, nanos = divmod(moment.nanos, SECOND)
    shown = (_EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0")
    fraction = f".{nanos:09d}".rstrip("0") if nanos else ""
    return f"{shown}{fraction}Z"


def show_duration(length: Duration) -> str:
    """In seconds, as protobuf writes it."""
    sign, nanos = ("-", -length.nanos) if length.nanos < 0 else ("", length.nanos)
    seconds, rest = divmod(nanos, SECOND)
    fraction = f".{rest:09d}".rstrip("0") if rest else ""
    return f"{sign}{seconds}{fraction}s"


def part(moment: Timestamp, name: str, zone: str = "UTC") -> int:
    """What `getHours` and its like tell of a moment in a time zone: a name, or hours and minutes."""
    seconds, nanos = divmod(moment.nanos, SECOND)
    try:
        local = (_EPOCH + timedelta(seconds=seconds)).astimezone(_zone(zone))
    except OverflowError:
        raise Problem("timestamp overflow") from None
    match name:
        case "getFullYear":
            return local.year
        case "getMonth":
            return local.month - 1
        case "getDate":
            return local.day
        case "getDayOfMonth":
            return local.day - 1
        case "getDayOfWeek":
            return local.isoweekday() % 7
        case "getDayOfYear":
            return local.timetuple().tm_yday - 1
        case "getHours":
            return local.hour
        case "getMinutes":
            return local.minute
        case "getSeconds":
            return local.second
        case _:
            return nanos // 10**6


def total(length: Duration, name: str) -> int:
    """The whole of a duration in one unit, cut off towards zero."""
    units = {"getHours": 3600 * SECOND, "getMinutes": 60 * SECOND, "getSeconds": SECOND, "getMilliseconds": 10**6}
    whole = abs(length.nanos) // units[name]
    return whole if length.nanos >= 0 else -whole


def _zone(name: str) -> tzinfo:
    if ":" in name:
        return _offset(name)
    try:
        return ZoneInfo(name or "UTC")
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise Problem(f"unknown time zone {name}") from None


def _offset(text: str) -> tzinfo:
    match = _OFFSET.fullmatch(text)
    if match is None or int(match[2]) > 23 or int(match[3]) > 59:
        raise Problem(f"unknown time zone {text}")
    minutes = int(match[2]) * 60 + int(match[3])
    return timezone(timedelta(minutes=-minutes if match[1] == "-" else minutes))
