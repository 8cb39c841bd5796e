"""The pipeline of sources on a cluster, with a place that the test makes up."""

from __future__ import annotations

import tarfile
from typing import TYPE_CHECKING

import pytest

from tests.controllers.sources.running import running
from tests.controllers.sources.stand_in import Place, StandIn, spec

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.runtime.metrics import Metrics
    from tests.clusters import Cluster

ONE = "main@sha1:" + "1" * 40


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
