"""Other clusters by `spec.kubeConfig`: without a stored secret, and with connections that last as long as their use."""

from __future__ import annotations

import asyncio
import base64
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from penstock.api import decode
from penstock.api.kustomization import Kustomization
from penstock.controllers.kustomization.accounts import SERVICE_ACCOUNTS
from penstock.controllers.kustomization.halt import Halt
from penstock.controllers.kustomization.references import References
from penstock.controllers.kustomization.settings import Settings
from penstock.controllers.kustomization.target import Targets
from penstock.kube.resources import CONFIG_MAPS, NAMESPACES, SECRETS
from tests.controllers.kustomization.identities import flattened, make_account
from tests.controllers.kustomization.manifests import config_map

if TYPE_CHECKING:
    from tests.clusters import Cluster
    from tests.controllers.kustomization.world import World


async def described(world: World, **more: str | None) -> dict[str, str]:
    """What a ConfigMap has to say about the very cluster that the test runs on."""
    cluster: dict[str, Any] = (await asyncio.to_thread(flattened, world.cluster.kubeconfig))["clusters"][0]["cluster"]
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    answer = await world.client.create(
        SERVICE_ACCOUNTS, asked, namespace=world.namespace, name="default", subresource="token"
    )
    authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
    wanted = {
        "provider": "generic",
        "address": cluster["server"],
        "ca.crt": authority,
        "audiences": "\n".join(answer["spec"]["audiences"]),
        "serviceAccountName": "remote",
        **more,
    }
    return {key: value for key, value in wanted.items() if value is not None}


async def put(world: World, data: dict[str, str]) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cluster", "namespace": world.namespace}}
    await world.client.apply(CONFIG_MAPS, {**body, "data": data}, manager="tests", force=True)


class TestConfigMaps:
    @pytest.fixture
    def settings(self, settings: Settings, request: pytest.FixtureRequest) -> Settings:
        gates = replace(settings.gates, object_level_workload_identity="gate_is_off" not in request.node.name)
        return replace(settings, gates=gates)

    async def test_an_account_logs_in_with_its_own_rights(self, world: World) -> None:
        account = await make_account(
            world.cluster, "remote", rules=[{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}]
        )
        await put(world, await described(world, serviceAccountName=account))
        await world.source("v1", {"a.yaml": config_map("a")})
        await world.kustomization(kubeConfig={"configMapRef": {"name": "cluster"}})
        await world.until_applied("v1")
        account_manifest = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: more}\n"
        await world.source("v2", {"a.yaml": config_map("a"), "b.yaml": account_manifest})
        await world.until_failed("ReconciliationFailed", says=f"system:serviceaccount:{world.namespace}:remote")
        await world.delete()
        await world.until_gone()
        assert not await world.config_map("a")

    async def test_that_are_wrong_say_where(self, world: World) -> None:
        wrong: dict[str, tuple[dict[str, str | None], str]] = {
            "p1": ({"provider": "aws"}, "the service account 'remote' cannot log in to 'aws' yet"),
            "p2": ({"provider": "other"}, "provider 'other' not implemented"),
            "a1": ({"address": None}, "address is missing"),
            "a2": ({"address": "http://127.0.0.1:1"}, "address has to be https://host:port"),
            "a3": ({"address": "https://me:secret@127.0.0.1"}, "address has to be https://host:port"),
            "s1": ({"serviceAccountName": None}, "audiences need a serviceAccountName"),
            "s2": ({"serviceAccountName": None, "audiences": None}, "the controller is no service account itself"),
        }
        await world.source("v1", {"a.yaml": config_map("a")})
        for name, (change, _) in wrong.items():
            body = {"metadata": {"name": name}, "data": await described(world, **change)}
            await world.client.create(CONFIG_MAPS, body, namespace=world.namespace)
            await world.kustomization(name, kubeConfig={"configMapRef": {"name": name}})
        await world.kustomization("missing", kubeConfig={"configMapRef": {"name": "missing"}})
        for name, (_, says) in wrong.items():
            ready = await world.until_failed("ReconciliationFailed", name=name, says=says)
            assert "secret@" not in ready["message"]
        says = f"unable to read KubeConfig ConfigMap '{world.namespace}/missing'"
        await world.until_failed("ReconciliationFailed", name="missing", says=says)
        assert not await world.config_map("a")

    async def test_accounts_are_refused_while_the_gate_is_off(self, world: World) -> None:
        await put(world, await described(world))
        await world.source("v1", {"a.yaml": config_map("a")})
        await world.kustomization(kubeConfig={"configMapRef": {"name": "cluster"}})
        await world.until_failed("ReconciliationFailed", says="please enable the ObjectLevelWorkloadIdentity")


async def test_a_connection_in_use_is_never_closed(cluster: Cluster) -> None:
    client, namespace = cluster.client, cluster.namespace
    config = await asyncio.to_thread(flattened, cluster.kubeconfig)
    settings = Settings()
    targets = Targets(client, References(client, settings), settings, most=1)
    running = asyncio.create_task(targets.run())
    objects: list[Kustomization] = []
    for name in ("one", "two", "three"):
        text = yaml.safe_dump({**config, "preferences": {"name": name}})
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": {"value": text}}
        await client.create(SECRETS, secret, namespace=namespace)
        spec = {
            "interval": "1h",
            "prune": True,
            "sourceRef": {"kind": "GitRepository", "name": "x"},
            "kubeConfig": {"secretRef": {"name": name}},
        }
        raw = {
            "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
            "kind": "Kustomization",
            "metadata": {"name": name, "namespace": namespace},
            "spec": spec,
        }
        objects.append(decode(raw, Kustomization))
    try:
        async with targets.open(objects[0]) as first:
            async with targets.open(objects[1]), targets.open(objects[2]):
                assert len(targets) == 3, "all of them are in use"
            assert len(targets) == 1
            assert await first.client.get(NAMESPACES, namespace)
        async with targets.open(objects[0]) as again:
            assert again.cluster is first.cluster
        await client.delete(SECRETS, "two", namespace)
        with pytest.raises(Halt, match="not found"):
            await targets.open(objects[1]).__aenter__()
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    assert len(targets) == 0
