"""The discovery side of an API server, for tests of who reads it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from penstock.kube import Resource
from penstock.kube.errors import KubeError, NotFound, Status

if TYPE_CHECKING:
    from penstock.kube import Request

CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap")
DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment")
WIDGETS = Resource("example.com", "v1", "widgets", "Widget")
CLUSTER_WIDGETS = Resource("example.com", "v1", "clusterwidgets", "ClusterWidget", namespaced=False)
OLD_WIDGETS = Resource("example.com", "v1alpha1", "widgets", "Widget")
EVERYTHING = (CONFIG_MAPS, DEPLOYMENTS, WIDGETS, CLUSTER_WIDGETS, OLD_WIDGETS)


class Server:
    """The discovery side of an API server, with switches for what goes wrong."""

    def __init__(self, *resources: Resource, legacy: bool = False, version: str = "v2") -> None:
        self.resources = list(resources or EVERYTHING)
        self.legacy = legacy
        self.version = version
        self.stale: set[str] = set()
        self.failing: dict[str, KubeError] = {}
        self.garbage: dict[str, Any] = {}
        self.asked: list[str] = []

    async def __call__(self, request: Request) -> Any:
        self.asked.append(request.path)
        await asyncio.sleep(0.01)
        if request.path in self.failing:
            raise self.failing[request.path]
        if request.path in self.garbage:
            return self.garbage[request.path]
        if request.path in ("/api", "/apis"):
            return self._legacy(request.path) if self.legacy else self._aggregated(request)
        return self._group_version(request.path)

    @property
    def readings(self) -> int:
        return self.asked.count("/apis")

    def _of(self, path: str) -> dict[str, dict[str, list[Resource]]]:
        groups: dict[str, dict[str, list[Resource]]] = {}
        for resource in self.resources:
            if bool(resource.group) == (path == "/apis"):
                groups.setdefault(resource.group, {}).setdefault(resource.version, []).append(resource)
        return groups

    def _aggregated(self, request: Request) -> Any:
        assert request.accept is not None
        assert f"v={self.version};as=APIGroupDiscoveryList" in request.accept
        items = [
            {"metadata": {"name": group}, "versions": [self._version(*entry) for entry in versions.items()]}
            for group, versions in self._of(request.path).items()
        ]
        return {"kind": "APIGroupDiscoveryList", "apiVersion": f"apidiscovery.k8s.io/{self.version}", "items": items}

    def _version(self, version: str, resources: list[Resource]) -> Any:
        stale = resources[0].api_version in self.stale
        return {
            "version": version,
            "freshness": "Stale" if stale else "Current",
            "resources": [] if stale else [_aggregated(resource) for resource in resources],
        }

    def _legacy(self, path: str) -> Any:
        if path == "/api":
            return {"kind": "APIVersions", "versions": ["v1"]}
        groups = [
            {
                "name": group,
                "versions": [{"version": version} for version in reversed(versions)],
                "preferredVersion": {"version": next(iter(versions))},
            }
            for group, versions in self._of(path).items()
        ]
        return {"kind": "APIGroupList", "groups": groups}

    def _group_version(self, path: str) -> Any:
        api_version = path.removeprefix("/apis/").removeprefix("/api/")
        found = [resource for resource in self.resources if resource.api_version == api_version]
        if not found:
            raise NotFound(Status(404))
        return {"kind": "APIResourceList", "resources": [entry for resource in found for entry in _legacy(resource)]}


def _aggregated(resource: Resource) -> Any:
    return {
        "resource": resource.plural,
        "responseKind": {"kind": resource.kind},
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.kind.lower(),
        "shortNames": [resource.plural[:2]],
        "categories": ["all"],
        "verbs": ["get", "list"],
        "subresources": [{"subresource": "status"}],
    }


def _legacy(resource: Resource) -> list[Any]:
    entry = {
        "name": resource.plural,
        "kind": resource.kind,
        "namespaced": resource.namespaced,
        "singularName": resource.kind.lower(),
        "shortNames": [resource.plural[:2]],
        "categories": ["all"],
        "verbs": ["get", "list"],
    }
    return [entry, {**entry, "name": f"{resource.plural}/status"}]
