"""The pipeline of sources on a cluster, with a place that the test makes up."""

from __future__ import annotations

import asyncio
import os
import tarfile
from typing import TYPE_CHECKING

import pytest

from penstock.kube.errors import NotFound
from penstock.kube.resources import SECRETS, ObjectRef
from penstock.runtime.delays import Backoff
from penstock.sources import SourceError, Stalled, Waiting
from penstock.sources.store import ArtifactStore, Retention
from tests.controllers.sources.running import running
from tests.controllers.sources.stand_in import BucketStandIn, Place, StandIn, spec

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.runtime.metrics import Metrics
    from tests.clusters import Cluster

ONE, TWO = ("main@sha1:" + digit * 40 for digit in "12")
SOON = Backoff(base=0.01, cap=0.05)


def refused(told: str = "the remote is away") -> SourceError:
    return SourceError(told, reason="GitOperationFailed")


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
    async with running(cluster, StandIn(place), tmp_path, metrics) as sources:
        await sources.create("apps", spec())
        before = await sources.ready("apps")
        seen = len(sources.history)

        async def looks() -> None:
            looked.set()

        place.hold = looks
        sources.controller.add(ObjectRef.of(sources.live("apps")))
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


@pytest.mark.scenario("sources-3")
@pytest.mark.scenario("sources-50")
async def test_failures_and_the_way_back(cluster: Cluster, tmp_path: Path, metrics: Metrics) -> None:
    place = Place()
    async with running(cluster, StandIn(place), tmp_path, metrics) as sources:
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
    async with running(cluster, StandIn(place), tmp_path, metrics, backoff=SOON) as sources:
        await sources.create("apps", spec())
        await tried.wait()
        await sources.ready("apps", "False")
        assert len(sources.history) <= 3, "created, finalizer, status"


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


@pytest.mark.scenario("sources-4")
@pytest.mark.scenario("sources-8")
async def test_old_files_are_collected(cluster: Cluster, tmp_path: Path, metrics: Metrics) -> None:
    async with running(cluster, StandIn(), tmp_path, metrics) as sources:
        await sources.create("apps", spec())
        status = await sources.ready("apps")
        current = tmp_path / "store" / status["artifact"]["path"]
        for name in ("a.tar.gz", "b.tar.gz", "c.tar.gz"):
            current.with_name(name).write_text("old")
            current.with_name(name + ".lock").touch()
            os.utime(current.with_name(name), (1, 1))
        await sources.asked("apps", "now")
        assert sorted(path.name for path in current.parent.iterdir()) == [current.name, current.name + ".lock"]
        told = [event.message for event in sources.heard.events if event.reason == "GarbageCollectionSucceeded"]
        assert told == ["garbage collected 3 artifacts"]


@pytest.mark.scenario("sources-5")
async def test_a_file_that_somebody_deleted_is_built_again(cluster: Cluster, tmp_path: Path, metrics: Metrics) -> None:
    place = Place()
    async with running(cluster, StandIn(place), tmp_path, metrics) as sources:
        await sources.create("apps", spec())
        before = await sources.ready("apps")
        file = tmp_path / "store" / before["artifact"]["path"]
        file.unlink()
        gate = asyncio.Event()

        async def slow() -> None:
            await gate.wait()

        place.hold = slow
        await sources.request("apps", "now")
        await sources.until(lambda: sources.condition("apps", "Reconciling") != {})
        told = "building artifact: disappeared from storage"
        assert sources.says("apps", "Ready") == ("Unknown", "Progressing", told)
        assert sources.status("apps").get("artifact") is None
        gate.set()
        after = await sources.ready("apps")
        assert file.exists()
        assert after["artifact"]["digest"] == before["artifact"]["digest"]


@pytest.mark.scenario("sources-6")
async def test_a_damaged_file_is_built_again(cluster: Cluster, tmp_path: Path, metrics: Metrics) -> None:
    place = Place()
    async with running(cluster, StandIn(place), tmp_path, metrics) as sources:
        await sources.create("apps", spec())
        before = await sources.ready("apps")
        file = tmp_path / "store" / before["artifact"]["path"]
        whole = file.read_bytes()
        file.write_bytes(whole[:-1])
        await sources.asked("apps", "now")
        assert file.read_bytes() == whole
        assert ("Warning", "ArtifactVerificationFailed") in sources.heard.reasons


@pytest.mark.scenario("sources-7")
async def test_the_host_of_the_address_follows_the_server(cluster: Cluster, tmp_path: Path, metrics: Metrics) -> None:
    async with running(cluster, StandIn(), tmp_path, metrics, address="old.example") as sources:
        await sources.create("apps", spec())
        before = (await sources.ready("apps"))["artifact"]
    place = Place()
    async with running(cluster, StandIn(place), tmp_path, metrics, address="https://new.example:8443") as sources:
        await sources.until(lambda: "new" in sources.status("apps")["artifact"]["url"])
        after = sources.status("apps")["artifact"]
    assert after == {**before, "url": f"https://new.example:8443/{before['path']}"}
    assert place.fetched == 0


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


