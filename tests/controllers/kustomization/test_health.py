"""Waiting for what was applied: scenarios of section 22.9."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from penstock.api.durations import SECOND, Duration
from penstock.kube.resources import DEPLOYMENTS
from tests.controllers.kustomization.manifests import config_map, crd_manifest

if TYPE_CHECKING:
    from tests.controllers.kustomization.world import World

STORAGE_CLASS = """
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: NAME, namespace: stray}
provisioner: kubernetes.io/no-provisioner
"""
NEVER_READY = """
apiVersion: apps/v1
kind: Deployment
metadata:
  name: stuck
spec:
  selector: {matchLabels: {app: stuck}}
  template:
    metadata: {labels: {app: stuck}}
    spec: {containers: [{name: stuck, image: stuck}]}
"""


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wait for health lasts at least half a minute otherwise, and some of these have to end in vain."""
    monkeypatch.setattr("penstock.api.kustomization.SHORTEST_TIMEOUT", Duration(2 * SECOND))


@pytest.mark.scenario(*(f"22.9 WaitConditions/{number}" for number in range(1, 10)))
async def test_health_is_waited_for_shown_and_told(world: World) -> None:
    files = {"config.yaml": config_map("a"), "class.yaml": STORAGE_CLASS.replace("NAME", world.namespace)}
    await world.source("v1", files)
    await world.kustomization(wait=True, timeout="1m", retryInterval="1h")
    await world.until_applied("v1")
    healthy = world.condition("Healthy")
    assert (healthy["status"], healthy["reason"]) == ("True", "Succeeded")
    assert [(one["lastReconciledStatus"], one["totalReconciliations"]) for one in world.status()["history"]] == [
        ("ReconciliationSucceeded", 1)
    ]

    missing = {"apiVersion": "v1", "kind": "ConfigMap", "name": "missing", "namespace": world.namespace}
    await world.kustomization(
        wait=False,
        timeout="1s",
        retryInterval="1h",
        healthChecks=[missing],
        annotations={"reconcile.fluxcd.io/requestedAt": "token"},
    )
    await world.until(lambda: world.condition("Healthy").get("status") == "Unknown", within=30)
    for kind in ("Reconciling", "Healthy"):
        condition = world.condition(kind)
        assert condition["reason"] == "Progressing"
        assert "Running health checks" in condition["message"]
        assert condition["observedGeneration"] == world.live()["metadata"]["generation"]

    await world.until_failed("HealthCheckFailed", within=60)
    assert world.condition("Healthy")["reason"] == "HealthCheckFailed"
    assert world.condition("Reconciling")["reason"] == "ProgressingWithRetry"
    assert "Running health checks" in world.condition("Reconciling")["message"]
    assert world.status()["lastHandledReconcileAt"] == "token"
    assert world.status()["observedGeneration"] == world.live()["metadata"]["generation"] - 1
    history = world.status()["history"]
    assert [(one["lastReconciledStatus"], one["totalReconciliations"]) for one in history] == [
        ("HealthCheckFailed", 1),
        ("ReconciliationSucceeded", 1),
    ]
    await world.until_event(type="Warning", says=f"ConfigMap/{world.namespace}/missing")

    await world.kustomization(wait=True, timeout="1m", retryInterval="1h")
    await world.until_applied("v1")
    assert "Health check passed" in world.condition("Healthy")["message"]
    assert world.condition("Ready")["message"] == "Applied revision: v1"
    history = world.status()["history"]
    assert [(one["lastReconciledStatus"], one["totalReconciliations"]) for one in history] == [
        ("ReconciliationSucceeded", 2),
        ("HealthCheckFailed", 1),
    ]
    await world.until_event(type="Normal", says="Health check passed")

    await world.source("v2", {"config.yaml": config_map("b"), "class.yaml": files["class.yaml"]})
    await world.until_applied("v2")
    assert len(world.status()["history"]) == 3
    told = await world.until_told(4, revision="v2")
    assert "Health check passed" in told[-2]["message"]
    assert world.live()["metadata"]["finalizers"] == ["finalizers.fluxcd.io"]
    await world.delete()
    await world.until_gone()


