"""The pod simulation under the controllers of a real control plane."""

from __future__ import annotations

import asyncio
import os
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import structlog
import yaml

from penstock.embedded import simulate_pods
from penstock.kube import Resource
from penstock.kube.errors import KubeError, Status, Unreachable, api_error
from penstock.kube.resources import DEPLOYMENTS, JOBS, PODS
from tests.clusters import GIVEN

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.kube import Object
    from tests.clusters import Cluster

pytestmark = [
    pytest.mark.real,
    pytest.mark.usefixtures("kubelets"),
    pytest.mark.skipif(GIVEN in os.environ, reason="not here: the cluster that was named has kubelets of its own"),
]

WITHIN = 30.0
GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "pod-simulator.md"
STATEFUL_SETS = Resource("apps", "v1", "statefulsets", "StatefulSet")


def template(restart: str = "Always", **annotations: str) -> Object:
    return {
        "metadata": {
            "labels": {"app": "web"},
            "annotations": {f"sim.penstock.dev/{key.replace('_', '-')}": value for key, value in annotations.items()},
        },
        "spec": {"restartPolicy": restart, "containers": [{"name": "main", "image": "registry.test/web:1"}]},
    }


def deployment(replicas: int = 2, **annotations: str) -> Object:
    selector = {"matchLabels": {"app": "web"}}
    spec = {"replicas": replicas, "selector": selector, "template": template(**annotations)}
    return {"metadata": {"name": "web"}, "spec": spec}


def job(restart: str = "Never", *, backoff: int = 0, **annotations: str) -> Object:
    return {
        "metadata": {"name": "once"},
        "spec": {"backoffLimit": backoff, "template": template(restart, **annotations)},
    }


def pod(**annotations: str) -> Object:
    made = template(**annotations)
    made["metadata"]["name"] = "web"
    return made


async def until(cluster: Cluster, resource: Resource, name: str, holds: Callable[[Object], Any]) -> Object:
    """Watch one object until something holds for it."""
    async with asyncio.timeout(WITHIN):
        events = cluster.client.watch(resource, cluster.namespace, fields=f"metadata.name={name}")
        async with aclosing(events):
            async for event in events:
                if event.type != "BOOKMARK" and holds(event.object):
                    return event.object
    raise AssertionError(f"the watch of {name} ended early")


def condition(obj: Object, kind: str) -> str | None:
    conditions = obj.get("status", {}).get("conditions", [])
    return next((entry["status"] for entry in conditions if entry["type"] == kind), None)


async def test_a_deployment_becomes_available(cluster: Cluster) -> None:
    await cluster.client.create(DEPLOYMENTS, deployment(3), namespace=cluster.namespace)
    web = await until(cluster, DEPLOYMENTS, "web", lambda web: web.get("status", {}).get("availableReplicas") == 3)
    assert condition(web, "Available") == "True"
    pods = (await cluster.client.list(PODS, cluster.namespace)).items
    assert len({found["status"]["podIP"] for found in pods}) == 3


async def test_the_example_of_the_guide_rolls_out(cluster: Cluster) -> None:
    example = yaml.safe_load(GUIDE.read_text().split("```yaml\n")[1].split("```")[0])
    await cluster.client.create(DEPLOYMENTS, example, namespace=cluster.namespace)
    await until(cluster, DEPLOYMENTS, "web", lambda web: web.get("status", {}).get("availableReplicas") == 2)


