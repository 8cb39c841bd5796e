"""Where the artifact comes from, and what happens when it does not: scenarios of section 22.2."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from penstock.controllers.kustomization.source import KINDS
from tests.controllers.kustomization.manifests import config_map, secret

if TYPE_CHECKING:
    from penstock.controllers.kustomization.settings import Settings
    from tests.controllers.kustomization.world import World

ORIGIN = "kustomize.toolkit.fluxcd.io/originRevision"


@pytest.mark.scenario("22.2 ArtifactDownload/1", "22.2 ArtifactDownload/2", "22.2 ArtifactDownload/3")
async def test_an_artifact_that_is_gone_for_a_while(world: World) -> None:
    artifact = await world.source("v1.0.0", {"secret.yaml": secret("a")})
    check = {"apiVersion": "v1", "kind": "Secret", "name": "a", "namespace": world.namespace}
    await world.kustomization(interval="1s", healthChecks=[check])
    await world.until_applied("v1.0.0")
    assert world.condition("Healthy")["status"] == "True"

    await world.source("v1.0.0", artifact={**artifact, "url": f"{world.shelf.base}/missing.tar.gz"})
    await world.until_failed("ArtifactFailed", says="artifact not found")

    await world.source("v1.0.0", artifact=artifact)
    await world.until_applied("v1.0.0")


@pytest.mark.scenario("22.2 DirectSourceFetch/1")
async def test_a_source_that_was_there_first(world: World) -> None:
    await world.source("main@sha1:b8e362c206", {"config.yaml": config_map("a")})
    await world.kustomization()
    await world.until_applied("main@sha1:b8e362c206")


@pytest.mark.scenario("22.2 DirectSourceFetch/2")
async def test_a_source_that_does_not_exist(world: World) -> None:
    await world.kustomization()
    ready = await world.until_failed("ArtifactFailed")
    assert ready["message"] == 'gitrepositories.source.toolkit.fluxcd.io "apps" not found'
    assert await world.events() == []


@pytest.mark.scenario("22.2 DirectSourceFetch OCIRepository and Bucket without artifact")
@pytest.mark.parametrize("kind", ["OCIRepository", "Bucket"])
async def test_a_source_that_has_no_artifact_yet(world: World, kind: str) -> None:
    await world.bare_source(kind=kind)
    await world.kustomization(sourceRef={"kind": kind, "name": "apps"})
    await world.until_failed("ArtifactFailed", says="Source artifact not found, retrying in 2s")
    await world.source("v1", {"config.yaml": config_map("a")}, kind=kind)
    await world.until_applied("v1")


class TestExternalArtifacts:
    @pytest.fixture
    def settings(self, settings: Settings, request: pytest.FixtureRequest) -> Settings:
        return replace(
            settings, gates=replace(settings.gates, external_artifact="switched_off" not in request.node.name)
        )

    @pytest.mark.scenario("22.2 ExternalArtifact/1", "22.2 ExternalArtifact/2")
    async def test_are_built_and_followed(self, world: World) -> None:
        files = {"config.yaml": config_map("a")}
        await world.source("v1.0.0", files, kind="ExternalArtifact")
        await world.kustomization(interval="1h", wait=True, sourceRef={"kind": "ExternalArtifact", "name": "apps"})
        await world.until_applied("v1.0.0")
        told = await world.until_told(3, revision="v1.0.0")
        assert [one["reason"] for one in told] == ["Progressing", "Progressing", "ReconciliationSucceeded"]
        assert "created" in told[0]["message"]
        assert "check passed" in told[1]["message"]
        assert "finished" in told[2]["message"]

        await world.source("v2.0.0", files, kind="ExternalArtifact")
        await world.until_applied("v2.0.0")
        (only,) = world.status()["history"]
        assert only["totalReconciliations"] == 2
        assert only["lastReconciledStatus"] == "ReconciliationSucceeded"
        assert only["metadata"] == {"revision": "v2.0.0"}

    @pytest.mark.scenario("22.2 ExternalArtifact/3")
    async def test_are_refused_when_switched_off(self, world: World) -> None:
        await world.source("v3.0.0", {"config.yaml": config_map("a")}, kind="ExternalArtifact")
        await world.kustomization(sourceRef={"kind": "ExternalArtifact", "name": "apps"})
        await world.until_failed("AccessDenied")
        assert world.condition("Stalled")["status"] == "True"
        (told,) = await world.until_told(1)
        assert told["reason"] == "AccessDenied"
        assert told["type"] == "Warning"
        assert "feature gate is disabled" in told["message"]


@pytest.mark.scenario("22.2 OriginRevision")
async def test_the_origin_of_an_artifact_is_shown(world: World) -> None:
    origin = {"org.opencontainers.image.revision": "orev"}
    await world.source("v1.0.0", {"config.yaml": config_map("a")}, metadata=origin)
    await world.kustomization()
    await world.until_applied("v1.0.0")
    assert world.status()["lastAppliedOriginRevision"] == "orev"
    (only,) = world.status()["history"]
    assert only["digest"].startswith("sha256:")
    assert only["totalReconciliations"] == 1
    assert only["firstReconciled"] == only["lastReconciled"]
    assert only["lastReconciledDuration"].rstrip("nµms.0123456789") == ""
    assert only["metadata"] == {"revision": "v1.0.0", "originRevision": "orev"}
    told = await world.until_told(2)
    assert {(one["metadata"].get("annotations") or {}).get(ORIGIN) for one in told} == {"orev"}


async def test_a_source_that_goes_back_while_its_next_revision_is_built(world: World) -> None:
    """The status still says that the old one was tried last; the run under way is at the other one."""
    await world.source("v1", {"config.yaml": config_map("a", {"key": "old"})})
    await world.kustomization()
    await world.until_applied("v1")
    asked, gate = asyncio.Event(), asyncio.Event()

    async def hold(_name: str) -> None:
        asked.set()
        await gate.wait()

    world.shelf.hold = hold
    await world.source("v2", {"config.yaml": config_map("a", {"key": "new"})})
    async with asyncio.timeout(20):
        await asked.wait()
    await world.source("v1", {"config.yaml": config_map("a", {"key": "old"})})
    gate.set()
    await world.until(lambda: "v2" in {one["metadata"]["revision"] for one in world.status()["history"]})
    await world.until_applied("v1")
    found = await world.config_map("a")
    assert found is not None
    assert found["data"] == {"key": "old"}


async def test_an_unpacked_artifact_is_shared(world: World) -> None:
    await world.source("v1.0.0", {"a/config.yaml": config_map("a"), "b/config.yaml": config_map("b")})
    for name in ("a", "b"):
        await world.kustomization(name, path=f"./{name}")
    for name in ("a", "b"):
        await world.until_applied("v1.0.0", name=name)
    assert len(world.shelf.asked) == 1


@pytest.mark.parametrize(
    ("path", "says"),
    [
        pytest.param("./nowhere", "kustomization path not found", id="not there"),
        pytest.param("../../../etc", "kustomization path not found", id="outside, which is clamped to the root"),
    ],
)
async def test_a_path_that_does_not_exist(world: World, path: str, says: str) -> None:
    await world.source("v1.0.0", {"config.yaml": config_map("a")})
    await world.kustomization(path=path)
    await world.until_failed("ArtifactFailed", says=says)
    assert "lastAttemptedRevision" not in world.status()


async def test_an_artifact_of_another_digest_is_not_built(world: World) -> None:
    await world.source("v1.0.0", {"config.yaml": config_map("a")}, artifact={"digest": f"sha256:{'0' * 64}"})
    await world.kustomization()
    await world.until_failed("ArtifactFailed", says="digest")
    assert not await world.config_map("a")


async def test_every_kind_of_source_is_watched() -> None:
    assert set(KINDS) == {"GitRepository", "OCIRepository", "Bucket", "ExternalArtifact"}
