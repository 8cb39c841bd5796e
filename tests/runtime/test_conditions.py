from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from penstock.api.meta import Condition
from penstock.runtime.conditions import (
    LONGEST_MESSAGE,
    Conditions,
    Truth,
    cut,
    drop,
    find,
    is_ready,
    is_reconciling,
    is_stalled,
    mark,
)

THEN = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
NOW = datetime(2026, 3, 1, 12, 30, 15, 999_999, tzinfo=UTC)
NOW_IN_SECONDS = datetime(2026, 3, 1, 12, 30, 15, tzinfo=UTC)


def condition(text: str, generation: int = 1) -> Condition:
    """`Ready=True` or just `Ready`, which is true."""
    name, _, status = text.partition("=")
    truth: Truth = {"False": "False", "Unknown": "Unknown"}.get(status, "True")  # type: ignore[assignment]
    return Condition(
        type=name,
        status=truth,
        reason="Because",
        message="it is so",
        last_transition_time=THEN,
        observed_generation=generation,
    )


def conditions(text: str) -> Conditions:
    return tuple(condition(word) for word in text.split())


def types(given: Conditions) -> str:
    return " ".join(one.type for one in given)


def marked(given: Conditions, text: str, *, now: datetime = NOW, generation: int = 1) -> Conditions:
    one = condition(text)
    return mark(given, one.type, one.status, reason="Because", message="it is so", generation=generation, now=now)


@pytest.mark.parametrize(
    ("before", "set_", "after"),
    [
        pytest.param("", "Ready", "Ready", id="the first one"),
        pytest.param("Ready", "Reconciling", "Reconciling Ready", id="reconciling stands before ready"),
        pytest.param("Ready", "Stalled", "Stalled Ready", id="stalled stands first"),
        pytest.param("Stalled Ready", "Reconciling", "Reconciling Ready", id="reconciling puts stalled out"),
        pytest.param("Reconciling Ready", "Stalled", "Stalled Ready", id="stalled puts reconciling out"),
        pytest.param("Stalled Ready", "Reconciling=False", "Stalled Ready", id="a false reconciling is nothing"),
        pytest.param("Reconciling Ready", "Reconciling=False", "Ready", id="reconciling false removes it"),
        pytest.param("Ready Zebra", "Healthy", "Ready Healthy Zebra", id="the others by name"),
    ],
)
def test_mark_orders_and_excludes(before: str, set_: str, after: str) -> None:
    assert types(marked(conditions(before), set_)) == after


def test_the_others_stand_by_their_generation_first() -> None:
    given = (condition("Apple", generation=1), condition("Zebra", generation=7))
    assert types(marked(given, "Healthy", generation=3)) == "Zebra Healthy Apple"


@pytest.mark.parametrize(
    ("status", "reason", "message", "expected"),
    [
        pytest.param("True", "Because", "it is so", THEN, id="nothing changed"),
        pytest.param("False", "Because", "it is so", NOW_IN_SECONDS, id="the status changed"),
        pytest.param("True", "Other", "it is so", NOW_IN_SECONDS, id="the reason changed"),
        pytest.param("True", "Because", "it is not so", NOW_IN_SECONDS, id="the message changed"),
    ],
)
def test_transition_time(status: Truth, reason: str, message: str, expected: datetime) -> None:
    after = mark(conditions("Ready"), "Ready", status, reason=reason, message=message, generation=2, now=NOW)
    ready = find(after, "Ready")
    assert ready is not None
    assert ready.last_transition_time == expected
    assert ready.observed_generation == 2


def test_transition_time_is_in_utc() -> None:
    berlin = timezone(timedelta(hours=2))
    ready = find(marked((), "Ready", now=NOW.astimezone(berlin)), "Ready")
    assert ready is not None
    assert ready.last_transition_time == NOW_IN_SECONDS
    assert ready.last_transition_time.tzinfo is UTC


def test_mark_leaves_the_given_list_alone() -> None:
    given = conditions("Ready")
    marked(given, "Stalled")
    assert given == conditions("Ready")


@pytest.mark.parametrize(
    ("given", "ready", "reconciling", "stalled"),
    [
        pytest.param("", False, False, False, id="nothing known"),
        pytest.param("Ready", True, False, False, id="ready"),
        pytest.param("Ready=False", False, False, False, id="not ready"),
        pytest.param("Ready=Unknown", False, False, False, id="unknown is not ready"),
        pytest.param("Reconciling Ready", False, True, False, id="ready but reconciling"),
        pytest.param("Stalled Ready", False, False, True, id="ready but stalled"),
        pytest.param("Stalled Reconciling Ready", False, False, False, id="a foreign hand set both"),
        pytest.param("Reconciling=False Stalled=False Ready", True, False, False, id="false ones do not count"),
    ],
)
def test_predicates(given: str, *, ready: bool, reconciling: bool, stalled: bool) -> None:
    some = conditions(given)
    assert (is_ready(some), is_reconciling(some), is_stalled(some)) == (ready, reconciling, stalled)


def test_drop_removes_what_is_named() -> None:
    assert types(drop(conditions("Stalled Ready Healthy"), "Ready", "Healthy", "Unheard")) == "Stalled"


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        pytest.param("x" * LONGEST_MESSAGE, "x" * LONGEST_MESSAGE, id="as long as it may be"),
        pytest.param("x" * 40_000, "x" * 32_765 + "...", id="one that is too long"),
        pytest.param("€" * 11_000, "€" * 10_921 + "...", id="bytes count, characters stay whole"),
    ],
)
def test_cut(message: str, expected: str) -> None:
    assert cut(message) == expected
    assert len(cut(message).encode()) <= LONGEST_MESSAGE


def test_mark_cuts_the_message() -> None:
    after = mark((), "Ready", "False", reason="BuildFailed", message="x" * 40_000, generation=1, now=NOW)
    assert after[0].message.endswith("x...")
