"""The files of a source: kept, collected, damaged, built again, and gone with their object."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import pytest

from penstock.kube import ObjectRef
from penstock.kube.errors import NotFound
from penstock.sources.store import ArtifactStore, Retention
from tests.controllers.sources.running import running
from tests.controllers.sources.stand_in import BucketStandIn, Place, StandIn, spec

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.runtime.metrics import Metrics
    from tests.clusters import Cluster

ONE, TWO = ("main@sha1:" + digit * 40 for digit in "12")


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
        left = [f".{current.name}.record", current.name, f"{current.name}.lock"]
        assert sorted(path.name for path in current.parent.iterdir()) == left
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
        # Not by a wish, which shows that it is being worked on, and a run shows something only once.
        sources.controller.add(ObjectRef.of(sources.live("apps")))
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
