"""What the status says of an object that cannot be read: the API server took it, and it makes no sense to us."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.api import encode
from penstock.runtime import conditions as known
from penstock.runtime.conditions import READY, STALLED

if TYPE_CHECKING:
    from datetime import datetime

    from penstock.kube import Object

REASON = "ReconciliationFailed"


def conditions(obj: Object, message: str, *, now: datetime) -> list[Object]:
    """Ready is false and nothing goes on until the object changes; what other conditions said is worth nothing."""
    generation = obj["metadata"].get("generation") or 0
    marked: known.Conditions = ()
    verdict: dict[str, known.Truth] = {READY: "False", STALLED: "True"}
    for name, truth in verdict.items():
        marked = known.mark(marked, name, truth, reason=REASON, message=message, generation=generation, now=now)
    return [encode(one) for one in marked]
