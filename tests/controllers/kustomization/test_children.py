"""A Kustomization that installs Kustomizations: those of another repository and team, too, and how they all end."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from penstock.api.durations import SECOND, Duration
from penstock.controllers.kustomization.accounts import SERVICE_ACCOUNTS
from penstock.controllers.kustomization.parts import KUSTOMIZATIONS
from penstock.controllers.kustomization.source import KINDS
from penstock.kube import WatchCache
from penstock.kube.errors import NotFound
from penstock.kube.resources import NAMESPACES
from tests.controllers.kustomization.identities import RBAC
from tests.controllers.kustomization.manifests import config_map
from tests.definitions import release
from tests.waiting import following

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from penstock.controllers.kustomization.settings import Settings
    from penstock.kube import Object
    from tests.clusters import Cluster
    from tests.controllers.kustomization.world import World

GIT = KINDS["GitRepository"]


def manifest(api_version: str, kind: str, name: str, namespace: str = "", **more: Any) -> str:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return json.dumps({"apiVersion": api_version, "kind": kind, "metadata": metadata, **more})


def child(name: str, namespace: str, **more: Any) -> str:
    spec = {
        "interval": "1h",
        "prune": True,
        "sourceRef": {"kind": "GitRepository", "name": "apps"},
        "targetNamespace": namespace,
        **more,
    }
    return manifest(KUSTOMIZATIONS.api_version, "Kustomization", name, namespace, spec=spec)


class TestOfAnotherTeam:
    """The parent brings a namespace, an account with its rights, a repository, and who builds from it."""

    @pytest.fixture
    def settings(self, settings: Settings, cluster: Cluster) -> Settings:
        # Two namespaces are watched, and other tests share a real cluster.
        return replace(settings, watch_namespace=None, watch_labels=f"test={cluster.namespace}")

    @pytest_asyncio.fixture
    async def team(self, cluster: Cluster) -> AsyncGenerator[str]:
        """The name of a namespace that is there when the parent has made it."""
        name = f"team-{cluster.namespace}"
        yield name
        await release(cluster.client, name, KUSTOMIZATIONS)
        try:
            await cluster.client.delete(NAMESPACES, name)
        except NotFound:
            return

    def files(self, team: str, home: str) -> dict[str, str]:
        """No kustomization.yaml: it is generated. The team may write ConfigMaps of the parent's namespace."""
        rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}]
        role = {"apiGroup": RBAC, "kind": "Role", "name": "team"}
        subject = {"kind": "ServiceAccount", "name": "deployer", "namespace": team}
        repository = {"url": "https://example.com/team", "interval": "1h"}
        return {
            "namespace.yaml": manifest("v1", "Namespace", team),
            "access/account.yaml": manifest("v1", "ServiceAccount", "deployer", team),
            "access/role.yaml": manifest(f"{RBAC}/v1", "Role", "team", home, rules=rules),
            "access/binding.yaml": manifest(
                f"{RBAC}/v1", "RoleBinding", "team", home, roleRef=role, subjects=[subject]
            ),
            "repository.yaml": manifest(GIT.api_version, "GitRepository", "team", team, spec=repository),
            "apps.yaml": child(
                "apps",
                team,
                serviceAccountName="deployer",
                sourceRef={"kind": "GitRepository", "name": "team"},
                targetNamespace=home,
            ),
        }

    async def test_from_the_parent_to_the_end(self, world: World, team: str) -> None:
        labels = {"test": world.namespace}
        theirs: WatchCache[Object] = WatchCache(world.client, KUSTOMIZATIONS, namespace=team)

        def status() -> Object:
            return (theirs.get("apps", team) or {}).get("status") or {}

        def ready() -> Object:
            found = [one for one in status().get("conditions") or () if one["type"] == "Ready"]
            return found[0] if found else {}

        await world.source("v1", self.files(team, world.namespace))
        async with following(theirs) as until:
            spec: dict[str, Any] = {"wait": True, "targetNamespace": None, "commonMetadata": {"labels": labels}}
            await world.kustomization("parent", labels=labels, **spec)
            await until(lambda: ready().get("reason") == "ArtifactFailed", within=30)
            assert world.condition("Ready", "parent")["status"] != "True", "it waits for the child"

            await world.source("t1", {"a.yaml": config_map("theirs")}, name="team", namespace=team)
            settled = {"status": {"observedGeneration": 1}}  # as its controller would say
            await world.client.patch(GIT, "team", team, settled, subresource="status")
            await world.until_applied("v1", name="parent")
            assert status()["lastAppliedRevision"] == "t1"
            assert await world.config_map("theirs")

            forbidden = manifest("v1", "ServiceAccount", "intruder")
            await world.source("t2", {"a.yaml": config_map("theirs"), "b.yaml": forbidden}, name="team", namespace=team)
            await until(lambda: ready().get("reason") == "ReconciliationFailed", within=30)
            assert f"system:serviceaccount:{team}:deployer" in ready()["message"]
            assert not await world.get(SERVICE_ACCOUNTS, "intruder")

            await world.delete("parent")
            await world.until_gone("parent")
            assert not await world.config_map("theirs"), "the child still had its account when it cleaned up"
            await until(lambda: theirs.get("apps", team) is None)


