"""A source that a local directory stands for, on a cluster."""

from __future__ import annotations

import asyncio
import subprocess
import tarfile
from contextlib import suppress
from typing import TYPE_CHECKING

from penstock.controllers.sources.local import LocalSources
from penstock.kube import WatchCache
from penstock.sources.local import Workspace
from tests.controllers.sources.running import running
from tests.controllers.sources.stand_in import Place, StandIn, spec
from tests.waiting import following

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.kube.resources import Object
    from penstock.runtime.metrics import Metrics
    from tests.clusters import Cluster


def repository(root: Path) -> Path:
    root.mkdir()
    for command in (["init", "-q", "-b", "main"], ["remote", "add", "origin", "git@git.example.com:apps.git"]):
        subprocess.run(["git", *command], cwd=root, check=True)
    (root / "a.yaml").write_text("a: 1\n")
    return root


async def test_saving_a_file_makes_an_artifact(cluster: Cluster, tmp_path: Path, metrics: Metrics) -> None:
    root = await asyncio.to_thread(repository, tmp_path / "work")
    workspace = await Workspace.open([root])
    local = LocalSources(workspace)
    place = Place()
    known: WatchCache[Object] = WatchCache(cluster.client, StandIn().resource, namespace=cluster.namespace)
    async with (
        running(cluster, StandIn(place), tmp_path, metrics, instead=local.instead) as sources,
        following(known),
    ):
        local.follow(known, sources.controller)
        watching = asyncio.create_task(local.run())
        await sources.create("apps", spec(verify={"mode": "HEAD", "secretRef": {"name": "keys"}}))
        await sources.create("other", spec(url="https://git.example.com/other"))
        first = (await sources.ready("apps"))["artifact"]
        other = (await sources.ready("other"))["artifact"]

        def stored() -> bytes:
            with tarfile.open(tmp_path / "store" / sources.status("apps")["artifact"]["path"]) as archive:
                member = archive.extractfile("a.yaml")
                return member.read() if member else b""

        number = 1
        while sources.status("apps")["artifact"]["revision"] == first["revision"]:
            number += 1
            (root / "a.yaml").write_text(f"a: {number}\n")
            with suppress(TimeoutError):  # the watch may not be there yet
                await sources.until(
                    lambda: sources.status("apps")["artifact"]["revision"] != first["revision"], within=1.0
                )
            assert number < 30
        await sources.until(lambda: stored() == f"a: {number}\n".encode())  # an earlier save may have been first
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching
        assert sources.condition("apps", "SourceVerified") == {}
        assert sources.status("other")["artifact"] == other
        assert place.fetched == 1, "the real place is asked for the other one only"
