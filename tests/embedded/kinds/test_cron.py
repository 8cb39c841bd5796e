"""Cron schedules and what is wrong with them."""

from __future__ import annotations

import pytest

from penstock.embedded.kinds.cron import schedule_problem


@pytest.mark.parametrize(
    "schedule", ["* * * * *", "*/5 1-3 * jan,feb mon-fri", "@daily", "@every 1h30m", "0 0 1 */2 ?"]
)
def test_fine(schedule: str) -> None:
    assert schedule_problem(schedule) == ""


@pytest.mark.parametrize(
    ("schedule", "words"),
    [
        ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
        ("60 * * * *", "end of range (60) above maximum (59): 60"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("x * * * *", 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax'),
        ("@never", "unrecognized descriptor: @never"),
    ],
)
def test_wrong(schedule: str, words: str) -> None:
    assert schedule_problem(schedule) == words
