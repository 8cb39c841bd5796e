"""The conditions of sources, and how Ready comes about: it is the sum of all others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.runtime.conditions import READY, RECONCILING, STALLED, find

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.api.meta import Condition
    from penstock.runtime.conditions import Conditions, Truth

STORAGE_FAILED = "StorageOperationFailed"
FETCH_FAILED = "FetchFailed"
INCLUDE_UNAVAILABLE = "IncludeUnavailable"
BUILD_FAILED = "BuildFailed"
OUTDATED = "ArtifactOutdated"
IN_STORAGE = "ArtifactInStorage"
VERIFIED = "SourceVerified"

_ORDER = (
    *(STORAGE_FAILED, FETCH_FAILED, INCLUDE_UNAVAILABLE, BUILD_FAILED, OUTDATED),
    *(IN_STORAGE, VERIFIED, STALLED, RECONCILING),
)
_POSITIVE = frozenset({IN_STORAGE, VERIFIED})
FAILURES = (STORAGE_FAILED, FETCH_FAILED, INCLUDE_UNAVAILABLE, BUILD_FAILED)
"""A source that had one of these and has none any more has recovered."""

OWNED = frozenset({*_ORDER, READY})
"""The types that a source controller writes."""


def summary(conditions: Conditions) -> tuple[Truth, str, str] | None:
    """Status, reason and message of Ready; None while nothing is known.

    Something bad that is true comes first, then something good that is false, then what is fine, then what is not
    known. A failed verification wins over everything.
    """
    verified = find(conditions, VERIFIED)
    if verified is not None and verified.status == "False":
        return "False", verified.reason, verified.message
    best = min(_ranked(conditions), key=lambda ranked: ranked[0], default=None)
    if best is None:
        return None
    (group, _), condition = best
    truth: Truth = "False" if group < 2 else "True" if group < 4 else "Unknown"
    return truth, condition.reason, condition.message


def _ranked(conditions: Conditions) -> Iterator[tuple[tuple[int, int], Condition]]:
    for place, name in enumerate(_ORDER):
        condition = find(conditions, name)
        if condition is not None:
            yield (_group(condition), place), condition


def _group(condition: Condition) -> int:
    if condition.status == "Unknown":
        return 4
    if condition.type in _POSITIVE:
        return 2 if condition.status == "True" else 1
    return 0 if condition.status == "True" else 3
