"""A cluster with objects whose states the test writes, and the command in front of it.

    async def test_something(stage: Stage) -> None:
        await stage.kustomization("apps", revision="main@sha1:...")
        ended = await stage.run("get", "ks")
        assert ended.code == 0

The command runs in a thread of this process, with an event loop of its own. What needs a terminal or a signal is
started as a program.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import io
import sys
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from penstock.api import crd
from penstock.cli import main
from penstock.cli.catalogue import ENTRIES, by_kind
from penstock.cli.verbs import VERBS
from penstock.kube import WatchCache
from penstock.runtime.triggers import REQUESTED_AT
from tests.controlplane.build import NoGo
from tests.definitions import define
from tests.peers import flux
from tests.waiting import following

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping, Sequence

    from penstock.kube import Change, Client, Object
    from tests.clusters import Cluster

HASH = "1a2b3c4d" + "0" * 32
REVISION = f"main@sha1:{HASH}"
SHORT = "main@sha1:1a2b3c4d"
LONG_AGO = "2026-01-01T00:00:00Z"
DIGEST = "sha256:" + "b" * 64


@dataclass(frozen=True, slots=True)
class Ended:
    """What became of a command."""

    code: int
    out: str
    err: str

    @property
    def rows(self) -> list[list[str]]:
        """The cells of a table, without their padding."""
        return [[cell.strip() for cell in line.rstrip("\t").split("\t")] for line in self.out.splitlines()]


def load() -> None:
    """Import everything that verbs import when they are called: in an event loop, reading files counts as blocking."""
    for verb in VERBS.values():
        importlib.import_module(verb.module)
    for name in ("showing", "finding", "waiting", "releases"):
        importlib.import_module(f"penstock.cli.{name}")
    for name in ("controllers.kustomization.suspension", "health", "yaml", "semver", "runtime.triggers", "kube.events"):
        importlib.import_module(f"penstock.{name}")


_only_one = threading.Lock()
"""stdout and stderr are one for the whole process."""


def command(*arguments: str) -> Ended:
    """Run the command here and now."""
    out, err = io.StringIO(), io.StringIO()
    with _only_one, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(arguments)
    return Ended(code, out.getvalue(), err.getvalue())


def penstock(*arguments: str) -> list[str]:
    """The command line of the program itself."""
    return [sys.executable, "-m", "penstock", *arguments]


def ready(status: str = "True", message: str = "fine", *, reason: str = "Done", generation: int = 1) -> Object:
    """A Ready condition."""
    return {
        "type": "Ready",
        "status": status,
        "reason": reason,
        "message": message,
        "observedGeneration": generation,
        "lastTransitionTime": LONG_AGO,
    }


def artifact(revision: str = REVISION, *, size: int = 1536, metadata: Mapping[str, str] | None = None) -> Object:
    """What a source reports of its artifact."""
    told: dict[str, Any] = {
        "path": "a.tar.gz",
        "url": "http://127.0.0.1/a.tar.gz",
        "digest": DIGEST,
        "lastUpdateTime": LONG_AGO,
        "size": size,
        "revision": revision,
    }
    return told | ({"metadata": dict(metadata)} if metadata else {})


@dataclass(frozen=True, slots=True)
class Stage:
    """A cluster, a namespace in it, and the command."""

    cluster: Cluster

    @property
    def client(self) -> Client:
        return self.cluster.client

    @property
    def namespace(self) -> str:
        return self.cluster.namespace

    def arguments(self, *arguments: str) -> list[str]:
        """With the options that lead to this cluster and namespace."""
        verb, *rest = arguments
        where = [] if "-A" in rest or "-n" in rest else [f"--namespace={self.namespace}"]
        return [verb, f"--kubeconfig={self.cluster.kubeconfig}", *where, *rest]

    async def run(self, *arguments: str) -> Ended:
        return await asyncio.to_thread(command, *self.arguments(*arguments))

    async def flux(self, *arguments: str) -> Ended:
        """What the real `flux` does on the same cluster and namespace; the test is skipped where it cannot be built."""
        try:
            program = await asyncio.to_thread(flux)
        except NoGo as error:
            pytest.skip(f"not here: {error}")
        where = (f"--kubeconfig={self.cluster.kubeconfig}", f"--namespace={self.namespace}")
        process = await asyncio.create_subprocess_exec(
            *(str(program), *arguments, *where), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        out, err = await process.communicate()
        return Ended(process.returncode or 0, out.decode(), err.decode())

    async def create(
        self,
        kind: str,
        name: str,
        spec: Mapping[str, Any],
        status: Mapping[str, Any] | None = None,
        *,
        namespace: str = "",
        **metadata: Any,
    ) -> Object:
        """An object with the state that a controller would have written."""
        entry = by_kind(kind)
        assert entry is not None
        resource, namespace = entry.resource, namespace or self.namespace
        body = {
            "apiVersion": resource.api_version,
            "kind": kind,
            "metadata": {"name": name, **metadata},
            "spec": dict(spec),
        }
        made = await self.client.create(resource, body, namespace=namespace)
        if status is not None:
            made = await self.client.patch(resource, name, namespace, {"status": status}, subresource="status")
        return made

    async def kustomization(
        self,
        name: str = "apps",
        *,
        condition: Object | None = None,
        revision: str = REVISION,
        inventory: Sequence[str] = (),
        namespace: str = "",
        source: Mapping[str, str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        **spec: Any,
    ) -> Object:
        """A Kustomization that was applied, unless its condition says otherwise."""
        wanted = {"interval": "10m", "prune": True, "path": "./deploy", **spec}
        wanted["sourceRef"] = {"kind": "GitRepository", "name": "apps", **(source or {})}
        status = {
            "observedGeneration": 1,
            "lastAppliedRevision": revision,
            "conditions": [condition or ready(message=f"Applied revision: {revision}")],
            "inventory": {"entries": [{"id": one, "v": "v1"} for one in inventory]},
        }
        return await self.create("Kustomization", name, wanted, status, namespace=namespace, **(metadata or {}))

    async def repository(
        self, name: str = "apps", *, namespace: str = "", metadata: Mapping[str, Any] | None = None, **spec: Any
    ) -> Object:
        """A GitRepository with an artifact."""
        wanted = {"url": "https://example.com/apps", "interval": "1m", "ref": {"branch": "main"}, **spec}
        told = ready(message=f"stored artifact for revision '{REVISION}'")
        status = {"observedGeneration": 1, "conditions": [told], "artifact": artifact()}
        return await self.create("GitRepository", name, wanted, status, namespace=namespace, **(metadata or {}))

    async def read(self, kind: str, name: str, namespace: str = "") -> Object:
        entry = by_kind(kind)
        assert entry is not None
        return await self.client.get(entry.resource, name, namespace or self.namespace)

    @contextlib.asynccontextmanager
    async def played(self, kind: str, play: Callable[[Object], Mapping[str, Any] | None]) -> AsyncGenerator[None]:
        """Stand in for a controller: write the status that `play` gives for an object, whenever one has changed."""
        entry = by_kind(kind)
        assert entry is not None
        cache: WatchCache[Object] = WatchCache(self.client, entry.resource, namespace=self.namespace)

        async def act(change: Change[Object]) -> None:
            status = play(change.new) if change.new else None
            if status is not None:
                name = change.ref.name
                await self.client.patch(entry.resource, name, self.namespace, {"status": status}, subresource="status")

        cache.subscribe(act)
        async with following(cache):
            yield


def handled(obj: Object, condition: Object, **status: Any) -> Object | None:
    """The status of a controller that has done what it was asked for; None when nobody has asked."""
    metadata = obj["metadata"]
    wish = (metadata.get("annotations") or {}).get(REQUESTED_AT)
    told = obj.get("status") or {}
    if told.get("lastHandledReconcileAt") == wish and told.get("observedGeneration") == metadata["generation"]:
        return None
    generation = {"observedGeneration": metadata["generation"]}
    return {"conditions": [condition | generation], "lastHandledReconcileAt": wish, **generation, **status}


async def staged(cluster: Cluster) -> Stage:
    """A stage whose cluster knows the kinds that have a controller; defining the others too takes a second."""
    kinds = [entry.kind for entry in ENTRIES if entry.kind.handled]
    served = {(one.resource.api_version, one.resource.kind) for one in await cluster.client.discovery.kinds()}
    if any((kind.api_version, kind.kind) not in served for kind in kinds):  # a real cluster is used by many tests
        await define(cluster.client, *(crd(kind.kind) for kind in kinds))
    return Stage(cluster)
