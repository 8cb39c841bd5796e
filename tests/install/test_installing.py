"""Into a cluster and out of it again. The pod simulator plays the kubelet, so that the Deployment becomes ready."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
import yaml

from penstock.api import crd
from penstock.cli.output import to_yaml
from penstock.controllers.kustomization.accounts import SERVICE_ACCOUNTS
from penstock.controllers.kustomization.parts import KUSTOMIZATIONS
from penstock.controllers.kustomization.source import KINDS
from penstock.embedded import cluster as embedded
from penstock.install import InstallOptions, OtherInstallation, install, uninstall
from penstock.install.options import NAME
from penstock.kube import Resource, WatchCache
from penstock.kube.errors import NotFound
from penstock.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, DEPLOYMENTS, NAMESPACES
from tests.cli.trees import penstock
from tests.controllers.test_process import CONFIG, kustomization_object, repository_object
from tests.definitions import define, release
from tests.sources.git.repositories import Repository
from tests.sources.git.server import serving
from tests.waiting import following

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from penstock.kube import Client, Object
    from tests.clusters import Cluster

RBAC = "rbac.authorization.k8s.io"
CLUSTER_ROLES = Resource(RBAC, "v1", "clusterroles", "ClusterRole", namespaced=False)
ROLE_BINDINGS = Resource(RBAC, "v1", "rolebindings", "RoleBinding")
REPOSITORIES = KINDS["GitRepository"]


@pytest_asyncio.fixture
async def place(cluster: Cluster, kubelets: None) -> AsyncGenerator[Cluster]:
    """A cluster in which Deployments run, and from which everything is taken out again: roles have no namespace."""
    if cluster.backend == "real":
        yield cluster
        await uninstall(cluster.client, cluster.namespace)
        return
    async with embedded() as running, running.client() as client:
        await client.create(NAMESPACES, {"metadata": {"name": cluster.namespace}})
        yield replace(cluster, client=client, kubeconfig=running.kubeconfig)


@asynccontextmanager
async def running(kubeconfig: Path, cluster: Cluster, folder: Path, *more: str) -> AsyncGenerator[None]:
    """The command with the flags of the installed Deployment, except for what two processes on one machine share."""
    deployment = await cluster.client.get(DEPLOYMENTS, NAME, cluster.namespace)
    flags = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
    mine = (f"--storage-path={folder / 'data'}", "--storage-addr=127.0.0.1:0", "--metrics-addr=0", "--health-addr=0")
    kept = [flag for flag in flags if not flag.startswith(("--storage-", "--log-level"))]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "penstock", *kept, f"--kubeconfig={kubeconfig}", *mine, "--log-level=error", *more),
        env={**os.environ, "RUNTIME_NAMESPACE": cluster.namespace},
    )
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 40) == 0


async def as_installed(cluster: Cluster, folder: Path) -> Path:
    """A kubeconfig with the token of the installed service account, and nothing else."""
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    made = await cluster.client.create(
        SERVICE_ACCOUNTS, asked, namespace=cluster.namespace, name=NAME, subresource="token"
    )
    config = yaml.safe_load(await asyncio.to_thread(cluster.kubeconfig.read_text))
    config["users"] = [{"name": "installed", "user": {"token": made["status"]["token"]}}]
    config["contexts"][0]["context"]["user"] = "installed"
    config["current-context"] = config["contexts"][0]["name"]
    path = folder / "installed.kubeconfig"
    await asyncio.to_thread(path.write_text, to_yaml(config))
    return path


def is_ready(obj: Object | None) -> bool:
    conditions = ((obj or {}).get("status") or {}).get("conditions") or ()
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


@pytest.mark.timeout(180)  # each wait has its own bound
@pytest.mark.parametrize("multi_tenant", [False, True], ids=["alone", "among tenants"])
async def test_the_installed_rights_are_enough(place: Cluster, tmp_path: Path, multi_tenant: bool) -> None:
    client, namespace = place.client, place.namespace
    await install(client, InstallOptions(namespace=namespace, multi_tenant=multi_tenant), force=True, wait=30)
    await client.discovery.until_served([(one.api_version, one.kind) for one in (KUSTOMIZATIONS, REPOSITORIES)])
    if multi_tenant:
        binding = {
            "metadata": {"name": "tenant"},
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "edit"},
            "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": namespace}],
        }
        await client.create(ROLE_BINDINGS, binding, namespace=namespace)
    repository = Repository(tmp_path / "served" / "app.git")
    repository.commit({"config.yaml": CONFIG}, "Say hello")
    labels = {"test": namespace}
    seen: WatchCache[Object] = WatchCache(client, KUSTOMIZATIONS, namespace=namespace)
    kubeconfig = await as_installed(place, tmp_path)
    async with (
        serving(repository.path.parent) as server,
        running(kubeconfig, place, tmp_path, f"--watch-label-selector=test={namespace}"),
        following(seen) as until,
    ):
        for resource, obj in (
            (REPOSITORIES, repository_object(server.url("app.git"))),
            (KUSTOMIZATIONS, kustomization_object(namespace)),
        ):
            obj["metadata"]["labels"] = labels
            await client.create(resource, obj, namespace=namespace)
        await until(lambda: is_ready(seen.get("app", namespace)), within=40)
    await release(client, namespace, KUSTOMIZATIONS, REPOSITORIES)


async def test_the_command_and_again(place: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    access = ["--kubeconfig", place.kubeconfig, "-n", place.namespace, "--timeout=40s"]
    assert await penstock("install", *access, "--force") == 0
    first = capsys.readouterr()
    assert first.out == ""
    assert f"✔ Deployment/{place.namespace}/penstock created" in first.err
    assert first.err.splitlines()[-1].endswith(f"is ready in {place.namespace}")
    assert await penstock("install", *access, "--force", "--log-level=debug") == 0
    changed = [
        line for line in capsys.readouterr().err.splitlines() if line.startswith(f"✔ Deployment/{place.namespace}")
    ]
    assert changed == [f"✔ Deployment/{place.namespace}/penstock configured"]

    assert await penstock("uninstall", *access, "--dry-run") == 0
    assert f"✔ Deployment/{place.namespace}/penstock deleted (dry run)" in capsys.readouterr().err
    assert await place.client.get(DEPLOYMENTS, NAME, place.namespace)
    assert await penstock("uninstall", *access, "--silent") == 0
    told = capsys.readouterr().err
    assert f"✔ ClusterRole/penstock-controller-{place.namespace} deleted" in told
    assert "CustomResourceDefinition" not in told
    with pytest.raises(NotFound):
        await place.client.get(CLUSTER_ROLES, f"penstock-controller-{place.namespace}")


async def test_beside_flux(place: Cluster) -> None:
    """A Flux that runs is company; one that is scaled to nothing is not, and its definitions stay its own."""
    client, namespace = place.client, place.namespace
    labels = {"app.kubernetes.io/part-of": "flux", "kustomize.toolkit.fluxcd.io/name": "flux-system"}
    pod = {
        "metadata": {"labels": {"app": "kustomize-controller"}},
        "spec": {"containers": [{"name": "manager", "image": "example.com/kustomize-controller:v1"}]},
    }
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "kustomize-controller"}}, "template": pod}
    flux = {"metadata": {"name": "kustomize-controller", "labels": labels}, "spec": spec}
    await client.create(DEPLOYMENTS, flux, namespace=namespace)
    options = InstallOptions(namespace=namespace)
    mine = f"Deployment/{namespace}/kustomize-controller (kept there by the Kustomization flux-system)"
    with pytest.raises(OtherInstallation) as refused:
        await install(client, options, wait=None)
    assert mine in str(refused.value)
    assert "--force" in str(refused.value)
    await client.scale(DEPLOYMENTS, "kustomize-controller", namespace, 0)
    told = ""
    try:
        await install(client, options, wait=30)
    except OtherInstallation as error:
        told = str(error)
    if place.backend == "real":  # other tests install on a cluster that is shared
        assert mine not in told
    else:
        assert not told


@pytest.mark.parametrize("crds", [False, True], ids=["definitions stay", "definitions go"])
async def test_definitions(imported: None, crds: bool) -> None:
    """On a cluster of the test's own: on a shared one, others need the definitions."""
    async with embedded(workloads=False) as running, running.client() as client:
        await check_definitions(client, "gitops", crds=crds)


async def check_definitions(client: Client, namespace: str, *, crds: bool) -> None:
    theirs = crd("Bucket")
    theirs["metadata"]["labels"] = {"app.kubernetes.io/part-of": "flux"}
    await define(client, theirs)
    done = await install(client, InstallOptions(namespace=namespace), wait=None)
    assert done.kept == (theirs["metadata"]["name"],)
    await client.discovery.until_served([(KUSTOMIZATIONS.api_version, KUSTOMIZATIONS.kind)])
    body = kustomization_object(namespace)
    body["metadata"]["finalizers"] = ["finalizers.fluxcd.io"]
    await client.create(KUSTOMIZATIONS, body, namespace=namespace)
    removed = await uninstall(client, namespace, crds=crds, keep_namespace=True)
    assert removed.released == ((f"Kustomization/{namespace}/app",) if crds else ())
    left = {obj["metadata"]["name"] for obj in (await client.list(CUSTOM_RESOURCE_DEFINITIONS)).items}
    assert theirs["metadata"]["name"] in left
    if not crds:
        assert "kustomizations.kustomize.toolkit.fluxcd.io" in left
        await release(client, namespace, KUSTOMIZATIONS)
