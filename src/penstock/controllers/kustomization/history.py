"""The last distinct outcomes of a Kustomization, newest first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.api.durations import SECOND, Duration
from penstock.api.meta import Snapshot

if TYPE_CHECKING:
    from datetime import datetime

LONGEST = 5


def remember(
    history: tuple[Snapshot, ...],
    *,
    digest: str,
    outcome: str,
    now: datetime,
    took: float,
    revision: str,
    origin: str = "",
) -> tuple[Snapshot, ...]:
    """The history with one more outcome in front; the same content with the same outcome is counted, not repeated."""
    known = next((one for one in history if (one.digest, one.last_reconciled_status) == (digest, outcome)), None)
    moment = now.replace(microsecond=0)
    snapshot = Snapshot(
        digest=digest,
        first_reconciled=known.first_reconciled if known else moment,
        last_reconciled=moment,
        last_reconciled_duration=str(Duration(max(int(took * SECOND), 1))),
        last_reconciled_status=outcome,
        total_reconciliations=known.total_reconciliations + 1 if known else 1,
        metadata={"revision": revision} | ({"originRevision": origin} if origin else {}),
    )
    return (snapshot, *(one for one in history if one is not known))[:LONGEST]