class TestDeletion:
    async def test_dependents_go_before_what_they_depend_on(self, world: World) -> None:
        names = ("base", "middle", "top")
        files = {f"{name}/a.yaml": config_map(name) for name in names}
        await world.source("v1", files)
        set_ = {
            "base.yaml": child("base", world.namespace, path="./base"),
            "middle.yaml": child("middle", world.namespace, path="./middle", dependsOn=[{"name": "base"}]),
            "top.yaml": child("top", world.namespace, path="./top", dependsOn=[{"name": "middle"}]),
        }
        await world.source("v1", set_, name="parent")
        await world.kustomization("parent", sourceRef={"kind": "GitRepository", "name": "parent"}, wait=True)
        await world.until_applied("v1", name="parent")
        gone: list[str] = []
        seen: WatchCache[Object] = WatchCache(world.client, KUSTOMIZATIONS, namespace=world.namespace)

        async def note(change: Any) -> None:
            if change.type == "deleted":
                gone.append(change.ref.name)

        seen.subscribe(note)
        async with following(seen) as until:
            await world.source("v2", {}, name="parent")
            await world.until_applied("v2", name="parent")
            await until(lambda: len(gone) == 3)
        assert gone == ["top", "middle", "base"]
        for name in names:
            assert not await world.config_map(name)

    async def test_a_child_that_does_not_go_keeps_what_it_needs(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("penstock.api.kustomization.SHORTEST_TIMEOUT", Duration(1 * SECOND))
        await world.source("v1", {"a.yaml": config_map("a")})
        account = manifest("v1", "ServiceAccount", "needed", world.namespace)
        set_ = {"child.yaml": child("child", world.namespace), "account.yaml": account}
        await world.source("v1", set_, name="parent")
        await world.kustomization(
            "parent", sourceRef={"kind": "GitRepository", "name": "parent"}, timeout="1s", retryInterval="1s"
        )
        await world.until_applied("v1", name="parent")
        await world.until_applied("v1", name="child")
        finalizers = [*world.live("child")["metadata"]["finalizers"], "tests.penstock.dev/hold"]
        await world.change(name="child", finalizers=finalizers)

        await world.source("v2", {}, name="parent")
        await world.until_failed("PruneFailed", name="parent", says="Kustomization")
        assert await world.get(SERVICE_ACCOUNTS, "needed")
        assert len(world.inventory("parent")) == 2

        free = {"metadata": {"finalizers": None}}
        await world.client.patch(KUSTOMIZATIONS, "child", world.namespace, free)
        await world.until_applied("v2", name="parent")
        assert not await world.get(SERVICE_ACCOUNTS, "needed")

    async def test_one_that_installed_itself_goes(self, world: World) -> None:
        """As the Kustomization of a bootstrapped cluster does."""
        own = child("apps", world.namespace)
        await world.source("v1", {"self.yaml": own, "a.yaml": config_map("a")})
        await world.kustomization()
        await world.until_applied("v1")
        assert len(world.inventory()) == 2
        await world.delete()
        await world.until_gone()
        assert not await world.config_map("a")
