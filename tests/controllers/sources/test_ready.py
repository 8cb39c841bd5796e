"""How Ready comes about, and what revisions are the same."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast

import pytest

from penstock.controllers.sources.ready import summary
from penstock.controllers.sources.revisions import modern
from penstock.runtime.conditions import mark
from penstock.runtime.delays import Jitter

if TYPE_CHECKING:
    from penstock.runtime.conditions import Conditions, Truth


def conditions(text: str) -> Conditions:
    """`FetchFailed=True Stalled=True`; the reason of each is its type."""
    found: Conditions = ()
    for name, _, truth in (one.partition("=") for one in text.split()):
        now = datetime(2026, 1, 1, tzinfo=UTC)
        found = mark(found, name, cast("Truth", truth), reason=name, message="", generation=1, now=now)
    return found


@pytest.mark.scenario("sources-49")
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param("", None, id="nothing is known"),
        pytest.param("ArtifactInStorage=True", ("True", "ArtifactInStorage"), id="an artifact"),
        pytest.param("FetchFailed=True ArtifactInStorage=True", ("False", "FetchFailed"), id="a failure comes first"),
        pytest.param(
            "FetchFailed=True StorageOperationFailed=True",
            ("False", "StorageOperationFailed"),
            id="storage comes first",
        ),
        pytest.param("ArtifactOutdated=True ArtifactInStorage=True", ("False", "ArtifactOutdated"), id="outdated"),
        pytest.param("SourceVerified=False ArtifactInStorage=True", ("False", "SourceVerified"), id="not verified"),
        pytest.param("SourceVerified=False FetchFailed=True", ("False", "SourceVerified"), id="verification wins"),
        pytest.param("SourceVerified=True ArtifactInStorage=True", ("True", "ArtifactInStorage"), id="verified"),
        pytest.param("Stalled=True FetchFailed=True", ("False", "FetchFailed"), id="the cause of a stall"),
        pytest.param("Reconciling=True ArtifactInStorage=True", ("False", "Reconciling"), id="still at work"),
        pytest.param("SourceVerified=Unknown", ("Unknown", "SourceVerified"), id="unknown"),
        pytest.param("FetchFailed=False", ("True", "FetchFailed"), id="a failure that is not"),
        pytest.param("Foreign=False ArtifactInStorage=True", ("True", "ArtifactInStorage"), id="others do not count"),
    ],
)
def test_summary(given: str, expected: tuple[str, str] | None) -> None:
    told = summary(conditions(given))
    assert (told and told[:2]) == expected


@pytest.mark.scenario("sources-28")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("main/" + "a" * 40, "main@sha1:" + "a" * 40, id="a branch"),
        pytest.param("feature/x/" + "a" * 40, "feature/x@sha1:" + "a" * 40, id="a branch with a slash"),
        pytest.param("HEAD/" + "a" * 40, "sha1:" + "a" * 40, id="a commit"),
        pytest.param("a" * 64, "sha256:" + "a" * 64, id="a bucket"),
        pytest.param("main@sha1:" + "a" * 40, "main@sha1:" + "a" * 40, id="new already"),
        pytest.param("6.5.4", "6.5.4", id="a version"),
        pytest.param("main/abc", "main/abc", id="no hash"),
    ],
)
def test_old_revisions(old: str, new: str) -> None:
    assert modern(old) == new


@pytest.mark.scenario("sources-51")
def test_intervals_are_spread() -> None:
    waits = [Jitter().spread(600.0) for _ in range(1000)]
    assert all(570.0 <= wait <= 630.0 for wait in waits)
    assert len(set(waits)) > 900
