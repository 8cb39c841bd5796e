"""The objects and paths that scenarios are made of."""

from __future__ import annotations

from typing import Any

from tests.embedded.server.playing import Request, get, post

MAPS = "/api/v1/namespaces/{ns}/configmaps"
DEPLOYMENTS = "/apis/apps/v1/namespaces/{ns}/deployments"
AS_TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
AS_METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
AS_METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


def config(name: str, **fields: Any) -> dict[str, Any]:
    metadata = {"name": name, **fields.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **fields}


def deployment(name: str, replicas: int = 1) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "main", "image": "nginx:1.29"}]},
            },
        },
    }


def listed(*queries: str) -> list[Request]:
    """Three ConfigMaps, and lists of them with these queries."""
    return [
        post(MAPS, config("a", metadata={"labels": {"app": "web", "tier": "1"}})),
        post(MAPS, config("b", metadata={"labels": {"app": "db"}})),
        post(MAPS, config("c")),
        *(get(f"{MAPS}?{query}") for query in queries),
    ]
