"""Suspended for a while: the spec says that, an annotation says until when."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from penstock.api import decode
from penstock.api.kustomization import Kustomization
from penstock.controllers.kustomization.suspension import UNTIL, is_suspended, wake
from penstock.runtime import After, Done

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def kustomization(until: str | None, *, suspend: bool = True) -> Kustomization:
    return decode(
        {
            "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
            "kind": "Kustomization",
            "metadata": {"name": "a", "annotations": {} if until is None else {UNTIL: until}},
            "spec": {
                "interval": "1m",
                "prune": True,
                "suspend": suspend,
                "sourceRef": {"kind": "GitRepository", "name": "repo"},
            },
        },
        Kustomization,
    )


@pytest.mark.parametrize(
    ("until", "suspended"),
    [
        pytest.param(None, True, id="without an end"),
        pytest.param("2026-01-01T12:00:01Z", True, id="before the end"),
        pytest.param("2026-01-01T12:00:00Z", False, id="at the end"),
        pytest.param("2026-01-01T13:30:00+02:00", False, id="in another time zone"),
        pytest.param("2026-01-02", True, id="a day, in UTC"),
        pytest.param("next week", True, id="words: an end that nobody can read never comes"),
    ],
)
def test_the_end(until: str | None, suspended: bool) -> None:
    assert is_suspended(kustomization(until), NOON) is suspended


def test_the_annotation_alone_suspends_nothing() -> None:
    assert not is_suspended(kustomization("2030-01-01T00:00:00Z", suspend=False), NOON)


def test_the_next_run_comes_at_the_end() -> None:
    assert wake(kustomization(None), NOON) == Done()
    assert wake(kustomization("2026-01-01T12:10:00Z"), NOON) == After(timedelta(minutes=10).total_seconds())
