"""The objects that let a cluster follow a folder."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from penstock import embedded
from penstock.api import crds
from penstock.cli.up.first import BrokenFile, prepare, read, sync
from penstock.controllers.kustomization.parts import KUSTOMIZATIONS
from penstock.controllers.kustomization.source import KINDS
from penstock.errors import UsageError
from penstock.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, SECRETS
from tests.cli.up.repositories import SOURCE, kustomization, small, write

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.kube import Client


@pytest.mark.parametrize(
    ("remote", "url"),
    [
        pytest.param("https://git.example.com/a/b", "https://git.example.com/a/b", id="an address"),
        pytest.param("git@git.example.com:a/b.git", "ssh://git@git.example.com/a/b.git", id="the short form of ssh"),
        pytest.param("/srv/git/b", "https://localhost/repository", id="a path"),
        pytest.param("", "https://localhost/repository", id="no remote"),
    ],
)
def test_made_for_a_folder(tmp_path: Path, remote: str, url: str) -> None:
    made = sync(small(tmp_path / "repository"), "clusters/dev", remote)
    source, root = made.objects
    assert source["spec"]["url"] == url
    assert root["spec"]["path"] == "./clusters/dev"
    assert root["spec"]["sourceRef"] == {"kind": "GitRepository", "name": "flux-system"}
    assert (made.source.kind, made.namespace) == ("GitRepository", "flux-system")


@pytest.mark.parametrize("file", ["flux-system/gotk-sync.yaml", "own.yaml"])
def test_the_folders_own(tmp_path: Path, file: str) -> None:
    own = SOURCE.format(name="platform") + "---\n" + kustomization("root", source="platform")
    own = own.replace("./apps/root", "./clusters/dev/")
    found = sync(write(small(tmp_path), {f"clusters/dev/{file}": own}), "clusters/dev")
    assert (found.source.name, found.kustomization.name) == ("platform", "root")


def test_a_broken_file_beside_it_is_left_to_the_controller(tmp_path: Path) -> None:
    root = write(small(tmp_path), {"clusters/dev/broken.yaml": "a: ["})
    assert sync(root, "clusters/dev").source.name == "flux-system"


def test_a_broken_file_that_must_be_read(tmp_path: Path) -> None:
    root = write(small(tmp_path), {"clusters/dev/flux-system/gotk-sync.yaml": "a: ["})
    with pytest.raises(BrokenFile, match=r"gotk-sync\.yaml: line \d"):
        sync(root, "clusters/dev")


def test_what_is_no_object_is_left_out(tmp_path: Path) -> None:
    root = write(tmp_path, {"a.yaml": "a: 1\n---\n- b\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: key}\n"})
    assert [obj["metadata"]["name"] for obj in read([root / "a.yaml"])] == ["key"]


async def definition(client: Client) -> tuple[str, int]:
    """Which version of a definition the cluster has, by identity and by change."""
    metadata = (await client.get(CUSTOM_RESOURCE_DEFINITIONS, crds()[0]["metadata"]["name"]))["metadata"]
    return metadata["uid"], metadata["generation"]


async def test_a_cluster_is_prepared_and_asked_again(imported: None, tmp_path: Path) -> None:
    """On a cluster of its own: everything in it is asked to run again."""
    root = write(small(tmp_path), {"clusters/other/apps.yaml": kustomization("settings")})
    wanted = await asyncio.to_thread(sync, root, "clusters/dev")
    other = await asyncio.to_thread(sync, root, "clusters/other")
    key = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key"}}
    async with embedded.cluster(workloads=False) as running, running.client() as client:
        await prepare(client, [key], wanted, token="first")
        assert await client.get(SECRETS, "key", "flux-system")
        before = await definition(client)
        await prepare(client, [], wanted, token="second", guest=True)
        assert await definition(client) == before
        for resource in (KUSTOMIZATIONS, KINDS["GitRepository"]):
            metadata = (await client.get(resource, "flux-system", "flux-system"))["metadata"]
            assert metadata["annotations"] == {"reconcile.fluxcd.io/requestedAt": "second"}
        with pytest.raises(UsageError, match=r"follows './clusters/dev', and not './clusters/other'"):
            await prepare(client, [], other, token="third")
