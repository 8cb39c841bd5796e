"""Several replicas on one cluster: they share the work or wait for the lease, and one that dies is replaced."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from penstock.api import crd
from penstock.cli import main
from penstock.controllers.kustomization.parts import KUSTOMIZATIONS
from penstock.controllers.kustomization.source import KINDS
from penstock.embedded import cluster
from penstock.kube import ObjectRef, WatchCache, connect, load
from penstock.kube.membership import GROUP_LABEL, owner
from penstock.kube.resources import LEASES, NAMESPACES
from tests.clusters import Cluster
from tests.controllers.replicas import replicas
from tests.definitions import define, release
from tests.sources.git.repositories import Repository
from tests.sources.git.server import serving
from tests.waiting import following

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from penstock.kube import Object
    from tests.waiting import Until

pytestmark = pytest.mark.timeout(240)

REPOSITORIES = KINDS["GitRepository"]
SOURCES = ("red", "blue")
NAMES = frozenset(f"{source}-{number}" for source in SOURCES for number in range(4))


class Teams:
    """Two repositories, and Kustomizations that build from them."""

    def __init__(self, where: Cluster, folder: Path) -> None:
        self._client, self._namespace = where.client, where.namespace
        self._repositories = {name: Repository(folder / f"{name}.git") for name in SOURCES}
        self.seen: WatchCache[Object] = WatchCache(where.client, KUSTOMIZATIONS, namespace=where.namespace)

    def commit(self, text: str) -> dict[str, str]:
        """New content for everybody; the answer is the commit of each repository."""
        return {
            name: repository.commit({f"{one}/config.yaml": _config(one, text) for one in NAMES})
            for name, repository in self._repositories.items()
        }

    async def create(self, url: str) -> None:
        for name in SOURCES:
            spec: Object = {"url": f"{url}{name}.git", "interval": "1h", "ref": {"branch": "main"}}
            await self._client.create(REPOSITORIES, _object(REPOSITORIES, name, spec), namespace=self._namespace)
        for name in NAMES:
            source = {"kind": "GitRepository", "name": name.partition("-")[0]}
            spec = {"interval": "1h", "retryInterval": "1s", "prune": True, "path": f"./{name}", "sourceRef": source}
            spec["targetNamespace"] = self._namespace
            await self._client.create(KUSTOMIZATIONS, _object(KUSTOMIZATIONS, name, spec), namespace=self._namespace)

    async def look(self) -> None:
        """Have the sources look for something new."""
        wish = {"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": "now"}}}
        for name in SOURCES:
            await self._client.patch(REPOSITORIES, name, self._namespace, wish)

    def have(self, commits: dict[str, str]) -> bool:
        """Whether everybody is at these commits."""
        return all(self._revision(name).endswith(commits[name.partition("-")[0]]) for name in NAMES)

    def _revision(self, name: str) -> str:
        status = (self.seen.get(name, self._namespace) or {}).get("status") or {}
        return str(status.get("lastAppliedRevision") or "")


def _config(name: str, text: str) -> str:
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{text: {text}}}\n"


def _object(resource: object, name: str, spec: Object) -> Object:
    kind, version = getattr(resource, "kind", ""), getattr(resource, "api_version", "")
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}


@pytest_asyncio.fixture
async def rehearsal(imported: None) -> AsyncGenerator[Cluster]:
    """The embedded cluster only: that leases work on a real one too is seen in `tests.runtime.test_replicas`."""
    async with (
        cluster(workloads=False) as running,
        connect(await asyncio.to_thread(load, running.kubeconfig)) as client,
    ):
        await client.create(NAMESPACES, {"metadata": {"name": "flux-system"}})
        yield Cluster("embedded", client, running.kubeconfig, "flux-system")


@asynccontextmanager
async def teams(where: Cluster, folder: Path) -> AsyncGenerator[tuple[Teams, str, Until]]:
    """The repositories, the address at which they are served, and a way to wait for the Kustomizations."""
    await define(where.client, *(crd(kind) for kind in ("Kustomization", *KINDS)))
    made = Teams(where, folder / "served")
    async with serving(folder / "served") as server, following(made.seen) as until:
        yield made, server.url(""), until
    await release(where.client, where.namespace, KUSTOMIZATIONS, REPOSITORIES)


async def test_replicas_share_the_work_and_one_that_is_killed_is_replaced(rehearsal: Cluster, tmp_path: Path) -> None:
    leases: WatchCache[Object] = WatchCache(rehearsal.client, LEASES, namespace=rehearsal.namespace, labels=GROUP_LABEL)
    async with (
        teams(rehearsal, tmp_path) as (here, url, until),
        following(leases) as until_leased,
        replicas(rehearsal, tmp_path, 2, "--share-work") as (one, other),
    ):
        first = here.commit("hello")
        await one.until(lambda: len(one.members) == len(other.members) == 2)
        before = one.memberships, other.memberships
        await here.create(url)
        await until(lambda: here.have(first), within=60)
        await one.until(lambda: one.applied() | other.applied() == NAMES)  # logged a moment after it is written
        if (one.memberships, other.memberships) == before:  # always, unless the machine stood still for seconds
            assert {one.applied(), other.applied()} == shares(one.members, rehearsal.namespace)

        await other.kill()
        second = here.commit("goodbye")
        await here.look()
        await until(lambda: here.have(second), within=60)
        await one.until(lambda: one.applied(second["red"]) | one.applied(second["blue"]) == NAMES)
        await until_leased(lambda: len(leases) == 1, within=30)
        assert await one.stop() == 0
        await until_leased(lambda: len(leases) == 0)


def shares(members: frozenset[str], namespace: str) -> set[frozenset[str]]:
    """What falls to each member."""
    refs = {name: ObjectRef(KUSTOMIZATIONS.group, KUSTOMIZATIONS.kind, namespace, name) for name in NAMES}
    return {frozenset(name for name in NAMES if owner(members, str(refs[name])) == member) for member in members}


async def test_one_of_two_leads_and_the_other_takes_over_when_it_is_killed(rehearsal: Cluster, tmp_path: Path) -> None:
    async with (
        teams(rehearsal, tmp_path) as (here, url, until),
        replicas(rehearsal, tmp_path, 2, "--enable-leader-election") as both,
    ):
        first = here.commit("hello")
        await here.create(url)
        await until(lambda: here.have(first), within=60)
        await both[0].until(lambda: any(replica.applied() for replica in both))
        leader, other = sorted(both, key=lambda replica: len(replica.applied()), reverse=True)
        assert not other.applied()

        await leader.kill()
        second = here.commit("goodbye")
        await here.look()
        await until(lambda: here.have(second), within=60)
        await other.until(lambda: other.applied(second["red"]) | other.applied(second["blue"]) == NAMES)
        lease = await rehearsal.client.get(LEASES, "penstock-leader-election", rehearsal.namespace)
        assert lease["spec"]["leaseTransitions"] == 2


class TestFlags:
    def test_there_is_no_leader_among_equals(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["controller", "--share-work", "--enable-leader-election"]) == 2
        assert "--share-work: all replicas work" in capsys.readouterr().err

    def test_the_others_need_an_address(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("POD_IP", raising=False)
        assert main(["controller", "--share-work"]) == 2
        assert "set POD_IP, or give --storage-adv-addr" in capsys.readouterr().err

    @pytest.mark.parametrize(
        "flags",
        [
            pytest.param(["--leader-election-lease-duration=10s"], id="shorter than the usual deadline"),
            pytest.param(["--leader-election-retry-period=1m"], id="a longer pause than there is time"),
        ],
    )
    def test_a_lease_that_cannot_be_kept(self, capsys: pytest.CaptureFixture[str], flags: list[str]) -> None:
        assert main(["controller", *flags]) == 2
        assert "--leader-election-lease-duration has to be longer" in capsys.readouterr().err
