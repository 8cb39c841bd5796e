"""The pipeline of sources on a cluster, with a place that the test makes up."""

from __future__ import annotations

import asyncio
import tarfile
from typing import TYPE_CHECKING

import pytest

from penstock.kube.resources import ObjectRef
from penstock.sources import SourceError
from tests.controllers.sources.running import NEVER, UNSEEN, running
from tests.controllers.sources.stand_in import Place, StandIn, refused, spec

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.runtime.metrics import Metrics
    from tests.clusters import Cluster

ONE, TWO = ("main@sha1:" + digit * 40 for digit in "12")


@pytest.mark.scenario("sources-1")
async def test_a_new_object_gets_its_finalizer_and_its_artifact(
    cluster: Cluster, tmp_path: Path, metrics: Metrics
) -> None:
    place = Place()
    async with running(cluster, StandIn(place), tmp_path, metrics) as sources:
        await sources.create("apps", spec())
        status = await sources.ready("apps")
        assert sources.live("apps")["metadata"]["finalizers"] == ["finalizers.fluxcd.io"]
        path = f"gitrepository/{cluster.namespace}/apps/{'1' * 40}.tar.gz"
        artifact = status["artifact"]
        assert artifact["path"] == path
        assert artifact["url"] == f"http://source-controller.test/{path}"
        assert artifact["revision"] == ONE
        with tarfile.open(tmp_path / "store" / path) as archive:
            assert archive.getnames() == [".", "a.yaml"]
        told = f"stored artifact for revision '{ONE}'"
        assert sources.says("apps", "Ready") == ("True", "Succeeded", told)
        assert sources.says("apps", "ArtifactInStorage") == ("True", "Succeeded", told)
        assert [one["type"] for one in status["conditions"]] == ["Ready", "ArtifactInStorage"]
        assert status["observedGeneration"] == 1
        assert (place.resolved, place.fetched, place.open) == (0, 1, 0)
        assert sources.heard.reasons == [("Normal", "NewArtifact")]
        event = sources.heard.events[0]
        assert event.message == "stored artifact for commit 'Add a cache'"
        assert event.annotations == {
            "source.toolkit.fluxcd.io/revision": ONE,
            "source.toolkit.fluxcd.io/digest": artifact["digest"],
        }
    assert not list((tmp_path / "scratch").glob("scratch-*")), "nothing is left behind"


async def test_a_steady_source_writes_nothing(cluster: Cluster, tmp_path: Path, metrics: Metrics) -> None:
    place, looked = Place(), asyncio.Event()
    async with running(cluster, StandIn(place), tmp_path, metrics, patience=UNSEEN) as sources:
        await sources.create("apps", spec())
        before = await sources.ready("apps")
        seen = len(sources.history)

        async def looks() -> None:
            looked.set()

        place.hold = looks
        sources.controller.add(ObjectRef.of(sources.live("apps")))
        async with asyncio.timeout(20):
            await looked.wait()
        after = await sources.asked("apps", "now")
        assert (place.resolved, place.fetched) == (2, 1)
        assert len(sources.history) == seen + 2, "the wish, and the answer to it; the run before wrote nothing"
        assert after["conditions"] == before["conditions"]
        assert after["artifact"] == before["artifact"]
        assert sources.heard.reasons == [("Normal", "NewArtifact")]


async def test_a_place_that_only_a_fetch_can_compare(cluster: Cluster, tmp_path: Path, metrics: Metrics) -> None:
    place = Place(resolves=False)
    async with running(cluster, StandIn(place), tmp_path, metrics) as sources:
        await sources.create("apps", spec())
        before = await sources.ready("apps")
        after = await sources.asked("apps", "now")
        assert after["artifact"] == before["artifact"]
        assert place.fetched == 2
        assert sources.heard.reasons == [("Normal", "NewArtifact"), ("Normal", "ArtifactUpToDate")]


async def test_a_new_revision(cluster: Cluster, tmp_path: Path, metrics: Metrics) -> None:
    place = Place()
    async with running(cluster, StandIn(place), tmp_path, metrics) as sources:
        await sources.create("apps", spec())
        before = await sources.ready("apps")
        place.revision, place.files = TWO, {"b.yaml": "b"}
        after = await sources.asked("apps", "now")
        assert after["artifact"]["revision"] == TWO
        assert after["artifact"]["digest"] != before["artifact"]["digest"]
        assert sources.says("apps", "Ready") == ("True", "Succeeded", f"stored artifact for revision '{TWO}'")
        assert sources.condition("apps", "ArtifactOutdated") == {}
        assert sources.heard.reasons == [("Normal", "NewArtifact")] * 2


async def test_the_same_files_under_a_new_revision_are_no_news(
    cluster: Cluster, tmp_path: Path, metrics: Metrics
) -> None:
    place = Place()
    async with running(cluster, StandIn(place), tmp_path, metrics) as sources:
        await sources.create("apps", spec())
        await sources.ready("apps")
        place.revision = TWO
        assert (await sources.asked("apps", "now"))["artifact"]["revision"] == TWO
        assert sources.heard.reasons == [("Normal", "NewArtifact")]


async def test_a_slow_run_shows_what_it_does(cluster: Cluster, tmp_path: Path, metrics: Metrics) -> None:
    place, gate = Place(), asyncio.Event()
    async with running(cluster, StandIn(place), tmp_path, metrics) as sources:
        await sources.create("apps", spec())
        await sources.ready("apps")
        place.revision = TWO

        async def slow() -> None:
            if place.resolved == 1:
                await gate.wait()

        place.hold = slow
        await sources.request("apps", "now")
        await sources.until(lambda: sources.condition("apps", "Reconciling") != {})
        assert sources.says("apps", "Reconciling") == ("True", "Progressing", "reconciliation in progress")
        assert sources.says("apps", "Ready") == ("True", "Succeeded", f"stored artifact for revision '{ONE}'")
        gate.set()
        await sources.until(lambda: (sources.status("apps").get("artifact") or {}).get("revision") == TWO)


