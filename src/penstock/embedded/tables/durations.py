"""Ages as kubectl users read them."""

from __future__ import annotations

from datetime import datetime

UNKNOWN = "<unknown>"
_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86400, 365 * 86400


def since(stamp: str | None, now: float) -> str:
    """How long ago a moment was; `<unknown>` when nobody wrote it down."""
    if not stamp:
        return UNKNOWN
    try:
        moment = datetime.fromisoformat(stamp)
    except ValueError:
        return "<invalid>"
    return human(now - moment.timestamp())


def human(seconds: float) -> str:
    """Seconds in few characters: the second unit is left out when it would say little."""
    whole = int(seconds)
    if seconds <= -2:
        return "<invalid>"
    if seconds < 0:
        return "0s"
    if whole < 2 * _MINUTE:
        return f"{whole}s"
    if whole < 3 * _HOUR:
        return _two(whole, _MINUTE, "m", 1, "s") if whole < 10 * _MINUTE else f"{whole // _MINUTE}m"
    if whole < 2 * _DAY:
        return _two(whole, _HOUR, "h", _MINUTE, "m") if whole < 8 * _HOUR else f"{whole // _HOUR}h"
    if whole < 2 * _YEAR:
        return _two(whole, _DAY, "d", _HOUR, "h") if whole < 8 * _DAY else f"{whole // _DAY}d"
    return _two(whole, _YEAR, "y", _DAY, "d") if whole < 8 * _YEAR else f"{whole // _YEAR}y"


def _two(seconds: int, large: int, first: str, small: int, second: str) -> str:
    rest = seconds % large // small
    return f"{seconds // large}{first}{rest}{second}" if rest else f"{seconds // large}{first}"