async def test_a_namesake_is_played_from_the_beginning(cluster: Cluster) -> None:
    stateful = deployment(1)
    stateful["spec"]["serviceName"] = "web"
    await cluster.client.create(STATEFUL_SETS, stateful, namespace=cluster.namespace)
    first = await until(cluster, PODS, "web-0", lambda web: condition(web, "Ready") == "True")
    await cluster.client.delete(PODS, "web-0", cluster.namespace)
    uid = first["metadata"]["uid"]
    await until(cluster, PODS, "web-0", lambda web: web["metadata"]["uid"] != uid and condition(web, "Ready") == "True")


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(api_error(Status(409, "Conflict", "somebody was first")), id="a conflict"),
        pytest.param(api_error(Status(503, "ServiceUnavailable", "not now")), id="a server that cannot"),
        pytest.param(Unreachable("cut off"), id="a broken connection"),
    ],
)
async def test_a_write_that_fails_is_tried_again(
    error: KubeError, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    patch = cluster.client.patch
    errors = [error, error]

    async def fails_twice(*arguments: Any, **named: Any) -> Object:
        if errors:
            raise errors.pop()
        return await patch(*arguments, **named)

    monkeypatch.setattr(cluster.client, "patch", fails_twice)
    await cluster.client.create(PODS, pod(), namespace=cluster.namespace)
    await until(cluster, PODS, "web", lambda web: condition(web, "Ready") == "True")
    assert errors == []


async def test_a_job_completes(cluster: Cluster) -> None:
    await cluster.client.create(JOBS, job(), namespace=cluster.namespace)
    once = await until(cluster, JOBS, "once", lambda once: condition(once, "Complete") == "True")
    assert once["status"]["succeeded"] == 1


@pytest.mark.parametrize(
    "once",
    [
        pytest.param(job("Never", fail="true"), id="the pod fails"),
        pytest.param(job("OnFailure", backoff=3, fail="true"), id="the container crashes too often"),
    ],
)
async def test_a_job_fails_on_request(once: Object, cluster: Cluster) -> None:
    await cluster.client.create(JOBS, once, namespace=cluster.namespace)
    failed = await until(cluster, JOBS, "once", lambda found: condition(found, "Failed") == "True")
    assert failed["status"].get("succeeded", 0) == 0


def waiting(found: Object, reason: str) -> bool:
    containers = found.get("status", {}).get("containerStatuses", [])
    return any(container["state"].get("waiting", {}).get("reason") == reason for container in containers)


@pytest.mark.parametrize(
    ("annotations", "phase", "holds"),
    [
        pytest.param({"fail": "true"}, "Running", lambda web: waiting(web, "CrashLoopBackOff"), id="fail"),
        pytest.param(
            {"image_pull_error": "true"}, "Pending", lambda web: waiting(web, "ImagePullBackOff"), id="image pull error"
        ),
        pytest.param(
            {"never_ready": "true"}, "Running", lambda web: condition(web, "Ready") == "False", id="never ready"
        ),
        pytest.param({"fail": "maybe"}, "Running", lambda web: condition(web, "Ready") == "True", id="senseless"),
    ],
)
async def test_a_pod_fares_as_its_annotation_says(
    annotations: dict[str, str], phase: str, holds: Callable[[Object], bool], cluster: Cluster
) -> None:
    await cluster.client.create(PODS, pod(**annotations), namespace=cluster.namespace)
    web = await until(cluster, PODS, "web", holds)
    assert web["status"]["phase"] == phase


async def test_a_delayed_pod_runs_first_and_is_ready_later(cluster: Cluster) -> None:
    await cluster.client.create(PODS, pod(delay="300ms"), namespace=cluster.namespace)
    running = await until(cluster, PODS, "web", lambda web: web["status"]["phase"] == "Running")
    assert condition(running, "Ready") == "False"
    await until(cluster, PODS, "web", lambda web: condition(web, "Ready") == "True")


async def test_an_annotation_taken_away_lets_the_pod_recover(cluster: Cluster) -> None:
    await cluster.client.create(PODS, pod(fail="true"), namespace=cluster.namespace)
    crashed = await until(cluster, PODS, "web", lambda web: waiting(web, "CrashLoopBackOff"))
    patch = {"metadata": {"annotations": {"sim.penstock.dev/fail": None}}}
    await cluster.client.patch(PODS, "web", cluster.namespace, patch)
    web = await until(cluster, PODS, "web", lambda web: condition(web, "Ready") == "True")
    restarts = [found["status"]["containerStatuses"][0]["restartCount"] for found in (crashed, web)]
    assert restarts[1] >= restarts[0] > 0


async def test_a_bound_pod_is_gone_after_its_deletion(cluster: Cluster) -> None:
    bound = pod()
    bound["spec"] |= {"nodeName": "nowhere", "terminationGracePeriodSeconds": 3600}
    await cluster.client.create(PODS, bound, namespace=cluster.namespace)
    ready = await until(cluster, PODS, "web", lambda web: condition(web, "Ready") == "True")
    await cluster.client.delete(PODS, "web", cluster.namespace)
    async with asyncio.timeout(WITHIN):
        since = ready["metadata"]["resourceVersion"]
        events = cluster.client.watch(PODS, cluster.namespace, resource_version=since)
        async with aclosing(events):
            async for event in events:
                if event.type == "DELETED":
                    break


async def test_a_readiness_gate_holds_the_pod_back(cluster: Cluster) -> None:
    gated = pod()
    gated["spec"]["readinessGates"] = [{"conditionType": "example.com/open"}]
    await cluster.client.create(PODS, gated, namespace=cluster.namespace)
    shut = await until(cluster, PODS, "web", lambda web: condition(web, "ContainersReady") == "True")
    assert condition(shut, "Ready") == "False"
    patch = {"status": {"conditions": [{"type": "example.com/open", "status": "True"}]}}
    await cluster.client.patch(PODS, "web", cluster.namespace, patch, kind="strategic", subresource="status")
    web = await until(cluster, PODS, "web", lambda web: condition(web, "Ready") == "True")
    assert condition(web, "example.com/open") == "True"


async def test_a_second_simulation_takes_over_and_changes_nothing_that_rests(cluster: Cluster) -> None:
    await cluster.client.create(PODS, pod(), namespace=cluster.namespace)
    before = await until(cluster, PODS, "web", lambda web: condition(web, "Ready") == "True")
    other = asyncio.create_task(simulate_pods(cluster.client, namespace=cluster.namespace))
    named = pod()
    named["metadata"]["name"] = "second"
    await cluster.client.create(PODS, named, namespace=cluster.namespace)
    await until(cluster, PODS, "second", lambda web: condition(web, "Ready") == "True")
    other.cancel()
    after = await cluster.client.get(PODS, "web", cluster.namespace)
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]


async def test_a_senseless_annotation_is_told_once(cluster: Cluster) -> None:
    with structlog.testing.capture_logs() as logs:
        await cluster.client.create(PODS, pod(delay="soon"), namespace=cluster.namespace)
        await until(cluster, PODS, "web", lambda web: condition(web, "Ready") == "True")
    told = [entry for entry in logs if "problem" in entry]
    assert len(told) == 1
    assert "sim.penstock.dev/delay" in told[0]["problem"]
    assert told[0]["pod"].endswith("/web")
    assert told[0]["log_level"] == "warning"