async def test_the_first_run_shows_that_it_builds(cluster: Cluster, tmp_path: Path, metrics: Metrics) -> None:
    gate = asyncio.Event()

    async def slow() -> None:
        await gate.wait()

    async with running(cluster, StandIn(Place(hold=slow)), tmp_path, metrics) as sources:
        await sources.create("apps", spec())
        await sources.until(lambda: sources.condition("apps", "Ready") != {})
        assert sources.says("apps", "Ready") == ("Unknown", "Progressing", "building artifact")
        assert sources.says("apps", "Reconciling") == ("True", "Progressing", "building artifact")
        assert sources.status("apps").get("observedGeneration") == -1
        gate.set()
        await sources.ready("apps")


@pytest.mark.scenario("sources-2")
async def test_a_suspended_source_is_let_alone(cluster: Cluster, tmp_path: Path, metrics: Metrics) -> None:
    place = Place()
    async with running(cluster, StandIn(place), tmp_path, metrics) as sources:
        await sources.create("apps", spec())
        before = await sources.ready("apps")
        await sources.patch("apps", {"spec": {"suspend": True, "interval": "2h"}})
        await sources.request("apps", "ignored")
        await sources.create("other", spec(suspend=True))
        await sources.create("last", spec())
        await sources.ready("last")
        assert sources.status("apps") == before
        assert (tmp_path / "store" / before["artifact"]["path"]).exists()
        assert sources.live("other")["metadata"].get("finalizers") is None
        await sources.patch("apps", {"spec": {"suspend": False}})
        await sources.until(lambda: sources.status("apps").get("lastHandledReconcileAt") == "ignored")
        assert sources.status("apps")["observedGeneration"] == 3


@pytest.mark.scenario("sources-18")
async def test_new_ignore_rules_build_the_same_revision_again(
    cluster: Cluster, tmp_path: Path, metrics: Metrics
) -> None:
    place = Place(files={"a.yaml": "a", "b.md": "b"})
    async with running(cluster, StandIn(place), tmp_path, metrics) as sources:
        await sources.create("apps", spec())
        before = await sources.ready("apps")
        await sources.patch("apps", {"spec": {"ignore": "*.md"}})
        await sources.until(lambda: sources.status("apps").get("observedIgnore") == "*.md")
        after = sources.status("apps")
        assert after["artifact"]["revision"] == before["artifact"]["revision"]
        with tarfile.open(tmp_path / "store" / after["artifact"]["path"]) as archive:
            assert archive.getnames() == [".", "a.yaml"]
        await sources.patch("apps", {"spec": {"ignore": None}})
        await sources.until(lambda: "observedIgnore" not in sources.status("apps"))
        assert sources.status("apps")["artifact"]["digest"] == before["artifact"]["digest"]


@pytest.mark.scenario("sources-28")
async def test_a_revision_in_the_old_spelling_is_the_same(cluster: Cluster, tmp_path: Path, metrics: Metrics) -> None:
    place = Place()
    async with running(cluster, StandIn(place), tmp_path, metrics) as sources:
        await sources.create("apps", spec())
        await sources.ready("apps")
        old = {"status": {"artifact": {"revision": "main/" + "1" * 40}}}
        await sources.patch("apps", old, subresource="status")
        await sources.asked("apps", "now")
        assert place.fetched == 1
        assert sources.heard.reasons == [("Normal", "NewArtifact")]


@pytest.mark.scenario("sources-49")
async def test_a_signature(cluster: Cluster, tmp_path: Path, metrics: Metrics) -> None:
    bad = SourceError("signed by nobody we know", reason="InvalidCommitSignature", condition="SourceVerified")
    place = Place()
    async with running(cluster, StandIn(place), tmp_path, metrics, backoff=NEVER) as sources:
        await sources.create("apps", spec())
        before = await sources.ready("apps")
        place.failure = bad
        await sources.patch("apps", {"spec": {"verify": {"mode": "HEAD", "secretRef": {"name": "keys"}}}})
        await sources.ready("apps", "False")
        told = ("False", "InvalidCommitSignature", "signed by nobody we know")
        assert sources.says("apps", "SourceVerified") == told
        assert sources.says("apps", "Ready") == told
        assert sources.condition("apps", "ArtifactInStorage")["status"] == "True"
        assert sources.status("apps")["artifact"] == before["artifact"], "what cannot be trusted replaces nothing"
        place.failure, place.verified = None, "verified signature of commit '1'"
        await sources.asked("apps", "now")
        assert sources.says("apps", "SourceVerified") == ("True", "Succeeded", "verified signature of commit '1'")
        assert sources.condition("apps", "Ready")["status"] == "True"
        fetched = place.fetched
        await sources.asked("apps", "again")
        assert place.fetched == fetched, "verified once for this generation"
        await sources.patch("apps", {"spec": {"verify": None}})
        await sources.until(lambda: sources.condition("apps", "SourceVerified") == {})


async def test_a_place_that_stands_in(cluster: Cluster, tmp_path: Path, metrics: Metrics) -> None:
    instead = Place(revision=TWO)
    kind = StandIn(Place(failure=refused()))
    async with running(cluster, kind, tmp_path, metrics, instead=lambda _: instead) as sources:
        await sources.create("apps", spec())
        assert (await sources.ready("apps"))["artifact"]["revision"] == TWO
