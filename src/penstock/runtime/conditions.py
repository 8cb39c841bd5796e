"""Conditions of an object: pure functions from one list of conditions to the next.

The rules are Flux's. `Reconciling` and `Stalled` exist only while they are true, and each puts the other out.
"""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING, Literal

import msgspec

from penstock.api.meta import Condition

if TYPE_CHECKING:
    from datetime import datetime

Conditions = tuple[Condition, ...]
Truth = Literal["True", "False", "Unknown"]

READY = "Ready"
RECONCILING = "Reconciling"
STALLED = "Stalled"
HEALTHY = "Healthy"
OWNED = frozenset({READY, RECONCILING, STALLED, HEALTHY})
"""The types that a controller writes; all others belong to somebody else and are kept as they are."""

LONGEST_MESSAGE = 32768
"""Bytes of UTF-8 that the API takes."""

_EXCLUDES = {RECONCILING: STALLED, STALLED: RECONCILING}
_FIRST = {STALLED: 0, RECONCILING: 1, READY: 2}


def find(conditions: Conditions, name: str) -> Condition | None:
    """The condition of this type, if it is there."""
    return next((condition for condition in conditions if condition.type == name), None)


def mark(
    conditions: Conditions,
    name: str,
    status: Truth,
    *,
    reason: str,
    message: str,
    generation: int,
    now: datetime,
) -> Conditions:
    """The list with one condition set.

    The time of the last transition is `now` in whole seconds if status, reason or message changed, and stays
    as it was otherwise. A Reconciling or Stalled that is not true is removed instead.
    """
    if name in _EXCLUDES and status != "True":
        return drop(conditions, name)
    fresh = Condition(
        type=name,
        status=status,
        reason=reason,
        message=cut(message),
        last_transition_time=now.astimezone(UTC).replace(microsecond=0),
        observed_generation=generation,
    )
    known = find(conditions, name)
    if known is not None and _says(known) == _says(fresh):
        fresh = msgspec.structs.replace(fresh, last_transition_time=known.last_transition_time)
    return _sorted((*drop(conditions, name, _EXCLUDES.get(name, name)), fresh))


def drop(conditions: Conditions, *names: str) -> Conditions:
    """The list without the conditions of these types."""
    return tuple(condition for condition in conditions if condition.type not in names)


def is_ready(conditions: Conditions) -> bool:
    """Ready is true, and neither Reconciling nor Stalled is."""
    return _true(conditions, READY) and not any(_true(conditions, name) for name in _EXCLUDES)


def is_reconciling(conditions: Conditions) -> bool:
    """Reconciling is true and Stalled is not."""
    return _true(conditions, RECONCILING) and not _true(conditions, STALLED)


def is_stalled(conditions: Conditions) -> bool:
    """Stalled is true and Reconciling is not."""
    return _true(conditions, STALLED) and not _true(conditions, RECONCILING)


def cut(message: str) -> str:
    """The message within what the API takes; what is cut ends in three dots and in a whole character."""
    raw = message.encode(errors="replace")
    if len(raw) <= LONGEST_MESSAGE:
        return raw.decode()
    return raw[: LONGEST_MESSAGE - 3].decode(errors="ignore") + "..."


def _true(conditions: Conditions, name: str) -> bool:
    condition = find(conditions, name)
    return condition is not None and condition.status == "True"


def _says(condition: Condition) -> tuple[str, str, str]:
    return condition.status, condition.reason, condition.message


def _sorted(conditions: Conditions) -> Conditions:
    """Stalled, Reconciling, Ready; then the others, those of the newest generation first, then by type."""
    return tuple(
        sorted(conditions, key=lambda one: (_FIRST.get(one.type, 3), -_rank(one), one.type)),
    )


def _rank(condition: Condition) -> int:
    return condition.observed_generation if condition.type not in _FIRST else 0
