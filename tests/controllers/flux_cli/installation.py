"""A cluster with our controllers on it, as somebody with the real `flux` command meets it."""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from penstock.api import crd
from penstock.controllers.kustomization.parts import KUSTOMIZATIONS
from penstock.controllers.kustomization.source import KINDS
from penstock.kube import WatchCache, connect, load
from penstock.kube.resources import NAMESPACES
from tests.clusters import Cluster
from tests.controllers.test_process import controllers
from tests.definitions import define, release
from tests.sources.git.repositories import Repository
from tests.sources.git.server import serving
from tests.waiting import following

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from penstock.kube import Client, Object, Resource

REPOSITORIES = KINDS["GitRepository"]
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME}\ndata: {greeting: GREETING}\n"
READY = ("shop", "paused", "moving", "leaving")
UNUSED = "extra"
"""A folder of the shared repository that nobody builds from yet."""
BROKEN = "broken"
QUIET = "quiet"
"""A source that nobody builds from."""
WITHIN = "40s"


class Told(NamedTuple):
    """What a command said."""

    code: int
    out: str
    err: str

    @property
    def rows(self) -> list[list[str]]:
        """The cells of the tables, without empty lines."""
        return [[cell.strip() for cell in line.split("\t")] for line in self.out.splitlines() if line.strip()]


@dataclass(frozen=True, slots=True)
class Installation:
    """A namespace in which two repositories and some Kustomizations have settled."""

    flux_program: Path
    cluster: Cluster
    folder: Path
    moving: Repository
    revisions: dict[str, str]
    """The revision of each repository when it was installed."""

    @property
    def client(self) -> Client:
        return self.cluster.client

    @property
    def namespace(self) -> str:
        return self.cluster.namespace

    async def flux(self, *arguments: str) -> Told:
        """Run the real command in the namespace of the installation."""
        # It remembers what a server has by its address, and addresses come back.
        where = (f"--kubeconfig={self.cluster.kubeconfig}", f"--cache-dir={self.folder / 'cache'}")
        process = await asyncio.create_subprocess_exec(
            *(str(self.flux_program), *arguments, *where, f"--timeout={WITHIN}", f"--namespace={self.namespace}"),
            env={**os.environ, "HOME": str(self.folder)},
            cwd=self.folder,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(50):
            out, err = await process.communicate()
        assert process.returncode is not None
        return Told(process.returncode, out.decode(), err.decode())

    async def get(self, name: str, resource: Resource = KUSTOMIZATIONS) -> Object:
        return await self.client.get(resource, name, self.namespace)


def manifest(name: str, greeting: str) -> dict[str, str]:
    return {f"{name}/config.yaml": CONFIG.replace("NAME", name).replace("GREETING", greeting)}


@asynccontextmanager
async def installed(kubeconfig: Path, backend: str, program: Path, folder: Path) -> AsyncGenerator[Installation]:
    """Our controllers in a process of their own, repositories, and Kustomizations that have settled."""
    shared, moving = (Repository(folder / "served" / f"{name}.git") for name in ("shared", "moving"))
    files = {path: text for name in (*READY, UNUSED) for path, text in manifest(name, "hello").items()}
    revisions = {"shared": shared.commit(files), "moving": moving.commit(manifest("moving", "hello"))}
    async with connect(await asyncio.to_thread(load, kubeconfig)) as client:
        await define(client, *(crd(kind) for kind in ("Kustomization", *KINDS)))
        made = await client.create(NAMESPACES, {"metadata": {"generateName": "flux-command-"}})
        cluster = Cluster(backend, client, kubeconfig, made["metadata"]["name"])
        async with (
            serving(folder / "served") as server,
            controllers(cluster, folder, "--no-watch-all-namespaces"),
        ):
            urls = {name: server.url(f"{name}.git") for name in revisions}
            await _settled(cluster, {**urls, QUIET: urls["shared"]})
            yield Installation(program, cluster, folder, moving, revisions)
            await client.delete(NAMESPACES, cluster.namespace)
        await release(client, cluster.namespace, KUSTOMIZATIONS, REPOSITORIES)


async def _settled(cluster: Cluster, urls: dict[str, str]) -> None:
    client, namespace = cluster.client, cluster.namespace
    seen: WatchCache[Object] = WatchCache(client, KUSTOMIZATIONS, namespace=namespace)
    for name, url in urls.items():
        spec: Object = {"url": url, "interval": "1h", "ref": {"branch": "main"}}
        await client.create(REPOSITORIES, _object(REPOSITORIES, name, spec), namespace=namespace)
    for name in (*READY, BROKEN):
        source = {"kind": "GitRepository", "name": "moving" if name == "moving" else "shared"}
        spec = {"interval": "1h", "prune": True, "targetNamespace": namespace, "path": f"./{name}", "sourceRef": source}
        await client.create(KUSTOMIZATIONS, _object(KUSTOMIZATIONS, name, spec), namespace=namespace)
    async with following(seen) as until:
        await until(lambda: all(ready(seen.get(name, namespace)) == "True" for name in READY), within=60)
        await until(lambda: ready(seen.get(BROKEN, namespace)) == "False", within=60)


def ready(obj: Object | None) -> str:
    """The status of the condition Ready; empty while there is none."""
    conditions = ((obj or {}).get("status") or {}).get("conditions") or ()
    return next((str(one["status"]) for one in conditions if one["type"] == "Ready"), "")


def _object(resource: Resource, name: str, spec: Object) -> Object:
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name}, "spec": spec}
