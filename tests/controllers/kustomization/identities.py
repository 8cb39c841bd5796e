"""Who a Kustomization acts as: service accounts, and Secrets with the kubeconfig of a cluster."""

from __future__ import annotations

import asyncio
import base64
from typing import TYPE_CHECKING, Any

import yaml

from penstock.controllers.kustomization.accounts import SERVICE_ACCOUNTS
from penstock.kube import Resource
from penstock.kube.resources import SECRETS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.clusters import Cluster

RBAC = "rbac.authorization.k8s.io"
ROLES = Resource(RBAC, "v1", "roles", "Role")
ROLE_BINDINGS = Resource(RBAC, "v1", "rolebindings", "RoleBinding")
REVIEWS = Resource("authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", namespaced=False)


async def make_account(
    cluster: Cluster, name: str, *, verbs: tuple[str, ...] = ("*",), rules: list[dict[str, Any]] | None = None
) -> str:
    """A service account that may do this, and nothing else, in the test's namespace; the answer is its name."""
    rules = rules or [{"apiGroups": ["*"], "resources": ["*"], "verbs": list(verbs)}]
    role = {"apiGroup": RBAC, "kind": "Role", "name": name}
    subject = {"kind": "ServiceAccount", "name": name, "namespace": cluster.namespace}
    for resource, body in (
        (SERVICE_ACCOUNTS, {}),
        (ROLES, {"rules": rules}),
        (ROLE_BINDINGS, {"roleRef": role, "subjects": [subject]}),
    ):
        obj = {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": {"name": name, "namespace": cluster.namespace},
            **body,
        }
        await cluster.client.apply(resource, obj, manager="tests", force=True)
    async with asyncio.timeout(20):
        # The API server hears of rights by a watch of its own.
        while not await _may(cluster, name, rules[0]):  # noqa: ASYNC110 - there is no event to wait for
            await asyncio.sleep(0.01)
    return name


async def _may(cluster: Cluster, account: str, rule: dict[str, Any]) -> bool:
    """Whether the account has the right that stands first in a rule."""
    group, resource, verb = (rule[field][0] for field in ("apiGroups", "resources", "verbs"))
    asked = {"namespace": cluster.namespace, "group": group, "resource": resource, "verb": verb}
    spec = {"user": f"system:serviceaccount:{cluster.namespace}:{account}", "resourceAttributes": asked}
    review = {"apiVersion": REVIEWS.api_version, "kind": REVIEWS.kind, "spec": spec}
    return bool((await cluster.client.create(REVIEWS, review))["status"]["allowed"])


async def remove_account(cluster: Cluster, name: str) -> None:
    await cluster.client.delete(SERVICE_ACCOUNTS, name, cluster.namespace)


async def make_kubeconfig(
    cluster: Cluster,
    name: str,
    *,
    key: str = "value.yaml",
    user: Mapping[str, Any] | None = None,
    more: Mapping[str, Any] | None = None,
) -> None:
    """A Secret with the admin's kubeconfig, with another user in it, or with more about the cluster."""
    config = await asyncio.to_thread(flattened, cluster.kubeconfig)
    if user is not None:
        config["users"][0]["user"] = dict(user)
    config["clusters"][0]["cluster"] |= more or {}
    body = {"metadata": {"name": name}, "stringData": {key: yaml.safe_dump(config)}}
    await cluster.client.create(SECRETS, body, namespace=cluster.namespace)


def flattened(kubeconfig: Path) -> Any:
    """A kubeconfig that names no files: their content stands in it."""
    config = yaml.safe_load(kubeconfig.read_text())
    for part in (config["clusters"][0]["cluster"], config["users"][0]["user"]):
        for name in ("certificate-authority", "client-certificate", "client-key"):
            if file := part.pop(name, None):
                part[f"{name}-data"] = base64.b64encode((kubeconfig.parent / file).read_bytes()).decode()
    return config
