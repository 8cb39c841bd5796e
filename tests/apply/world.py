"""Objects of a small application, and the applier that brings them into a test's cluster."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from penstock.apply import Applier, Owner
from penstock.kube import ObjectRef, Resource
from penstock.kube.errors import NotFound
from penstock.kube.resources import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, DEPLOYMENTS, NAMESPACES, SECRETS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.apply import ChangeSet
    from penstock.kube import Client, Object
    from tests.clusters import Cluster

OWNER = Owner("apps", "flux-system")
MANAGER = "kustomize-controller"

SERVICES = Resource("", "v1", "services", "Service")
SERVICE_ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")
CLUSTER_ROLES = Resource("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", namespaced=False)
CLUSTER_ROLE_BINDINGS = Resource(
    "rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False
)
ROLES = Resource("rbac.authorization.k8s.io", "v1", "roles", "Role")
ROLE_BINDINGS = Resource("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding")
STORAGE_CLASSES = Resource("storage.k8s.io", "v1", "storageclasses", "StorageClass", namespaced=False)


def obj(resource: Resource, name: str, namespace: str = "", /, **content: Any) -> Object:
    """An object with the labels of its owner; `metadata` in the content is added to."""
    metadata: Object = {"name": name, "labels": OWNER.labels()}
    if namespace:
        metadata["namespace"] = namespace
    for key, value in content.pop("metadata", {}).items():
        metadata[key] = {**metadata.get(key, {}), **value} if isinstance(value, dict) else value
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, **content}


def config_map(cluster: Cluster, name: str = "settings", /, metadata: Object | None = None, **data: str) -> Object:
    return obj(CONFIG_MAPS, name, cluster.namespace, metadata=metadata or {}, data=data)


def secret(cluster: Cluster, name: str = "keys", /, **data: str) -> Object:
    encoded = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
    return obj(SECRETS, name, cluster.namespace, data=encoded)


def deployment(cluster: Cluster, name: str = "web", replicas: int = 0, **spec: Any) -> Object:
    labels = {"app": name}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "app", "image": "example.com/app:1", "ports": [{"containerPort": 8080}]}]},
    }
    content = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template, **spec}
    return obj(DEPLOYMENTS, name, cluster.namespace, spec=content)


def annotated(thing: Object, **annotations: str) -> Object:
    """The same with annotations of our own group, such as `ssa="Merge"`."""
    given = {f"{OWNER.group}/{key}": value for key, value in annotations.items()}
    metadata = thing["metadata"]
    return {**thing, "metadata": {**metadata, "annotations": {**metadata.get("annotations", {}), **given}}}


async def apply(cluster: Cluster, objects: Iterable[Object], **options: Any) -> ChangeSet:
    return await Applier(cluster.client).apply(list(objects), owner=OWNER, **options)


def actions(changes: ChangeSet) -> dict[str, str]:
    """What was done, by kind and name."""
    return {f"{one.ref.kind}/{one.ref.name}": one.action for one in changes}


async def live(cluster: Cluster, thing: Object) -> Object:
    resource = await cluster.client.discovery.resource(thing["apiVersion"], thing["kind"])
    return await cluster.client.get(resource, thing["metadata"]["name"], thing["metadata"].get("namespace"))


async def exists(cluster: Cluster, thing: Object) -> bool:
    try:
        await live(cluster, thing)
    except NotFound:
        return False
    return True


async def edit(client: Client, thing: Object, patch: Object, *, manager: str = "kubectl-edit") -> Object:
    """A merge patch by somebody else."""
    resource = await client.discovery.resource(thing["apiVersion"], thing["kind"])
    ref = ObjectRef.of(thing)
    return await client.patch(resource, ref.name, ref.namespace or None, patch, manager=manager)


def managers(thing: Object) -> set[tuple[str, str]]:
    return {(entry["manager"], entry["operation"]) for entry in thing["metadata"]["managedFields"]}


def namespace_object(name: str) -> Object:
    return obj(NAMESPACES, name)


def widgets(group: str, *fields: str) -> Object:
    """A CRD of the kind Widget, whose spec has a size and these other numbers."""
    properties = {name: {"type": "integer"} for name in ("size", *fields)}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    spec = {"group": group, "scope": "Namespaced", "names": names, "versions": [version]}
    return obj(CUSTOM_RESOURCE_DEFINITIONS, f"widgets.{group}", spec=spec)
