"""The whole way in one process: from a commit to the objects of a cluster, as `penstock controller` runs it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import pytest

from penstock.api import crd
from penstock.cli import main
from penstock.cli.controller import chosen, gates
from penstock.controllers.kustomization.parts import KUSTOMIZATIONS
from penstock.controllers.kustomization.source import KINDS
from penstock.errors import UsageError
from penstock.kube import WatchCache
from penstock.kube.resources import CONFIG_MAPS
from tests.definitions import define, release
from tests.sources.git.repositories import Repository
from tests.sources.git.server import serving
from tests.waiting import following

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from penstock.kube import Object
    from tests.clusters import Cluster

CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hello}\ndata: {greeting: GREETING}\n"


async def started(cluster: Cluster, folder: Path, *flags: str) -> Process:
    """The command in a process of its own."""
    addresses = ("--storage-addr=127.0.0.1:0", "--metrics-addr=0", "--health-addr=0")
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "penstock", "controller", f"--kubeconfig={cluster.kubeconfig}"),
        *(f"--storage-path={folder / 'data'}", *addresses, "--log-level=error", *flags),
        env={**os.environ, "RUNTIME_NAMESPACE": cluster.namespace},
    )


async def stopped(process: Process) -> None:
    """It has to end well when it is asked to."""
    with suppress(ProcessLookupError):
        process.send_signal(signal.SIGTERM)
    assert await asyncio.wait_for(process.wait(), 40) == 0


@asynccontextmanager
async def controllers(cluster: Cluster, folder: Path, *flags: str) -> AsyncGenerator[None]:
    """The command while the body runs."""
    process = await started(cluster, folder, *flags)
    try:
        yield
    finally:
        await stopped(process)


def repository_object(url: str) -> Object:
    spec = {"url": url, "interval": "1h", "ref": {"branch": "main"}}
    resource = KINDS["GitRepository"]
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": "app"}, "spec": spec}


def kustomization_object(namespace: str) -> Object:
    spec = {
        "interval": "1h",
        "prune": True,
        "wait": True,
        "targetNamespace": namespace,
        "sourceRef": {"kind": "GitRepository", "name": "app"},
    }
    return {
        "apiVersion": KUSTOMIZATIONS.api_version,
        "kind": KUSTOMIZATIONS.kind,
        "metadata": {"name": "app"},
        "spec": spec,
    }


@pytest.mark.timeout(180)  # each wait has its own bound
@pytest.mark.parametrize("flags", [(), ("--enable-leader-election",)], ids=["alone", "with a lease"])
async def test_from_a_commit_to_the_cluster(cluster: Cluster, tmp_path: Path, flags: tuple[str, ...]) -> None:
    client, namespace = cluster.client, cluster.namespace
    await define(client, *(crd(kind) for kind in ("Kustomization", *KINDS)))
    repository = Repository(tmp_path / "served" / "app.git")
    repository.commit({"config.yaml": CONFIG.replace("GREETING", "hello")}, "Say hello")
    seen: WatchCache[Object] = WatchCache(client, CONFIG_MAPS, namespace=namespace, fields="metadata.name=hello")

    def greeting() -> str:
        found = seen.get("hello", namespace)
        return str(found["data"]["greeting"]) if found else ""

    watched = f"--watch-label-selector=test={namespace}"  # other tests share a real cluster
    labels = {"labels": {"test": namespace}}
    async with (
        serving(repository.path.parent) as server,
        controllers(cluster, tmp_path, watched, *flags),
        following(seen) as until,
    ):
        for resource, obj in (
            (KINDS["GitRepository"], repository_object(server.url("app.git"))),
            (KUSTOMIZATIONS, kustomization_object(namespace)),
        ):
            obj["metadata"] |= labels
            await client.create(resource, obj, namespace=namespace)
        await until(lambda: greeting() == "hello", within=40)

        repository.commit({"config.yaml": CONFIG.replace("GREETING", "goodbye")}, "Say goodbye")
        wish = {"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": "now"}}}
        await client.patch(KINDS["GitRepository"], "app", namespace, wish)
        await until(lambda: greeting() == "goodbye", within=40)

        await client.delete(KUSTOMIZATIONS, "app", namespace)
        await until(lambda: not greeting(), within=40)
        await client.delete(KINDS["GitRepository"], "app", namespace)
    await release(client, namespace, KUSTOMIZATIONS, KINDS["GitRepository"])


class TestFlags:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            pytest.param("kustomize", ("kustomize",), id="one"),
            pytest.param("kustomize, source", ("source", "kustomize"), id="both, in the order of the flow"),
        ],
    )
    def test_components(self, text: str, expected: tuple[str, ...]) -> None:
        assert chosen(text) == expected

    @pytest.mark.parametrize("text", ["", "helm", "source,x"])
    def test_components_that_there_are_not(self, text: str) -> None:
        with pytest.raises(UsageError, match="--components"):
            chosen(text)

    def test_gates(self) -> None:
        set_ = gates("ExternalArtifact=true,StrictPostBuildSubstitutions=false,AdditiveCELDependencyCheck=true")
        assert (set_.external_artifact, set_.strict_post_build_substitutions) == (True, False)
        assert set_.additive_cel_dependency_check
        assert gates("MigrateAPIVersion=true").migrate_api_version

    @pytest.mark.parametrize("text", ["Nothing=true", "ExternalArtifact", "ExternalArtifact=maybe"])
    def test_gates_that_there_are_not(self, text: str) -> None:
        with pytest.raises(UsageError, match="--feature-gates"):
            gates(text)

    @pytest.mark.parametrize(
        ("flags", "says"),
        [
            pytest.param(
                ["--leader-election-retry-period=1m"], "has to be longer", id="a lease that nobody could keep"
            ),
            pytest.param(["--default-decryption-service-account=x"], "ObjectLevelWorkloadIdentity", id="keys"),
            pytest.param(["--default-kubeconfig-service-account=x"], "ObjectLevelWorkloadIdentity", id="clusters"),
        ],
    )
    def test_that_do_not_go_together(self, capsys: pytest.CaptureFixture[str], flags: list[str], says: str) -> None:
        assert main(["controller", *flags]) == 2
        assert says in " ".join(capsys.readouterr().err.split())

    @pytest.mark.parametrize("flag", ["--requeue-dependency", "--min-retry-delay", "--artifact-retention-ttl"])
    def test_a_time_that_is_none_is_told_with_its_flag(self, capsys: pytest.CaptureFixture[str], flag: str) -> None:
        assert main(["controller", f"{flag}=soon"]) == 2
        assert f"{flag}: " in capsys.readouterr().err
