"""What comes first: scenarios of section 22.3, and dependencies on objects of any kind."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from penstock.api.durations import SECOND, Duration
from penstock.controllers.kustomization.source import KINDS
from penstock.kube import Client
from penstock.kube.resources import CONFIG_MAPS
from tests.controllers.kustomization.manifests import config_map

if TYPE_CHECKING:
    from penstock.controllers.kustomization.settings import Settings
    from penstock.kube import Object
    from tests.controllers.kustomization.world import World

AUTOSCALER = """
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: web
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 1
  maxReplicas: 3
  metrics:
    - type: Resource
      resource: {name: cpu, target: {type: Utilization, averageUtilization: 60}}
    - type: Pods
      pods: {metric: {name: packets}, target: {type: AverageValue, averageValue: 1k}}
    - type: Object
      object:
        metric: {name: requests}
        describedObject: {apiVersion: networking.k8s.io/v1, kind: Ingress, name: main}
        target: {type: Value, value: 10k}
"""


@pytest.mark.scenario("22.3 DependsOn/1", "22.3 DependsOn/2", "22.3 DependsOn/3")
async def test_first_the_source_then_the_dependency(world: World) -> None:
    await world.kustomization()
    await world.until_failed("ArtifactFailed")
    await world.source("v1.0.0", {"config.yaml": config_map("a"), "autoscaler.yaml": AUTOSCALER})
    await world.until_applied("v1.0.0")
    await world.kustomization(dependsOn=[{"name": "root"}])
    ready = await world.until_failed("DependencyNotReady")
    assert ready["message"].startswith(f"dependency '{world.namespace}/root' not found")
    (told,) = [one for one in await world.until_told(3) if one["reason"] == "DependencyNotReady"]
    assert told["type"] == "Normal"
    assert told["message"] == "Dependencies do not meet ready condition, retrying in 2s"


class TestReadyExpressions:
    EXPRESSION = "dep.metadata.annotations['app/version'] == self.metadata.annotations['app/version']"

    @pytest.mark.scenario("22.3 DependsOn_CEL/1", "22.3 DependsOn_CEL/2")
    async def test_take_the_place_of_the_usual_check(self, world: World) -> None:
        await world.source("v1.0.0", {"config.yaml": config_map("a")})
        version = {"app/version": "v1.2.3"}
        await world.kustomization("root", suspend=True, annotations=version)
        await world.kustomization(annotations=version, dependsOn=[{"name": "root", "readyExpr": self.EXPRESSION}])
        await world.until_applied("v1.0.0")

        await world.change(annotations={"app/version": "v1.2.4"})
        await world.ask("now")
        await world.until_failed("DependencyNotReady", says="not ready according to readyExpr")
        assert not world.condition("Stalled")

    @pytest.mark.scenario("22.3 DependsOn_CEL/3", "22.3 DependsOn_CEL/4")
    async def test_that_make_no_sense_stall(self, world: World) -> None:
        await world.source("v1.0.0", {"config.yaml": config_map("a")})
        await world.kustomization("root", suspend=True)
        await world.kustomization(dependsOn=[{"name": "root", "readyExpr": "deps.status.ready == true"}])
        await world.until_failed("InvalidCELExpression", says="failed to parse")
        assert world.condition("Stalled")["status"] == "True"
        await world.delete()
        await world.until_gone()


class TestChains:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        """Who is not woken waits longer than any test."""
        return replace(settings, requeue_dependency=Duration(600 * SECOND))

    async def test_cost_no_waiting(self, world: World) -> None:
        """Each link is woken by the one before it; none looks again by itself."""
        names = [f"link-{number}" for number in range(8)]
        await world.source("v1.0.0", {f"{name}/config.yaml": config_map(name) for name in names})
        for number, name in enumerate(reversed(names)):
            after = names[len(names) - 2 - number : len(names) - 1 - number]
            await world.kustomization(name, path=f"./{name}", dependsOn=[{"name": one} for one in after])
        await world.until_applied("v1.0.0", name=names[-1], within=50)
        for name in names:
            await world.until_applied("v1.0.0", name=name)

    async def test_nobody_sleeps_through_the_moment(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        """The dependency gets ready while its dependent has yet to write down that it waits."""
        patch = Client.patch

        async def late(self: Client, resource: Any, name: str, namespace: str, body: Any, **options: Any) -> Object:
            if name == "b" and "DependencyNotReady" in str(body):
                await world.until_applied("v1.0.0", name="a")
            return await patch(self, resource, name, namespace, body, **options)

        monkeypatch.setattr(Client, "patch", late)
        await world.source("v1.0.0", {"a/a.yaml": config_map("a"), "b/b.yaml": config_map("b")})
        await world.kustomization("b", path="./b", dependsOn=[{"name": "a"}])
        await world.kustomization("a", path="./a")
        await world.until_applied("v1.0.0", name="b")

    async def test_wait_for_the_same_revision_of_the_same_source(self, world: World) -> None:
        await world.source("v1.0.0", {"a/a.yaml": config_map("a"), "b/b.yaml": config_map("b")})
        await world.kustomization("a", path="./a")
        await world.kustomization("b", path="./b", dependsOn=[{"name": "a"}])
        await world.until_applied("v1.0.0", name="b")
        await world.change({"suspend": True}, name="a")
        await world.source("v2.0.0", {"a/a.yaml": config_map("a"), "b/b.yaml": config_map("b", {"key": "new"})})
        await world.until_failed("DependencyNotReady", name="b", says="revision is not up to date")
        await world.change({"suspend": False}, name="a")
        await world.until_applied("v2.0.0", name="b")


class TestCircles:
    async def test_hold_up_nobody_else(self, world: World) -> None:
        await world.source("v1", {"a.yaml": config_map("a")})
        await world.kustomization("one", dependsOn=[{"name": "two"}])
        await world.kustomization("two", dependsOn=[{"name": "one"}])
        await world.kustomization("bystander")
        for name in ("one", "two"):
            await world.until_failed("DependencyNotReady", name=name)
        await world.until_applied("v1", name="bystander")
        await world.source("v2", {"a.yaml": config_map("a")})
        await world.until_applied("v2", name="bystander")
        for name in ("one", "two"):
            assert world.condition("Ready", name)["reason"] == "DependencyNotReady"


class TestAnyKind:
    async def test_an_object_that_is_not_there_yet(self, world: World) -> None:
        await world.source("v1.0.0", {"config.yaml": config_map("a")})
        needs = {"penstock.dev/depends-on": f"ConfigMap/{world.namespace}/flag"}
        await world.kustomization(annotations=needs)
        await world.until_failed("DependencyNotReady", says=f"ConfigMap/{world.namespace}/flag' not found")
        await world.client.create(CONFIG_MAPS, {"metadata": {"name": "flag"}}, namespace=world.namespace)
        await world.until_applied("v1.0.0")

    async def test_an_object_that_is_not_ready_yet(self, world: World) -> None:
        await world.source("v1.0.0", {"config.yaml": config_map("a")})
        await world.bare_source(name="data", kind="Bucket")
        await self.say_ready(world, "False")
        await world.kustomization(annotations={"penstock.dev/depends-on": f"Bucket/{world.namespace}/data"})
        await world.until_failed("DependencyNotReady", says=f"Bucket/{world.namespace}/data' is not ready")
        await self.say_ready(world, "True")
        await world.until_applied("v1.0.0")

    async def say_ready(self, world: World, truth: str) -> None:
        ready = {
            "type": "Ready",
            "status": truth,
            "reason": "Said",
            "message": "by the test",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        status = {"status": {"observedGeneration": 1, "conditions": [ready]}}
        await world.client.patch(KINDS["Bucket"], "data", world.namespace, status, subresource="status")

    async def test_a_name_that_is_none(self, world: World) -> None:
        await world.source("v1.0.0", {"config.yaml": config_map("a")})
        await world.kustomization(annotations={"penstock.dev/depends-on": "the database"})
        await world.until_failed("DependencyNotReady", says="penstock.dev/depends-on: 'the database'")