async def test_bad_ignore_rules_are_told(cluster: Cluster, tmp_path: Path, metrics: Metrics) -> None:
    place = Place(files={".sourceignore": "x\n" * 6000})
    async with running(cluster, StandIn(place), tmp_path, metrics) as sources:
        await sources.create("apps", spec())
        await sources.ready("apps", "False")
        assert sources.condition("apps", "StorageOperationFailed")["reason"] == "SourceIgnoreError"


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
    async with running(cluster, StandIn(place), tmp_path, metrics) as sources:
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


@pytest.mark.scenario("sources-52")
async def test_deletion_removes_the_files_and_the_finalizer(cluster: Cluster, tmp_path: Path, metrics: Metrics) -> None:
    async with running(cluster, StandIn(), tmp_path, metrics) as sources:
        await sources.create("apps", spec())
        status = await sources.ready("apps")
        directory = (tmp_path / "store" / status["artifact"]["path"]).parent
        assert directory.exists()
        await sources.delete("apps")
        await sources.until(lambda: not sources.live("apps"))
        assert not directory.exists()
        assert sources.heard.events[-1].message == "garbage collected artifacts for deleted resource"
        with pytest.raises(NotFound):
            await cluster.client.get(sources.resource, "apps", cluster.namespace)


async def test_a_flapping_source_fills_no_disk(cluster: Cluster, tmp_path: Path, metrics: Metrics) -> None:
    """A36: however often a source changes, two files stay."""
    place = Place()
    store = ArtifactStore(tmp_path / "store", address="test", retention=Retention(ttl=3600, records=2))
    async with running(cluster, StandIn(place), tmp_path, metrics, store=store) as sources:
        await sources.create("apps", spec())
        await sources.ready("apps")
        for number in range(20):
            place.revision, place.files = f"main@sha1:{number:040x}", {"a": str(number)}
            await sources.asked("apps", str(number))
        await sources.asked("apps", "last")
        files = list((tmp_path / "store").rglob("*.tar.gz"))
        assert len(files) == 2


async def test_the_annotation_runs_a_source_at_once(cluster: Cluster, tmp_path: Path, metrics: Metrics) -> None:
    """What a webhook does: the run comes now, not at the end of a back-off of minutes."""
    place = Place(failure=refused())
    async with running(cluster, StandIn(place), tmp_path, metrics, backoff=Backoff(base=600, cap=600)) as sources:
        await sources.create("apps", spec())
        await sources.ready("apps", "False")
        place.failure = None
        async with asyncio.timeout(30):
            await sources.asked("apps", "pushed")
        assert sources.condition("apps", "Ready")["status"] == "True"


async def test_a_place_that_stands_in(cluster: Cluster, tmp_path: Path, metrics: Metrics) -> None:
    instead = Place(revision=TWO)
    kind = StandIn(Place(failure=refused()))
    async with running(cluster, kind, tmp_path, metrics, instead=lambda _: instead) as sources:
        await sources.create("apps", spec())
        assert (await sources.ready("apps"))["artifact"]["revision"] == TWO


async def test_a_fixed_name_leads_to_the_newest(cluster: Cluster, tmp_path: Path, metrics: Metrics) -> None:
    place = Place(revision="sha256:" + "1" * 64)
    async with running(cluster, BucketStandIn(place), tmp_path, metrics, address="old.example") as sources:
        await sources.create("data", {"bucketName": "x", "endpoint": "y", "interval": "1h"})
        status = await sources.ready("data")
        folder = f"bucket/{cluster.namespace}/data"
        assert status["url"] == f"http://old.example/{folder}/latest.tar.gz"
        place.revision, place.files = "sha256:" + "2" * 64, {"b": "b"}
        await sources.asked("data", "now")
        alias = tmp_path / "store" / folder / "latest.tar.gz"
        assert alias.readlink().name == "2" * 64 + ".tar.gz"
    async with running(cluster, BucketStandIn(place), tmp_path, metrics, address="new.example") as sources:
        await sources.until(lambda: sources.status("data").get("url") == f"http://new.example/{folder}/latest.tar.gz")


async def test_a_status_that_names_the_files_of_others(cluster: Cluster, tmp_path: Path, metrics: Metrics) -> None:
    """Whoever may write a status must not be able to have others' artifacts removed or shown."""
    async with running(cluster, StandIn(), tmp_path, metrics) as sources:
        await sources.create("apps", spec())
        await sources.create("victim", spec())
        await sources.ready("apps")
        victim = (await sources.ready("victim"))["artifact"]
        for digest in (victim["digest"], "sha256:" + "0" * 64):
            stolen = {"status": {"artifact": {"path": victim["path"], "digest": digest}}}
            await sources.patch("apps", stolen, subresource="status")
            status = await sources.asked("apps", digest)
            assert status["artifact"]["path"] == victim["path"].replace("victim", "apps")
            assert (tmp_path / "store" / victim["path"]).exists()


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
