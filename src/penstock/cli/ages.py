"""Times as people read them: how long ago, in the steps that kubectl and Flux use."""

from __future__ import annotations

from datetime import UTC, datetime

MINUTE, HOUR, DAY = 60, 3600, 86400
YEAR = 365 * DAY

_STEPS = (
    (2 * MINUTE, 1, "s", 0, ""),
    (10 * MINUTE, MINUTE, "m", 1, "s"),
    (3 * HOUR, MINUTE, "m", 0, ""),
    (8 * HOUR, HOUR, "h", MINUTE, "m"),
    (2 * DAY, HOUR, "h", 0, ""),
    (8 * DAY, DAY, "d", HOUR, "h"),
    (2 * YEAR, DAY, "d", 0, ""),
    (8 * YEAR, YEAR, "y", DAY, "d"),
)
"""Below which age, the unit and its sign, and the unit of the rest where that is told too."""


def age(seconds: float) -> str:
    """A span of time as `45s`, `5m10s`, `3h`, `2d5h`."""
    whole = int(seconds)
    if whole < -1:
        return "<invalid>"
    if whole < 0:
        return "0s"
    for below, unit, sign, smaller, rest in _STEPS:
        if whole < below:
            left = whole % unit // smaller if smaller else 0
            return f"{whole // unit}{sign}" + (f"{left}{rest}" if left else "")
    return f"{whole // YEAR}y"


def ago(moment: str, now: datetime | None = None) -> str:
    """How long ago a time of the API was; `<unknown>` when it is none."""
    try:
        then = datetime.fromisoformat(moment)
    except ValueError:
        return "<unknown>"
    return age(((now or datetime.now(UTC)) - then).total_seconds())


def local(moment: str) -> str:
    """A time of the API on the clock of this machine, as Go prints it."""
    try:
        then = datetime.fromisoformat(moment)
    except ValueError:
        return moment or "<unknown>"
    return then.astimezone().strftime("%Y-%m-%d %H:%M:%S %z %Z")