@pytest.mark.scenario("22.9 WaitIgnoresSkippedObjects")
async def test_what_was_skipped_is_not_waited_for(world: World) -> None:
    skipped = NEVER_READY.replace(
        "name: stuck\nspec", "name: stuck\n  annotations: {kustomize.toolkit.fluxcd.io/ssa: Ignore}\nspec", 1
    )
    await world.source("v1", {"config.yaml": config_map("a"), "deployment.yaml": skipped})
    await world.kustomization(wait=True)
    await world.until_applied("v1")
    assert world.condition("Healthy")["status"] == "True"
    assert not await world.get(DEPLOYMENTS, "stuck")


@pytest.mark.scenario("22.9 CustomHealthChecks")
async def test_an_expression_that_has_no_value(world: World) -> None:
    await world.source("v1", {"config.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"})
    check = {"apiVersion": "v1", "kind": "ConfigMap", "inProgress": "has(data.foo.bar)", "current": "true"}
    await world.kustomization(wait=True, timeout="1s", healthCheckExprs=[check], retryInterval="1h")
    ready = await world.until_failed("HealthCheckFailed", within=60)
    assert "timeout waiting for: [ConfigMap" in ready["message"]
    assert (
        "failed to evaluate the CEL expression 'has(data.foo.bar)': no such attribute(s): data.foo.bar"
        in ready["message"]
    )


@pytest.mark.scenario("22.9 CancelHealthCheckOnNewRevision")
async def test_a_new_revision_ends_the_wait_for_the_old_one(world: World) -> None:
    await world.source("v1", {"config.yaml": config_map("a")})
    await world.kustomization(wait=True, timeout="5m")
    await world.until_applied("v1")
    await world.source("v2", {"deployment.yaml": NEVER_READY})
    await world.until(lambda: world.condition("Healthy").get("status") == "Unknown", within=30)
    assert world.status()["lastAttemptedRevision"] == "v2"
    await world.source("v3", {"config.yaml": config_map("a")})
    await world.until_applied("v3", within=60)
    told = await world.until_event(reason="HealthCheckCanceled", says="Health checks canceled")
    assert "GitRepository" in told["message"]


@pytest.mark.scenario("22.9 HealthCheckExprs_GroupOnly/1", "22.9 HealthCheckExprs_GroupOnly/2")
async def test_an_expression_for_a_whole_group(world: World) -> None:
    group = f"{world.namespace}.example.com"
    definitions = {f"{kind}.yaml": crd_manifest(kind, group, scope="Cluster") for kind in ("Foo", "Bar")}

    def objects(*, bar: str) -> dict[str, str]:
        return {
            f"{kind}-object.yaml": (
                f"apiVersion: {group}/v1\nkind: {kind}\nmetadata: {{name: it}}\nspec: {{ready: {ready}}}\n"
            )
            for kind, ready in (("Foo", "true"), ("Bar", bar))
        }

    check = {"apiVersion": f"{group}/v1", "current": "has(spec.ready) && spec.ready == true"}
    spec: Any = {"wait": True, "targetNamespace": None, "healthCheckExprs": [check]}
    await world.source("v1", {**definitions, **objects(bar="true")})
    await world.kustomization(**spec, timeout="1m")
    await world.until_applied("v1")
    await world.kustomization(**spec, timeout="1s")
    await world.until_applied("v1")
    await world.source("v2", {**definitions, **objects(bar="false")})
    ready = await world.until_failed("HealthCheckFailed", within=90)
    assert "Bar/it" in ready["message"]
    assert world.condition("Healthy")["reason"] == "HealthCheckFailed"


async def test_a_hundred_that_hang_delay_nobody(world: World) -> None:
    """Four workers, and each wait is parked."""
    count = 12
    files = {f"{number}/deployment.yaml": NEVER_READY.replace("stuck", f"stuck-{number}") for number in range(count)}
    await world.source("v1", {**files, "fine/config.yaml": config_map("fine")})
    for number in range(count):
        await world.kustomization(f"stuck-{number}", path=f"./{number}", wait=True, timeout="5m")
    await world.until(lambda: all(world.condition("Healthy", f"stuck-{number}") for number in range(count)), within=60)
    await world.kustomization("fine", path="./fine", wait=True)
    await world.until_applied("v1", name="fine")
