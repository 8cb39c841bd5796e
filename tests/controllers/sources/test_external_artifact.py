"""ExternalArtifacts: published, refused and withdrawn."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from penstock.api import crd
from penstock.controllers.sources.external_artifact import RESOURCE, ExternalArtifacts
from penstock.kube.errors import NotFound
from penstock.sources.store import ArtifactStore, Retention, Scratch
from tests.definitions import define

if TYPE_CHECKING:
    from pathlib import Path

    from tests.clusters import Cluster

MADE_FROM = {"apiVersion": "example.com/v1", "kind": "Generator", "name": "apps"}


async def test_from_the_first_content_to_the_end(cluster: Cluster, tmp_path: Path) -> None:
    client, namespace = cluster.client, cluster.namespace
    await define(client, crd("ExternalArtifact"))
    store = ArtifactStore(tmp_path / "store", address="test", retention=Retention(3600, 2))
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "a.yaml").write_text("a")

    async def live() -> dict[str, object]:
        return await client.get(RESOURCE, "apps", namespace)

    async with Scratch.below(tmp_path / "scratch") as scratch:
        made = ExternalArtifacts(
            client, store, scratch, manager="test-generator", now=lambda: datetime(2026, 1, 1, tzinfo=UTC)
        )
        first = await made.publish(namespace, "apps", tree, source=MADE_FROM)
        assert first.path == f"externalartifact/{namespace}/apps/{first.digest.removeprefix('sha256:')}.tar.gz"
        assert first.revision == f"latest@{first.digest}"
        stored = await client.get(RESOURCE, "apps", namespace)
        assert stored["spec"] == {"sourceRef": MADE_FROM}
        assert stored["status"]["artifact"]["digest"] == first.digest
        [ready] = stored["status"]["conditions"]
        assert (ready["type"], ready["status"], ready["reason"]) == ("Ready", "True", "Succeeded")

        assert await made.publish(namespace, "apps", tree, source=MADE_FROM) == first
        assert (await live())["metadata"] == stored["metadata"], "equal content writes nothing"

        last = first
        for number in range(4):
            (tree / "a.yaml").write_text(str(number))
            last = await made.publish(namespace, "apps", tree, source=MADE_FROM)
        files = await asyncio.to_thread(lambda: list((tmp_path / "store").rglob("*.tar.gz")))
        assert len(files) == 2
        await store.check(last)

        await made.refuse(namespace, "apps", "FetchFailed", "the generator is ill")
        stored = await client.get(RESOURCE, "apps", namespace)
        assert stored["status"]["artifact"]["digest"] == last.digest
        [ready] = stored["status"]["conditions"]
        assert (ready["status"], ready["reason"], ready["message"]) == ("False", "FetchFailed", "the generator is ill")

        await made.withdraw(namespace, "apps")
        await made.withdraw(namespace, "apps")
        with pytest.raises(NotFound):
            await live()
        assert not store.file(last).parent.exists()
