"""Pinned to a revision: held while the source and everybody else move on, and let go at once."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec
import pytest

from penstock.controllers.kustomization.source import GROUP
from penstock.controllers.pins import ANNOTATION
from penstock.kube import ObjectRef
from penstock.sources.store import ArtifactStore
from tests.controllers.kustomization.manifests import config_map
from tests.controllers.sources.stand_in import write

if TYPE_CHECKING:
    from pathlib import Path

    from tests.controllers.kustomization.world import World

OLD, NEW = (f"main@sha1:{digit * 40}" for digit in "12")


@pytest.fixture
def store(tmp_path: Path) -> ArtifactStore:
    return ArtifactStore(tmp_path / "store", address="nowhere.invalid")


async def put(world: World, store: ArtifactStore, folder: Path, revision: str, **data: str) -> dict[str, object]:
    """What a source of this process has stored for a revision."""
    tree = folder / revision.rpartition(":")[2]
    await asyncio.to_thread(tree.mkdir)
    await asyncio.to_thread(write, tree, {f"{name}.yaml": config_map(name, {"key": key}) for name, key in data.items()})
    owner = ObjectRef(GROUP, "GitRepository", world.namespace, "apps")
    artifact = await store.put_tree(owner, f"{tree.name}.tar.gz", tree, revision=revision)
    built: dict[str, object] = msgspec.to_builtins(artifact)
    return {
        "path": artifact.path,
        "url": artifact.url,
        "revision": revision,
        "digest": artifact.digest,
        "lastUpdateTime": str(built["lastUpdateTime"]),
    }


async def value(world: World, name: str) -> str:
    found = await world.config_map(name)
    return str(found["data"]["key"]) if found else ""


@pytest.mark.parametrize(
    "pin",
    [
        pytest.param(OLD, id="as the status writes it"),
        pytest.param(OLD[:18], id="a part of the hash that is enough"),
        pytest.param("1" * 12, id="the hash alone"),
    ],
)
async def test_one_stays_and_the_others_move_on(world: World, store: ArtifactStore, tmp_path: Path, pin: str) -> None:
    first = await put(world, store, tmp_path, OLD, a="old", b="old")
    await world.source(OLD, artifact=first)
    for name in ("a", "b"):
        await world.kustomization(name, patches=[_without("b" if name == "a" else "a")])
        await world.until_applied(OLD, name=name)

    await world.change(name="a", annotations={ANNOTATION: pin})
    await world.until(lambda: world.condition("Ready", "a")["message"] == f"Applied revision: {OLD} (pinned)")
    await world.until_event(name="a", says=f"Pinned to revision {OLD}", type="Normal")

    await world.source(NEW, artifact=await put(world, store, tmp_path, NEW, a="new", b="new"))
    await world.until_applied(NEW, name="b")
    await world.ask("now", name="a")
    await world.until(lambda: world.status("a").get("lastHandledReconcileAt") == "now")
    assert world.condition("Ready", "a")["message"] == f"Applied revision: {OLD} (pinned)"
    assert (world.status("a")["lastAppliedRevision"], await value(world, "a")) == (OLD, "old")
    assert await value(world, "b") == "new"

    await world.change(name="a", annotations={ANNOTATION: None})
    await world.until_applied(NEW, name="a")
    assert (await value(world, "a"), world.condition("Ready", "a")["message"]) == ("new", f"Applied revision: {NEW}")
    await world.until_event(name="a", says="No longer pinned", type="Normal")


async def test_back_to_an_older_revision(world: World, store: ArtifactStore, tmp_path: Path) -> None:
    await put(world, store, tmp_path, OLD, a="old")
    await world.source(NEW, artifact=await put(world, store, tmp_path, NEW, a="new"))
    await world.kustomization()
    await world.until_applied(NEW)
    await world.change(annotations={ANNOTATION: OLD})
    await world.until_applied(OLD)
    assert await value(world, "a") == "old"


async def test_a_revision_that_is_not_there_and_comes(world: World, store: ArtifactStore, tmp_path: Path) -> None:
    await world.source(NEW, artifact=await put(world, store, tmp_path, NEW, a="new"))
    await world.kustomization(annotations={ANNOTATION: OLD})
    ready = await world.until_failed("ArtifactFailed", says=f"the revision '{OLD}' is not in the artifact store")
    assert f"there are {NEW}" in ready["message"]
    assert not await world.config_map("a"), "another revision is never taken instead"

    source = ObjectRef(GROUP, "GitRepository", world.namespace, "apps")
    world.pins.settle(source, OLD, "the remote has no such commit")
    await world.until_failed("ArtifactFailed", says="the remote has no such commit")

    await put(world, store, tmp_path, OLD, a="old")
    world.pins.settle(source, OLD)
    await world.until_applied(OLD)
    assert await value(world, "a") == "old"


async def test_a_hash_that_could_be_several(world: World, store: ArtifactStore, tmp_path: Path) -> None:
    for digit in "34":
        await put(world, store, tmp_path, f"main@sha1:{'1' * 20}{digit * 20}", a=digit)
    await world.source(NEW, artifact=await put(world, store, tmp_path, NEW, a="new"))
    await world.kustomization(annotations={ANNOTATION: "1111111"})
    await world.until_failed("ArtifactFailed", says="write more of its hash")
    await world.change(annotations={ANNOTATION: "1" * 20 + "3"})
    await world.until_applied(f"main@sha1:{'1' * 20}{'3' * 20}")


async def test_a_source_that_has_nothing_now(world: World, store: ArtifactStore, tmp_path: Path) -> None:
    await put(world, store, tmp_path, OLD, a="old")
    await world.bare_source()
    await world.kustomization(annotations={ANNOTATION: OLD})
    await world.until_applied(OLD)


class TestDependencies:
    async def test_one_that_is_pinned_holds_nobody_up(self, world: World, store: ArtifactStore, tmp_path: Path) -> None:
        await world.source(OLD, artifact=await put(world, store, tmp_path, OLD, a="old"))
        await world.kustomization("base", annotations={ANNOTATION: OLD}, namePrefix="base-")
        await world.until_applied(OLD, name="base")
        await world.kustomization("app", dependsOn=[{"name": "base"}])
        await world.until_applied(OLD, name="app")
        await world.source(NEW, artifact=await put(world, store, tmp_path, NEW, a="new"))
        await world.until_applied(NEW, name="app")
        assert world.status("base")["lastAppliedRevision"] == OLD

    async def test_who_is_pinned_waits_for_health_alone(
        self, world: World, store: ArtifactStore, tmp_path: Path
    ) -> None:
        await put(world, store, tmp_path, OLD, a="old")
        await world.source(NEW, artifact=await put(world, store, tmp_path, NEW, a="new"))
        await world.kustomization("base", namePrefix="base-")
        await world.kustomization("app", annotations={ANNOTATION: OLD}, dependsOn=[{"name": "base"}])
        await world.until_applied(OLD, name="app")
        assert world.status("base")["lastAppliedRevision"] == NEW


class TestWithoutSourcesInTheProcess:
    @pytest.fixture
    def store(self) -> ArtifactStore | None:
        return None

    async def test_only_the_newest_can_be_had(self, world: World) -> None:
        await world.source(OLD, {"a.yaml": config_map("a")})
        await world.kustomization(annotations={ANNOTATION: OLD})
        await world.until_applied(OLD)
        await world.source(NEW, {"a.yaml": config_map("a", {"key": "new"})})
        await world.ask("now")
        ready = await world.until_failed("ArtifactFailed", says="run in one process")
        assert f"its source is at '{NEW}'" in ready["message"]
        assert await value(world, "a") == "value", "what was applied stays"

    async def test_a_source_without_an_artifact(self, world: World) -> None:
        await world.bare_source(kind="Bucket")
        await world.kustomization(annotations={ANNOTATION: OLD}, sourceRef={"kind": "Bucket", "name": "apps"})
        await world.until_failed("ArtifactFailed", says="its source has no artifact")


def _without(name: str) -> dict[str, str]:
    delete = f"$patch: delete\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n"
    return {"patch": delete}
