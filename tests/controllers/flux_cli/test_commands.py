"""The real `flux` command shows, moves and removes what our controllers keep."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
import yaml

from penstock.controllers.kustomization.parts import KUSTOMIZATIONS
from penstock.kube import WatchCache
from penstock.kube.errors import NotFound
from penstock.kube.resources import CONFIG_MAPS, EVENTS
from penstock.runtime.triggers import REQUESTED_AT
from tests.controllers.flux_cli.installation import BROKEN, QUIET, REPOSITORIES, UNUSED, manifest
from tests.waiting import following

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.kube import Object
    from tests.controllers.flux_cli.installation import Installation, Told

pytestmark = [pytest.mark.real, pytest.mark.timeout(180), pytest.mark.asyncio(loop_scope="module")]


def revision(installation: Installation, repository: str = "shared") -> str:
    return f"main@sha1:{installation.revisions[repository]}"


def short(installation: Installation) -> str:
    """As tables show it."""
    return revision(installation)[: len("main@sha1:") + 8]


def local(installation: Installation, folder: Path, greeting: str) -> Path:
    """The files of the Kustomization `shop`, on somebody's disk."""
    for name, text in manifest("shop", greeting).items():
        path = folder / name
        path.parent.mkdir()
        path.write_text(text)
    return folder / "shop"


async def test_get_shows_sources_and_kustomizations(installation: Installation) -> None:
    sources, kustomizations = await asyncio.gather(
        installation.flux("get", "sources", "git", "shared"), installation.flux("get", "kustomizations", "shop")
    )
    at = short(installation)
    assert sources.rows == [
        ["NAME", "REVISION", "SUSPENDED", "READY", "MESSAGE"],
        ["shared", at, "False", "True", f"stored artifact for revision '{at}'", ""],
    ]
    assert kustomizations.rows[1:] == [["shop", at, "False", "True", f"Applied revision: {at}", ""]]


async def test_get_all_in_all_namespaces(installation: Installation) -> None:
    told = await installation.flux("get", "all", "--all-namespaces")
    ours = {row[1]: row[4] for row in told.rows if row[0] == installation.namespace}
    assert told.code == 0, told.err
    assert {
        name: ours.get(name) for name in ("gitrepository/shared", "kustomization/shop", "kustomization/broken")
    } == {"gitrepository/shared": "True", "kustomization/shop": "True", "kustomization/broken": "False"}


async def test_get_by_status(installation: Installation) -> None:
    failing, fine = await asyncio.gather(
        installation.flux("get", "kustomizations", "--status-selector", "ready=false"),
        installation.flux("get", "kustomizations", "--status-selector", "ready=true"),
    )
    assert [(row[0], row[4]) for row in failing.rows[1:]] == [
        (BROKEN, "kustomization path not found: stat ./broken: no such file or directory")
    ]
    assert "shop" in {row[0] for row in fine.rows}
    assert BROKEN not in {row[0] for row in fine.rows}


async def test_what_waits_for_us_ends_well(installation: Installation) -> None:
    """All at once: the command looks only every two seconds."""

    async def paused(shown: str, *what: str) -> Told:
        assert (await installation.flux("suspend", *what)).code == 0
        assert (await installation.flux("get", shown, *what[1:])).rows[1][2] == "True"
        return await installation.flux("resume", *what)

    new = installation.moving.commit(manifest("moving", "goodbye"))
    wanted = ("--source=GitRepository/shared", f"--path=./{UNUSED}", "--prune", "--interval=1h")
    target = f"--target-namespace={installation.namespace}"
    source, alone, with_source, made, resumed, resumed_source = await asyncio.gather(
        installation.flux("reconcile", "source", "git", "shared"),
        installation.flux("reconcile", "kustomization", "shop"),
        installation.flux("reconcile", "kustomization", "moving", "--with-source"),
        installation.flux("create", "kustomization", "made", *wanted, target),
        paused("kustomizations", "kustomization", "paused"),
        paused("sources", "source", "git", QUIET),
    )
    at = revision(installation)
    assert f"✔ fetched revision {at}" in source.err
    assert f"✔ applied revision {at}" in alone.err
    assert f"✔ fetched revision main@sha1:{new}" in with_source.err
    assert f"✔ applied revision main@sha1:{new}" in with_source.err
    assert f"✔ applied revision {at}" in made.err.lower()
    assert "✔ Kustomization paused reconciliation completed" in resumed.err
    assert f"✔ GitRepository {QUIET} reconciliation completed" in resumed_source.err
    assert {one.code for one in (source, alone, with_source, made, resumed, resumed_source)} == {0}
    config = await installation.client.get(CONFIG_MAPS, "moving", installation.namespace)
    assert config["data"] == {"greeting": "goodbye"}
    for name, resource in (("shop", KUSTOMIZATIONS), ("shared", REPOSITORIES)):
        obj = await installation.get(name, resource)
        assert obj["status"]["lastHandledReconcileAt"] == obj["metadata"]["annotations"][REQUESTED_AT]


