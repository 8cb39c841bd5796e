"""Discovery: which groups, versions and resources there are, aggregated in one document or step by step."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import orjson

from penstock.embedded.server.answers import Answer
from penstock.embedded.server.catalog import Catalog, subresources_of
from penstock.embedded.server.negotiation import JSON, clauses

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.embedded.schema import Subresource
    from penstock.embedded.server.ports import ServedResource
    from penstock.kube.resources import Object

_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


class Discovery:
    """The documents of discovery, made when asked for and kept until the catalog changes."""

    def __init__(self, catalog: Catalog, address: str) -> None:
        self._catalog = catalog
        self._address = address
        self._made: dict[str, bytes] = {}
        self._version = -1

    def wants_aggregated(self, accept: str) -> bool:
        """Whether the best thing the client takes is the aggregated document."""
        for clause in clauses(accept):
            if clause.media_type not in (JSON, "*/*"):
                continue
            if clause.parameter("as") == "APIGroupDiscoveryList":
                if clause.parameter("g") == "apidiscovery.k8s.io" and clause.parameter("v") == "v2":
                    return True
                continue
            return False
        return False

    def aggregated(self, *, core: bool, known: str) -> Answer:
        """Everything of the core group, or of all others; 304 when the client has it already."""
        body = self._document("core" if core else "groups", lambda: self._aggregate(core=core))
        etag = f'"{hashlib.sha512(body).hexdigest().upper()}"'
        headers = [(b"etag", etag.encode()), (b"vary", b"Accept")]
        if known == etag:
            return Answer(304, b"", _AGGREGATED, headers)
        return Answer(200, body, _AGGREGATED, headers)

    def core_versions(self) -> Object:
        return {
            "kind": "APIVersions",
            "versions": ["v1"],
            "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": self._address}],
        }

    def groups(self) -> Object:
        return {
            "kind": "APIGroupList",
            "apiVersion": "v1",
            "groups": [self.group(name, typed=False) for name in self._catalog.groups() if name],
        }

    def group(self, name: str, *, typed: bool = True) -> Object:
        versions = [
            {"groupVersion": f"{name}/{version}", "version": version} for version in self._catalog.versions(name)
        ]
        answer: Object = {"name": name, "versions": versions, "preferredVersion": versions[0]}
        return {"kind": "APIGroup", "apiVersion": "v1", **answer} if typed else answer

    def resources(self, group: str, version: str) -> Object | None:
        """The resources of one version; None when there is no such version."""
        found = [each for each in self._sorted() if (each.group, each.version) == (group, version)]
        if not found:
            return None
        listed: list[Object] = []
        for resource in found:
            listed.append(_legacy(resource))
            listed += [_legacy_subresource(resource, each) for each in subresources_of(resource)]
        name = f"{group}/{version}" if group else version
        answer: Object = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": name, "resources": listed}
        if not group:
            del answer["apiVersion"]
        return answer

    def _document(self, name: str, make: Callable[[], Object]) -> bytes:
        if self._version != self._catalog.version:
            self._made.clear()
            self._version = self._catalog.version
        body = self._made.get(name)
        if body is None:
            body = self._made[name] = orjson.dumps(make())
        return body

    def _aggregate(self, *, core: bool) -> Object:
        groups = [""] if core else [name for name in self._catalog.groups() if name]
        found = self._sorted()
        return {
            "kind": "APIGroupDiscoveryList",
            "apiVersion": "apidiscovery.k8s.io/v2",
            "metadata": {},
            "items": [
                {
                    "metadata": {"name": name} if name else {},
                    "versions": [
                        {
                            "version": version,
                            "resources": [
                                _aggregated(each) for each in found if (each.group, each.version) == (name, version)
                            ],
                            "freshness": "Current",
                        }
                        for version in self._catalog.versions(name)
                    ],
                }
                for name in groups
            ],
        }

    def _sorted(self) -> list[ServedResource]:
        return sorted(self._catalog.resources(), key=lambda resource: resource.plural)


def _legacy(resource: ServedResource) -> Object:
    answer: Object = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
        "shortNames": list(resource.short_names),
        "categories": list(resource.categories),
        "storageVersionHash": resource.storage_hash,
    }
    return {key: value for key, value in answer.items() if value or key in ("namespaced", "verbs", "singularName")}


def _legacy_subresource(resource: ServedResource, each: Subresource) -> Object:
    answer: Object = {
        "name": f"{resource.plural}/{each.name}",
        "singularName": "",
        "namespaced": resource.namespaced,
        "group": each.group,
        "version": each.version,
        "kind": each.kind,
        "verbs": list(each.verbs),
    }
    return {key: value for key, value in answer.items() if value or key in ("namespaced", "singularName")}


def _aggregated(resource: ServedResource) -> Object:
    own = (resource.group, resource.version) if resource.custom else ("", "")
    answer: Object = {
        "resource": resource.plural,
        "responseKind": {"group": own[0], "version": own[1], "kind": resource.kind},
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        answer["shortNames"] = list(resource.short_names)
    if resource.categories:
        answer["categories"] = list(resource.categories)
    below = [
        {
            "subresource": each.name,
            "responseKind": {"group": each.group or own[0], "version": each.version or own[1], "kind": each.kind},
            "verbs": list(each.verbs),
        }
        for each in subresources_of(resource)
    ]
    if below:
        answer["subresources"] = below
    return answer
