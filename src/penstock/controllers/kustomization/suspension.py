"""Suspended, since when and until when: the spec says that, two annotations say why and for how long."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from penstock.runtime import After, Done

if TYPE_CHECKING:
    from penstock.api.kustomization import Kustomization
    from penstock.runtime import Result

REASON = "penstock.dev/suspend-reason"
UNTIL = "penstock.dev/suspend-until"
"""An RFC 3339 time after which `spec.suspend` no longer counts."""


def is_suspended(kustomization: Kustomization, now: datetime) -> bool:
    """Whether the object is to be left alone now."""
    if not kustomization.spec.suspend:
        return False
    end = until(kustomization)
    return end is None or now < end


def reason(kustomization: Kustomization) -> str:
    """Why, as whoever suspended it wrote down."""
    return kustomization.metadata.annotations.get(REASON, "")


def until(kustomization: Kustomization) -> datetime | None:
    """When the suspension ends by itself; a time that nobody can read never comes."""
    text = kustomization.metadata.annotations.get(UNTIL, "")
    try:
        end = datetime.fromisoformat(text)
    except ValueError:
        return None
    return end if end.tzinfo else end.replace(tzinfo=UTC)


def wake(kustomization: Kustomization, now: datetime) -> Result:
    """When to look again: at the end of the suspension, if it has one."""
    end = until(kustomization)
    return Done() if end is None else After((end - now).total_seconds())