async def test_tree_shows_what_a_kustomization_owns(installation: Installation) -> None:
    told = await installation.flux("tree", "kustomization", "shop")
    namespace = installation.namespace
    assert told.out.split() == [f"Kustomization/{namespace}/shop", "└──", f"ConfigMap/{namespace}/shop"]


async def test_trace_goes_from_an_object_to_its_commit(installation: Installation) -> None:
    told = await installation.flux("trace", "configmap", "shop")
    lines = [line.split(":", 1) for line in told.out.splitlines() if ":" in line]
    facts = [(name, value.strip()) for name, value in lines]
    assert ("Object", "ConfigMap/shop") in facts
    assert ("Status", "Managed by Flux") in facts
    assert ("Kustomization", "shop") in facts
    assert ("GitRepository", "shared") in facts
    assert facts.count(("Revision", revision(installation))) == 2


async def test_events_of_a_kustomization_and_its_source(installation: Installation) -> None:
    seen: WatchCache[Object] = WatchCache(installation.client, EVENTS, namespace=installation.namespace)

    def reasons(kind: str, name: str) -> set[str]:
        involved = {"kind": kind, "name": name}
        return {one["reason"] for one in seen.values() if involved.items() <= one["involvedObject"].items()}

    async with following(seen) as until:  # events are written when there is time
        await until(lambda: reasons("Kustomization", "shop") >= {"Progressing", "ReconciliationSucceeded"})
        await until(lambda: "NewArtifact" in reasons("GitRepository", "shared"))
    told = await installation.flux("events", "--for", "Kustomization/shop")
    shown = {(row[2], row[3]) for row in told.rows[1:]}
    assert shown >= {
        ("NewArtifact", "GitRepository/shared"),
        ("Progressing", "Kustomization/shop"),
        ("ReconciliationSucceeded", "Kustomization/shop"),
    }
    assert f"ConfigMap/{installation.namespace}/shop created" in {row[4] for row in told.rows}


async def test_export_prints_what_could_be_committed(installation: Installation) -> None:
    kustomization, source = await asyncio.gather(
        installation.flux("export", "kustomization", "shop"), installation.flux("export", "source", "git", "shared")
    )
    exported = yaml.safe_load(kustomization.out)
    assert exported["kind"] == "Kustomization"
    assert exported["spec"]["sourceRef"] == {"kind": "GitRepository", "name": "shared"}
    assert "status" not in exported
    assert yaml.safe_load(source.out)["spec"]["ref"] == {"branch": "main"}


async def test_build_prints_what_we_apply(installation: Installation, tmp_path: Path) -> None:
    told = await installation.flux("build", "kustomization", "shop", f"--path={local(installation, tmp_path, 'hello')}")
    built = next(one for one in yaml.safe_load_all(told.out) if one)
    live = await installation.client.get(CONFIG_MAPS, "shop", installation.namespace)
    assert built["data"] == live["data"]
    assert built["metadata"]["labels"] == live["metadata"]["labels"]


@pytest.mark.parametrize(
    ("greeting", "code", "shown"),
    [
        pytest.param("hello", 0, "", id="nothing would change"),
        pytest.param("bye", 1, "- hello\n+ bye", id="a value would change"),
    ],
)
async def test_diff_finds_only_what_would_change(
    installation: Installation, tmp_path: Path, greeting: str, code: int, shown: str
) -> None:
    path = local(installation, tmp_path, greeting)
    told = await installation.flux("diff", "kustomization", "shop", f"--path={path}", "--progress-bar=false")
    assert told.code == code, told.err
    assert shown in told.out
    assert ("drifted" in told.out) is bool(shown)


async def test_delete_takes_the_objects_along(installation: Installation) -> None:
    client, namespace = installation.client, installation.namespace
    left: WatchCache[Object] = WatchCache(client, KUSTOMIZATIONS, namespace=namespace)
    async with following(left) as until:
        told = await installation.flux("delete", "kustomization", "leaving", "--silent")
        assert told.code == 0, told.err
        assert "✔ kustomization deleted" in told.err
        await until(lambda: left.get("leaving", namespace) is None, within=30)
    with pytest.raises(NotFound):
        await client.get(CONFIG_MAPS, "leaving", namespace)
