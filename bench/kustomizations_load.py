"""The load of `bench.kustomizations`: small applications, each in a folder, and what is asked for them."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import orjson

from penstock.api import crd
from penstock.controllers.kustomization.parts import KUSTOMIZATIONS
from penstock.controllers.kustomization.source import KINDS
from penstock.kube import connect, load
from penstock.kube.resources import NAMESPACES, Resource
from tests.controlplane.plane import controlplane
from tests.definitions import define

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from penstock.kube import Client, Object
    from tests.controlplane.plane import ControlPlane

COUNT = int(os.environ.get("KUSTOMIZATIONS", "1000"))
NAMESPACE = "bench"
REPOSITORIES = KINDS["GitRepository"]


def objects(name: str) -> dict[Resource, Object]:
    """One application, in the order in which its kinds are applied."""
    labels = {"app": name}
    metadata = {"name": name, "namespace": NAMESPACE}
    port = {"name": "http", "port": 80, "targetPort": 8080, "protocol": "TCP"}
    container = {"name": "web", "image": "registry.example/web:1.0", "ports": [{"containerPort": 8080}]}
    template = {"metadata": {"labels": labels}, "spec": {"serviceAccountName": name, "containers": [container]}}
    backend = {"service": {"name": name, "port": {"number": 80}}}
    path = {"path": "/", "pathType": "Prefix", "backend": backend}
    specs: dict[Resource, Object] = {
        Resource("", "v1", "serviceaccounts", "ServiceAccount"): {},
        Resource("", "v1", "services", "Service"): {"selector": labels, "ports": [port]},
        Resource("apps", "v1", "deployments", "Deployment"): {
            "replicas": 0,
            "selector": {"matchLabels": labels},
            "template": template,
        },
        Resource("networking.k8s.io", "v1", "ingresses", "Ingress"): {
            "rules": [{"host": f"{name}.example", "http": {"paths": [path]}}]
        },
    }
    return {
        resource: {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": metadata,
            **({"spec": spec} if spec else {}),
        }
        for resource, spec in specs.items()
    }


def files() -> dict[str, str]:
    """What the repository holds: a folder an application. JSON is YAML."""
    return {
        f"apps/{name}/{resource.plural}.yaml": orjson.dumps(obj).decode()
        for name in names()
        for resource, obj in objects(name).items()
    }


def names() -> list[str]:
    return [f"app-{number:04}" for number in range(COUNT)]


def kustomization(name: str) -> Object:
    source = {"kind": "GitRepository", "name": "apps"}
    spec = {"interval": "1h", "prune": True, "path": f"./apps/{name}", "sourceRef": source}
    metadata = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": KUSTOMIZATIONS.api_version, "kind": "Kustomization", "metadata": metadata, "spec": spec}


@asynccontextmanager
async def prepared() -> AsyncGenerator[tuple[ControlPlane, Client]]:
    """A new control plane on which the Kustomizations are there, and nobody works on them."""
    async with controlplane() as plane, connect(await asyncio.to_thread(load, plane.kubeconfig)) as client:
        await define(client, *(crd(kind) for kind in ("Kustomization", *KINDS)))
        await client.create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
        waiting = iter(names())

        async def create() -> None:
            for name in waiting:
                await client.create(KUSTOMIZATIONS, kustomization(name))

        async with asyncio.TaskGroup() as group:
            for _ in range(32):
                group.create_task(create())
        yield plane, client


async def asked(plane: ControlPlane) -> Counter[str]:
    """How often the API server was asked what, by verb and resource, as it counts itself."""
    found: Counter[str] = Counter()
    for line in (await plane.kubectl("get", "--raw", "/metrics")).splitlines():
        if not line.startswith("apiserver_request_total{"):
            continue
        labels, _, value = line.removeprefix("apiserver_request_total{").rpartition("} ")
        facts = {name: text.strip('"') for name, _, text in (one.partition("=") for one in labels.split(","))}
        verb = "dry-run" if facts["dry_run"] else facts["verb"].lower()
        found[f"{verb} {facts['resource']}{'/' if facts['subresource'] else ''}{facts['subresource']}"] += int(value)
    return found
