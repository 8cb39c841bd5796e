"""Order as users meet it: what admits or changes objects has to be up before those objects are applied.

Only a real API server calls webhooks. The webhook is a server on loopback that begins to answer when the test says so;
its Deployment gets ready at the same time, when pods begin to run.
"""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from penstock.embedded import simulate_pods
from penstock.kube import Resource
from penstock.kube.errors import ApiError, NotFound
from penstock.kube.resources import CONFIG_MAPS
from tests.clusters import GIVEN
from tests.controllers.kustomization.manifests import config_map
from tests.controllers.kustomization.webhook import Webhook

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator

    from penstock.kube import Object
    from tests.clusters import Cluster
    from tests.controllers.kustomization.world import World

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(GIVEN in os.environ, reason="the API server has to reach this machine's loopback"),
]

PODS = Resource("", "v1", "pods", "Pod")
ADMISSION = "admissionregistration.k8s.io"
VALIDATING = Resource(ADMISSION, "v1", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration")
MUTATING = Resource(ADMISSION, "v1", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration")
SIDECAR = {"name": "sidecar", "image": "sidecar"}


def deployment(name: str, labels: dict[str, str] | None = None) -> str:
    every = {"app": name, **(labels or {})}
    template = {"metadata": {"labels": every}, "spec": {"containers": [{"name": name, "image": name}]}}
    spec = {"selector": {"matchLabels": {"app": name}}, "template": template}
    return json.dumps({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec})


def configuration(resource: Resource, namespace: str, webhook: Webhook, kind: str, *, policy: str) -> str:
    """A webhook for objects of this namespace with a label, and for nothing else of a shared cluster."""
    hook = {
        "name": "hook.tests.penstock.dev",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": policy,
        "timeoutSeconds": 5,
        "clientConfig": webhook.client_config(),
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "objectSelector": {"matchLabels": {"admitted": "by-hook"}},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": [kind]}],
    }
    metadata = {"name": namespace}
    return json.dumps(
        {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, "webhooks": [hook]}
    )


def judge(obj: Object) -> Object:
    """Every ConfigMap names its team; every pod gets a sidecar."""
    if obj["kind"] == "Pod":
        return {"patch": [{"op": "add", "path": "/spec/containers/-", "value": SIDECAR}]}
    if (obj.get("data") or {}).get("team"):
        return {}
    return {"allowed": False, "status": {"message": "every ConfigMap has to name its team"}}


@pytest.fixture
def webhook() -> Iterator[Webhook]:
    made = Webhook(judge)
    yield made
    made.close()


@pytest_asyncio.fixture(autouse=True)
async def _tidy(cluster: Cluster) -> AsyncGenerator[None]:
    """A webhook of a test that failed must not stay."""
    yield
    for resource in (VALIDATING, MUTATING):
        with suppress(NotFound):
            await cluster.client.delete(resource, cluster.namespace)


@asynccontextmanager
async def pods_run(world: World) -> AsyncGenerator[None]:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(simulate_pods(world.client, namespace=world.namespace))
        yield
        task.cancel()


async def until_called(world: World, resource: Resource, obj: Object, *, answers: bool) -> None:
    """Wait until the API server calls the webhook for such an object: it hears of a configuration by a watch."""
    async with asyncio.timeout(20):
        while True:
            try:
                made = await world.client.create(resource, obj, namespace=world.namespace, dry_run=True)
            except ApiError as error:
                if "webhook" in str(error) and not answers:
                    return
                continue
            if answers and len(made.get("spec", {}).get("containers", ())) == 2:
                return


async def test_a_policy_engine_is_up_before_the_rest_is_applied(world: World, webhook: Webhook) -> None:
    hook = configuration(VALIDATING, world.namespace, webhook, "configmaps", policy="Fail")
    engine = {"engine/deployment.yaml": deployment("engine"), "engine/webhook.yaml": hook}
    label = "labels: {admitted: by-hook}"
    app = {"apps/a.yaml": config_map("a", {"team": "blue"}, metadata=label)}
    await world.source("v1", engine | app)
    check = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "engine", "namespace": world.namespace}
    await world.kustomization("policies", path="./engine", healthChecks=[check])
    await world.kustomization("apps", path="./apps", retryInterval="1s", dependsOn=[{"name": "policies"}])
    await world.until(lambda: world.condition("Healthy", "policies").get("reason") == "Progressing")
    await world.until_failed("DependencyNotReady", name="apps")
    probe: dict[str, Any] = {"metadata": {"name": "probe", "labels": {"admitted": "by-hook"}}, "data": {"team": "x"}}
    await until_called(world, CONFIG_MAPS, probe, answers=False)
    assert not await world.config_map("a"), "whoever came now would be refused"

    async with webhook.answering(), pods_run(world):
        await world.until_applied("v1", name="policies")
        await world.until_applied("v1", name="apps")
        assert "a" in webhook.asked

        wrong = {"apps/a.yaml": config_map("a", {"team": ""}, metadata=label), "apps/b.yaml": config_map("b")}
        await world.source("v2", engine | wrong)
        await world.until_failed("ReconciliationFailed", name="apps", says="every ConfigMap has to name its team")
        assert not await world.config_map("b"), "one object is refused: nothing is applied"
        for name in ("apps", "policies"):
            await world.delete(name)
            await world.until_gone(name)


async def test_a_sidecar_injector_is_up_before_the_apps(world: World, webhook: Webhook) -> None:
    """It fails open, as injectors do: an app that came first would run without its sidecar, and nobody would know."""
    hook = configuration(MUTATING, world.namespace, webhook, "pods", policy="Ignore")
    files = {
        "injector/deployment.yaml": deployment("injector"),
        "injector/webhook.yaml": hook,
        "apps/deployment.yaml": deployment("app", {"admitted": "by-hook"}),
    }
    await world.source("v1", files)
    await world.kustomization("injector", path="./injector", wait=True)
    await world.kustomization("apps", path="./apps", wait=True, dependsOn=[{"name": "injector"}])
    await world.until(lambda: world.condition("Healthy", "injector").get("reason") == "Progressing")
    await world.until_failed("DependencyNotReady", name="apps")

    async with webhook.answering():
        containers = [{"name": "probe", "image": "probe"}]
        metadata = {"name": "probe", "labels": {"admitted": "by-hook"}}
        await until_called(world, PODS, {"metadata": metadata, "spec": {"containers": containers}}, answers=True)
        async with pods_run(world):
            await world.until_applied("v1", name="injector")
            await world.until_applied("v1", name="apps")
        pods = (await world.client.list(PODS, world.namespace, labels="app=app")).items
        assert [[one["name"] for one in pod["spec"]["containers"]] for pod in pods] == [["app", "sidecar"]]
        for name in ("apps", "injector"):
            await world.delete(name)
            await world.until_gone(name)
