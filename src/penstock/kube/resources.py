"""Names of things in the Kubernetes API: kinds, the resources that serve them, and single objects."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import quote

from penstock.errors import UsageError

Object = dict[str, Any]
"""A Kubernetes object as JSON carries it. Users' objects stay like this: no lossy round trip."""

_PLAIN = re.compile(r"[A-Za-z0-9._~-]+")


def group_of(api_version: str) -> str:
    """The group of an apiVersion; the core group is the empty string."""
    return api_version.rpartition("/")[0]


def version_of(api_version: str) -> str:
    """The version of an apiVersion, without its group."""
    return api_version.rpartition("/")[2]


def is_object(value: Any) -> bool:
    """Whether something from the wire has at least the shape of an object: metadata, and a version that is text."""
    if not isinstance(value, dict):
        return False
    metadata = value.get("metadata")
    if metadata is None:
        return True
    return isinstance(metadata, dict) and isinstance(metadata.get("resourceVersion", ""), str)


class GroupKind(NamedTuple):
    """A kind whatever its version: what identity is made of."""

    group: str
    kind: str

    def __str__(self) -> str:
        return f"{self.kind}.{self.group}" if self.group else self.kind


def _segment(name: str) -> str:
    """A name as one part of a path. Nearly all are plain, and asking is ten times cheaper than quoting.

    An empty one would reach the whole collection, and dots what lies above it, quoted or not.
    """
    if name in {"", ".", ".."}:
        raise UsageError(f"{name!r} cannot be the name of an object or a namespace")
    return name if _PLAIN.fullmatch(name) else quote(name, safe="")


@dataclass(frozen=True, slots=True)
class Resource:
    """One kind as one API server serves it: all that is needed to build a path."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def group_kind(self) -> GroupKind:
        return GroupKind(self.group, self.kind)

    def path(self, name: str | None = None, namespace: str | None = None, subresource: str | None = None) -> str:
        """The URL path of one object, or of the collection when `name` is left out.

        A namespace given for a cluster-scoped kind is ignored, as `kubectl` does; names are quoted, so that
        one with a separator in it cannot reach another path.
        """
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        if namespace and self.namespaced:
            root = f"{root}/namespaces/{_segment(namespace)}"
        path = f"{root}/{self.plural}"
        if name is not None:
            path = f"{path}/{_segment(name)}"
        return f"{path}/{subresource}" if subresource else path

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural


class ObjectRef(NamedTuple):
    """One object, by the identity that survives a change of API version."""

    group: str
    kind: str
    namespace: str
    name: str

    @classmethod
    def of(cls, obj: Object) -> ObjectRef:
        metadata: Object = obj.get("metadata") or {}
        return cls(
            group=group_of(obj.get("apiVersion") or ""),
            kind=obj.get("kind") or "",
            namespace=metadata.get("namespace") or "",
            name=metadata.get("name") or "",
        )

    @property
    def group_kind(self) -> GroupKind:
        return GroupKind(self.group, self.kind)

    def __str__(self) -> str:
        place = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind}/{place}"


# The resources that the ground itself talks to.
NAMESPACES = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap")
SECRETS = Resource("", "v1", "secrets", "Secret")
PODS = Resource("", "v1", "pods", "Pod")
NODES = Resource("", "v1", "nodes", "Node", namespaced=False)
EVENTS = Resource("", "v1", "events", "Event")
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")
JOBS = Resource("batch", "v1", "jobs", "Job")
DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment")
CUSTOM_RESOURCE_DEFINITIONS = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)
