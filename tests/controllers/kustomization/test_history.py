"""The history of a Kustomization: distinct outcomes, counted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from penstock.controllers.kustomization.history import LONGEST, remember

if TYPE_CHECKING:
    from penstock.api.meta import Snapshot

NOON = datetime(2026, 1, 1, 12, 0, 0, 999, tzinfo=UTC)
OK, FAILED = "ReconciliationSucceeded", "ReconciliationFailed"

pytestmark = pytest.mark.scenario("22.11 Topological sort")


def outcomes(*runs: tuple[str, str]) -> tuple[Snapshot, ...]:
    """The history after these runs, a minute apart, each of a digest with an outcome."""
    history: tuple[Snapshot, ...] = ()
    for minute, (digest, outcome) in enumerate(runs):
        now = NOON + timedelta(minutes=minute)
        history = remember(history, digest=digest, outcome=outcome, now=now, took=1.5, revision=f"r{minute}")
    return history


def test_the_first_outcome() -> None:
    (only,) = remember((), digest="sha256:a", outcome=OK, now=NOON, took=0.25, revision="r1", origin="o1")
    assert only.first_reconciled == only.last_reconciled == NOON.replace(microsecond=0)
    assert only.last_reconciled_duration == "250ms"
    assert only.total_reconciliations == 1
    assert only.metadata == {"revision": "r1", "originRevision": "o1"}


def test_the_same_again_is_counted_and_dated() -> None:
    (only,) = outcomes(("a", OK), ("a", OK), ("a", OK))
    assert only.total_reconciliations == 3
    assert only.last_reconciled - only.first_reconciled == timedelta(minutes=2)
    assert only.metadata == {"revision": "r2"}


def test_another_outcome_of_the_same_content_is_another_entry() -> None:
    assert [one.last_reconciled_status for one in outcomes(("a", OK), ("a", FAILED))] == [FAILED, OK]


def test_what_comes_again_moves_to_the_front() -> None:
    history = outcomes(("a", OK), ("b", OK), ("a", OK))
    assert [(one.digest, one.total_reconciliations) for one in history] == [("a", 2), ("b", 1)]


def test_the_oldest_is_forgotten() -> None:
    history = outcomes(*((str(number), OK) for number in range(7)))
    assert [one.digest for one in history] == ["6", "5", "4", "3", "2"]
    assert len(history) == LONGEST


def test_no_run_takes_no_time_at_all() -> None:
    (only,) = remember((), digest="a", outcome=OK, now=NOON, took=0.0, revision="r")
    assert only.last_reconciled_duration == "1ns"
