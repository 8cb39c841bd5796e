"""What may go wrong with a source: it is told once, tried again in time, and mended by itself."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from penstock.kube.resources import SECRETS
from penstock.sources import Stalled, Waiting
from tests.controllers.sources.running import NEVER, SOON, UNSEEN, running
from tests.controllers.sources.stand_in import Place, StandIn, refused, spec

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.runtime.metrics import Metrics
    from tests.clusters import Cluster

ONE, TWO = ("main@sha1:" + digit * 40 for digit in "12")


@pytest.mark.scenario("sources-3")
@pytest.mark.scenario("sources-50")
async def test_failures_and_the_way_back(cluster: Cluster, tmp_path: Path, metrics: Metrics) -> None:
    place = Place()
    async with running(cluster, StandIn(place), tmp_path, metrics, backoff=NEVER) as sources:
        await sources.create("apps", spec())
        await sources.ready("apps")
        place.failure = refused("cannot reach https://user:hunter2@git.example.com")
        status = await sources.asked("apps", "first")
        told = "cannot reach https://***@git.example.com"
        assert sources.says("apps", "FetchFailed") == ("True", "GitOperationFailed", told)
        assert sources.says("apps", "Ready") == ("False", "GitOperationFailed", told)
        assert sources.says("apps", "Reconciling") == ("True", "ProgressingWithRetry", "reconciliation in progress")
        assert sources.condition("apps", "ArtifactInStorage")["status"] == "True", "the old artifact is still served"
        assert status["artifact"]["revision"] == ONE
        assert status["lastHandledReconcileAt"] == "first", "although the run failed"
        place.failure = refused("still away")
        await sources.asked("apps", "second")
        place.failure = None
        await sources.asked("apps", "third")
        assert sources.says("apps", "Ready") == ("True", "Succeeded", f"stored artifact for revision '{ONE}'")
        assert [one["type"] for one in sources.status("apps")["conditions"]] == ["Ready", "ArtifactInStorage"]
        assert sources.heard.reasons == [
            ("Normal", "NewArtifact"),
            ("Warning", "GitOperationFailed"),
            ("Warning", "GitOperationFailed"),
            ("Normal", "Succeeded"),
        ]
        assert "hunter2" not in str(sources.history) + str(sources.heard.events)


async def test_a_failing_source_is_tried_again(cluster: Cluster, tmp_path: Path, metrics: Metrics) -> None:
    place = Place(failure=refused())
    async with running(cluster, StandIn(place), tmp_path, metrics, backoff=SOON) as sources:
        await sources.create("apps", spec())
        status = await sources.ready("apps", "False")
        assert status["observedGeneration"] == -1, "this generation has not been dealt with"
        place.failure = None
        await sources.ready("apps")


async def test_a_run_that_fails_in_the_same_way_writes_nothing(
    cluster: Cluster, tmp_path: Path, metrics: Metrics
) -> None:
    place, tried = Place(failure=refused()), asyncio.Event()

    async def counts() -> None:
        if place.fetched >= 6:
            tried.set()

    place.hold = counts
    async with running(cluster, StandIn(place), tmp_path, metrics, backoff=SOON, patience=UNSEEN) as sources:
        await sources.create("apps", spec())
        async with asyncio.timeout(20):
            await tried.wait()
        await sources.ready("apps", "False")
        assert len(sources.history) == 3, "created, finalizer, status"


async def test_a_stalled_source_waits_for_a_change(cluster: Cluster, tmp_path: Path, metrics: Metrics) -> None:
    place = Place(opening=Stalled("the URL is no URL", reason="URLInvalid"))
    async with running(cluster, StandIn(place), tmp_path, metrics, backoff=SOON) as sources:
        await sources.create("apps", spec())
        status = await sources.ready("apps", "False")
        assert sources.says("apps", "Stalled") == ("True", "URLInvalid", "the URL is no URL")
        assert sources.says("apps", "FetchFailed") == ("True", "URLInvalid", "the URL is no URL")
        assert sources.says("apps", "Ready") == ("False", "URLInvalid", "the URL is no URL")
        assert sources.condition("apps", "Reconciling") == {}
        assert status["observedGeneration"] == 1
        assert sources.controller.queue.delayed == 0, "no run is planned"
        place.opening = None
        await sources.patch("apps", {"spec": {"url": "https://git.example.com/other"}})
        await sources.ready("apps")
        assert sources.condition("apps", "Stalled") == {}
        assert sources.heard.reasons == [("Warning", "URLInvalid"), ("Normal", "NewArtifact")]


async def test_a_source_that_waits_for_another(cluster: Cluster, tmp_path: Path, metrics: Metrics) -> None:
    waiting = Waiting("there is no such repository", reason="NotFound", condition="IncludeUnavailable")
    place = Place(failure=waiting)
    async with running(cluster, StandIn(place), tmp_path, metrics, dependency=0.05) as sources:
        await sources.create("apps", spec())
        await sources.ready("apps", "False")
        assert sources.says("apps", "IncludeUnavailable") == ("True", "NotFound", "there is no such repository")
        assert sources.says("apps", "Ready") == ("False", "NotFound", "there is no such repository")
        assert sources.condition("apps", "Reconciling")["status"] == "True"
        assert sources.heard.reasons[0] == ("Normal", "NotFound")
        place.failure = None
        await sources.ready("apps")
        assert sources.condition("apps", "IncludeUnavailable") == {}


async def test_a_remote_that_does_not_answer(cluster: Cluster, tmp_path: Path, metrics: Metrics) -> None:
    async def never() -> None:
        await asyncio.Event().wait()

    async with running(cluster, StandIn(Place(hold=never)), tmp_path, metrics) as sources:
        await sources.create("apps", spec(timeout="100ms"))
        await sources.ready("apps", "False")
        told = "no answer from the remote within 100ms"
        assert sources.says("apps", "FetchFailed") == ("True", "GitOperationFailed", told)


async def test_a_secret_that_is_missing(cluster: Cluster, tmp_path: Path, metrics: Metrics) -> None:
    async with running(cluster, StandIn(), tmp_path, metrics, backoff=SOON) as sources:
        await sources.create("apps", spec(secretRef={"name": "login"}))
        await sources.ready("apps", "False")
        told = f"failed to get secret '{cluster.namespace}/login': there is no such Secret"
        assert sources.says("apps", "FetchFailed") == ("True", "AuthenticationFailed", told)
        await cluster.client.create(SECRETS, {"metadata": {"name": "login"}}, namespace=cluster.namespace)
        await sources.ready("apps")


async def test_bad_ignore_rules_are_told(cluster: Cluster, tmp_path: Path, metrics: Metrics) -> None:
    place = Place(files={".sourceignore": "x\n" * 6000})
    async with running(cluster, StandIn(place), tmp_path, metrics) as sources:
        await sources.create("apps", spec())
        await sources.ready("apps", "False")
        assert sources.condition("apps", "StorageOperationFailed")["reason"] == "SourceIgnoreError"


async def test_the_annotation_runs_a_source_at_once(cluster: Cluster, tmp_path: Path, metrics: Metrics) -> None:
    """What a webhook does: the run comes now, not at the end of a back-off of minutes."""
    place = Place(failure=refused())
    async with running(cluster, StandIn(place), tmp_path, metrics, backoff=NEVER) as sources:
        await sources.create("apps", spec())
        await sources.ready("apps", "False")
        place.failure = None
        async with asyncio.timeout(30):
            await sources.asked("apps", "pushed")
        assert sources.condition("apps", "Ready")["status"] == "True"


async def test_a_spec_that_makes_no_sense(cluster: Cluster, tmp_path: Path, metrics: Metrics) -> None:
    """A33: the CRD takes an interval of a million years; we do not."""
    async with running(cluster, StandIn(), tmp_path, metrics) as sources:
        await sources.create("apps", spec(interval="9999999999h"))
        await sources.ready("apps", "False")
        ready = sources.condition("apps", "Ready")
        assert "spec.interval" in ready["message"]
        assert sources.condition("apps", "Stalled")["status"] == "True"
        await sources.patch("apps", {"spec": {"interval": "0s"}})
        await sources.ready("apps")
