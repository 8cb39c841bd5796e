"""Suspended for a while: the spec says that, an annotation says until when."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from penstock.api import decode
from penstock.api.kustomization import Kustomization
from penstock.controllers.kustomization.suspension import REASON, UNTIL, is_suspended, wake
from penstock.runtime import After, Done
from tests.controllers.kustomization.manifests import config_map

if TYPE_CHECKING:
    from tests.controllers.kustomization.world import World

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


PAST = {UNTIL: "2026-01-01T12:00:00Z", REASON: "the database moves"}


@pytest.mark.parametrize("suspend", [pytest.param(True, id="ended by itself"), pytest.param(False, id="resumed")])
async def test_an_end_that_has_come_does_not_end_the_next_suspension(world: World, suspend: bool) -> None:
    await world.source("v1", {"a.yaml": config_map("a")})
    await world.kustomization()
    await world.until_applied("v1")
    await world.change({"suspend": suspend}, annotations=PAST)
    await world.until(lambda: not (world.live()["metadata"].get("annotations") or {}).keys() & PAST.keys())
    assert "suspend" not in world.live()["spec"]
    await world.change({"suspend": True})
    await world.source("v2", {"a.yaml": config_map("a")})
    await world.ask("now")
    await world.until(lambda: world.status().get("lastHandledReconcileAt") == "now")
    assert world.status()["lastAppliedRevision"] == "v1"


async def test_a_suspension_that_is_declared_stays_as_it_is_declared(world: World) -> None:
    await world.source("v1", {"a.yaml": config_map("a")})
    await world.kustomization(suspend=True, annotations=PAST)
    await world.until_applied("v1")
    assert world.live()["spec"]["suspend"] is True
    assert world.live()["metadata"]["annotations"].items() >= PAST.items()
