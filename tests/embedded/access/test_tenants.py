"""Rights of others on both clusters: what lies below a pod, and the list of what somebody may do."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from penstock.kube import Client, Identity, Resource
from penstock.kube.errors import Forbidden, KubeError
from penstock.kube.resources import PODS

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from penstock.kube import Object
    from tests.clusters import Cluster

WITHIN = 30.0
RBAC = "rbac.authorization.k8s.io"
ROLES = Resource(RBAC, "v1", "roles", "Role")
ROLE_BINDINGS = Resource(RBAC, "v1", "rolebindings", "RoleBinding")
CLUSTER_ROLES = Resource(RBAC, "v1", "clusterroles", "ClusterRole", namespaced=False)
CLUSTER_ROLE_BINDINGS = Resource(RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False)
REVIEWS = Resource("authorization.k8s.io", "v1", "selfsubjectrulesreviews", "SelfSubjectRulesReview", namespaced=False)
JANE = Identity("jane")


def rule(*resources: str, verbs: tuple[str, ...] = ("get",)) -> Object:
    return {"apiGroups": [""], "resources": list(resources), "verbs": list(verbs)}


def bound(name: str, kind: str) -> Object:
    subject = {"apiGroup": RBAC, "kind": "User", "name": JANE.user}
    return {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": RBAC, "kind": kind, "name": name},
        "subjects": [subject],
    }


async def grant(cluster: Cluster, name: str, *rules: Object) -> None:
    """A role in the namespace of the test, bound to jane."""
    role = {"metadata": {"name": name}, "rules": list(rules)}
    await cluster.client.create(ROLES, role, namespace=cluster.namespace)
    await cluster.client.create(ROLE_BINDINGS, bound(name, "Role"), namespace=cluster.namespace)


async def soon(ask: Callable[[], Awaitable[Any]]) -> Any:
    """The answer, once the authorizer has heard of the new rights."""
    async with asyncio.timeout(WITHIN):
        while True:
            try:
                return await ask()
            except Forbidden:
                await asyncio.sleep(0.02)


@pytest_asyncio.fixture
async def everywhere(cluster: Cluster) -> AsyncGenerator[str]:
    """The name of a ClusterRole with two rules that jane holds in all namespaces."""
    name = cluster.namespace
    role = {"metadata": {"name": name}, "rules": [rule("services"), rule("endpoints")]}
    await cluster.client.create(CLUSTER_ROLES, role)
    await cluster.client.create(CLUSTER_ROLE_BINDINGS, bound(name, "ClusterRole"))
    yield name
    await cluster.client.delete(CLUSTER_ROLE_BINDINGS, name)
    await cluster.client.delete(CLUSTER_ROLES, name)


def resized(cpu: str) -> Object:
    return {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": cpu}}}]}}


DEBUGGER = {"spec": {"ephemeralContainers": [{"name": "debug", "image": "registry.test/debug:1"}]}}


async def test_who_may_resize_a_pod_may_nothing_else(cluster: Cluster) -> None:
    container = {"name": "main", "image": "registry.test/web:1", "resources": {"requests": {"cpu": "100m"}}}
    pod = {"metadata": {"name": "web"}, "spec": {"containers": [container]}}
    await cluster.client.create(PODS, pod, namespace=cluster.namespace)
    await grant(cluster, "resizer", rule("pods/resize", verbs=("patch",)))
    jane = cluster.client.impersonate(JANE)

    def change(client: Client, subresource: str | None, body: Object) -> Awaitable[Object]:
        return client.patch(PODS, "web", cluster.namespace, body, kind="strategic", subresource=subresource)

    made = await soon(lambda: change(jane, "resize", resized("200m")))
    assert made["spec"]["containers"][0]["resources"] == {"requests": {"cpu": "200m"}}
    assert made["metadata"]["generation"] == 2
    assert "resize" in {entry.get("subresource") for entry in made["metadata"]["managedFields"]}
    for subresource, body, what in ((None, resized("300m"), "pods"), ("ephemeralcontainers", DEBUGGER, "")):
        told = what or f"pods/{subresource}"
        with pytest.raises(Forbidden, match=f'cannot patch resource "{told}" in API group ""'):
            await change(jane, subresource, body)


async def test_a_debugger_is_added_below_the_pod_only(cluster: Cluster) -> None:
    pod = {"metadata": {"name": "web"}, "spec": {"containers": [{"name": "main", "image": "registry.test/web:1"}]}}
    await cluster.client.create(PODS, pod, namespace=cluster.namespace)

    with pytest.raises(KubeError, match="pod updates may not change fields other than"):
        await cluster.client.patch(PODS, "web", cluster.namespace, DEBUGGER, kind="strategic")
    made = await cluster.client.patch(
        PODS, "web", cluster.namespace, DEBUGGER, kind="strategic", subresource="ephemeralcontainers"
    )

    assert [container["name"] for container in made["spec"]["ephemeralContainers"]] == ["debug"]


async def test_rules_of_the_cluster_are_told_before_those_of_a_namespace(cluster: Cluster, everywhere: str) -> None:
    """Bindings of either sort come in no order: they are the keys of a map over there. Rules of a role keep theirs."""
    assert everywhere
    await grant(cluster, "reader", rule("secrets"), rule("configmaps"))
    jane = cluster.client.impersonate(JANE)
    expected = ["services", "endpoints", "secrets", "configmaps"]
    told: list[str] = []
    async with asyncio.timeout(WITHIN):
        while sorted(told) != sorted(expected):
            review = await jane.create(REVIEWS, {"spec": {"namespace": cluster.namespace}})
            names = [name for each in review["status"]["resourceRules"] for name in each["resources"]]
            told = [name for name in names if name in expected]
            await asyncio.sleep(0.02)

    assert told == expected
