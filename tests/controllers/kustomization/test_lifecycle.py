"""From the first run to the last: scenarios of section 22.1."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from penstock.controllers.kustomization.parts import KUSTOMIZATIONS
from penstock.controllers.kustomization.settings import FINALIZER
from penstock.kube import Discovery, Resource
from penstock.kube.errors import NoMatch
from penstock.kube.resources import NAMESPACES
from tests.controllers.kustomization.manifests import config_map, crd_manifest

if TYPE_CHECKING:
    from penstock.controllers.kustomization.settings import Settings
    from tests.clusters import Cluster
    from tests.controllers.kustomization.world import World


async def test_a_config_map_comes_and_goes(world: World) -> None:
    await world.source("v1.0.0", {"config.yaml": config_map("a")})
    await world.kustomization()
    applied = await world.until_applied("v1.0.0")
    assert applied["metadata"]["finalizers"] == [FINALIZER]
    assert world.condition("Ready")["message"] == "Applied revision: v1.0.0"
    assert await world.config_map("a")
    await world.delete()
    await world.until_gone()
    assert not await world.config_map("a")


@pytest.mark.scenario("22.1 StagedApply")
async def test_a_definition_its_object_and_their_namespace_in_one_go(world: World) -> None:
    group, place = f"{world.namespace}.azure.com", f"{world.namespace}-bus"
    kind = crd_manifest("Namespace", group, plural="namespaces")
    files = {
        "object.yaml": f"apiVersion: {group}/v1\nkind: Namespace\nmetadata:\n  name: bus\n  namespace: {place}\n",
        "definition.yaml": kind,
        "namespace.yaml": f"apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {place}\n",
    }
    await world.source("v1.0.0", files)
    await world.kustomization(targetNamespace=None)
    await world.until_applied("v1.0.0")
    assert await world.get(Resource(group, "v1", "namespaces", "Namespace"), "bus", place)
    await world.delete()
    await world.until_gone()
    await world.client.get(NAMESPACES, "default")


@pytest.mark.scenario("22.1 deleteBeforeFinalizer")
async def test_one_that_is_deleted_before_it_was_ever_seen_gets_no_finalizer(world: World) -> None:
    await world.source("v1.0.0", {"config.yaml": config_map("a")})
    await world.kustomization(suspend=True, finalizers=("tests.penstock.dev/hold",))
    await world.delete()
    await world.ask("now")
    await world.until(lambda: bool(world.live()["metadata"].get("deletionTimestamp")))
    await world.kustomization("witness")
    await world.until_applied("v1.0.0", name="witness")
    await world.until(lambda: world.live()["metadata"]["finalizers"] == ["tests.penstock.dev/hold"])
    await world.client.patch(KUSTOMIZATIONS, "apps", world.namespace, {"metadata": {"finalizers": None}})
    await world.until_gone()


class TestSourcesOfOtherNamespaces:
    @pytest.mark.scenario("22.1 NoCrossNamespaceRefs/1")
    async def test_are_used_by_default(self, world: World, other_namespace: str) -> None:
        await world.source("v1.0.0", {"config.yaml": config_map("a")}, namespace=other_namespace)
        reference = {"kind": "GitRepository", "name": "apps", "namespace": other_namespace}
        await world.kustomization(sourceRef=reference, labels={"test": world.namespace})
        await world.until_applied("v1.0.0")
        assert world.condition("Ready")["reason"] == "ReconciliationSucceeded"

    @pytest.fixture
    def settings(self, settings: Settings, cluster: Cluster, request: pytest.FixtureRequest) -> Settings:
        blocked = "blocked" in request.node.name
        mine = f"test={cluster.namespace}"  # all namespaces are watched, and other tests share a real cluster
        return replace(settings, watch_namespace=None, watch_labels=mine, cross_namespace_references=not blocked)

    @pytest.mark.scenario("22.1 NoCrossNamespaceRefs/2", "A26")
    async def test_are_blocked_when_the_operator_says_so(self, world: World, other_namespace: str) -> None:
        await world.source("v2.0.0", {"config.yaml": config_map("a")}, namespace=other_namespace)
        reference = {"kind": "GitRepository", "name": "apps", "namespace": other_namespace}
        await world.kustomization(sourceRef=reference, labels={"test": world.namespace})
        ready = await world.until_failed("AccessDenied", says="cross-namespace references have been blocked")
        assert world.condition("Stalled")["reason"] == "AccessDenied"
        assert f"GitRepository/{other_namespace}/apps" in ready["message"]
        assert not await world.config_map("a")


class TestWrongConfiguration:
    @pytest.mark.scenario("22.1 ConfigurationError/invalid CEL")
    async def test_an_expression_that_makes_no_sense(self, world: World) -> None:
        await world.source("v1.0.0", {"config.yaml": config_map("a")})
        check = {"apiVersion": "v1", "kind": "ConfigMap", "inProgress": "foo.", "current": "true"}
        await world.kustomization(wait=True, healthCheckExprs=[check])
        ready = await world.until_failed("InvalidCELExpression")
        assert (
            "failed to create custom status evaluator for healthchecks[0]: failed to parse the expression InProgress: "
            "failed to parse the CEL expression 'foo.': ERROR: <input>:1:5: Syntax error: "
            "no viable alternative at input '.'"
        ) in ready["message"]
        assert world.condition("Stalled")["reason"] == "InvalidCELExpression"
        assert world.status()["observedGeneration"] == world.live()["metadata"]["generation"]

    async def test_two_expressions_for_one_kind(self, world: World) -> None:
        check = {"apiVersion": "v1", "kind": "ConfigMap", "current": "true"}
        await world.source("v1", {"a.yaml": config_map("a")})
        await world.kustomization(wait=True, healthCheckExprs=[check, check])
        says = "duplicate custom health check for GroupKind ConfigMap at healthchecks[1]"
        await world.until_failed("InvalidCELExpression", says=says)
        assert world.condition("Stalled")["reason"] == "InvalidCELExpression"

    async def test_a_spec_that_the_server_takes_and_nobody_can_use(self, world: World) -> None:
        """A duration may have as many digits as one likes there. It is told, waits for a change, and ends as others."""
        await world.source("v1", {"a.yaml": config_map("a")})
        await world.kustomization(interval=f"{'9' * 30}h")
        await world.until_failed("ReconciliationFailed", says="interval")
        assert world.condition("Stalled")["status"] == "True"
        await world.until_event(says="interval", type="Warning")
        await world.change({"interval": "1h"})
        await world.until_applied("v1")

        await world.change({"interval": f"{'9' * 30}h"})
        await world.until_failed("ReconciliationFailed", says="interval")
        assert len(world.inventory()) == 1, "what it applied is not forgotten"
        await world.delete()
        await world.change({"interval": "1h"})
        await world.until_gone()
        assert not await world.config_map("a")

    @pytest.mark.scenario("22.1 ConfigurationError/gate off")
    async def test_an_identity_that_is_not_enabled(self, world: World) -> None:
        await world.source("v1.0.0", {"config.yaml": config_map("a")})
        await world.kustomization(decryption={"provider": "sops", "serviceAccountName": "foo"})
        ready = await world.until_failed("FeatureGateDisabled", says="please enable the ObjectLevelWorkloadIdentity")
        assert world.condition("Stalled")["message"] == ready["message"]
        assert world.status()["observedGeneration"] == -1

    @pytest.fixture
    def settings(self, settings: Settings, request: pytest.FixtureRequest) -> Settings:
        enabled = "enabled" in request.node.name and "not_enabled" not in request.node.name
        gates = replace(settings.gates, object_level_workload_identity=enabled)
        return replace(settings, gates=gates, age_secret="")

    @pytest.mark.scenario("22.1 ConfigurationError/gate on")
    async def test_an_identity_that_is_enabled_and_not_needed(self, world: World) -> None:
        await world.source("v1.0.0", {"config.yaml": config_map("a")})
        await world.kustomization(decryption={"provider": "sops", "serviceAccountName": "foo"})
        await world.until_applied("v1.0.0")


@pytest.mark.scenario("22.1 RESTMapper/1", "22.1 RESTMapper/2", "22.1 RESTMapper/3")
async def test_a_kind_with_several_versions_comes_and_goes(world: World) -> None:
    group = f"{world.namespace}.kyverno.io"
    versions = ("v2alpha1", "v2beta1", "v2")
    definition = crd_manifest("ClusterCleanupPolicy", group, scope="Cluster", versions=versions)
    files = {
        "definition.yaml": definition,
        "policy.yaml": f"apiVersion: {group}/v2\nkind: ClusterCleanupPolicy\nmetadata:\n  name: clean\n",
    }
    before = Discovery(world.client.call)
    await before.kinds()
    await world.source("v1.0.0", files)
    await world.kustomization(wait=True, targetNamespace=None)
    await world.until_applied("v1.0.0")
    before.invalidate()
    assert (await before.find(group, "ClusterCleanupPolicy")).version == "v2"
    await world.delete()
    await world.until_gone()
    await _until_not_served(world, group)


async def _until_not_served(world: World, group: str) -> None:
    """A server may tell of a kind some moments longer than it has it; who reads anew then does not know it."""
    discovery = Discovery(world.client.call)
    async with asyncio.timeout(20):
        while any(served.resource.group == group for served in await discovery.kinds()):
            await discovery.refresh()
            await asyncio.sleep(0.05)
    with pytest.raises(NoMatch):
        await Discovery(world.client.call).find(group, "ClusterCleanupPolicy")


@pytest.mark.scenario("22.1 Fuzz")
@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"\x00\xff\xfe", id="bytes"),
        pytest.param(b"a: &a [*a]", id="a circle of aliases"),
        pytest.param(b"[" * 5000, id="deep"),
        pytest.param(b"apiVersion: v1\nkind: Secret\nsops: {mac: ENC[}\n", id="half a sops file"),
        pytest.param(b"resources: [..]\n", id="its own parent"),
    ],
)
async def test_no_file_ends_the_controller(world: World, content: bytes) -> None:
    await world.source("v1.0.0", {"kustomization.yaml": content})
    await world.client.create(
        Resource("", "v1", "secrets", "Secret"),
        {"metadata": {"name": "keys"}, "data": {"age.agekey": "bm90LWEta2V5"}},
        namespace=world.namespace,
    )
    await world.kustomization(decryption={"provider": "sops", "secretRef": {"name": "keys"}})
    await world.until_failed("BuildFailed")


@pytest.fixture
async def other_namespace(cluster: Cluster) -> str:
    made = await cluster.client.create(NAMESPACES, {"metadata": {"generateName": "other-"}})
    return str(made["metadata"]["name"])
