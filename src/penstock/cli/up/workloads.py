"""The workloads that Kustomizations brought, and whether they are rolled out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock import health
from penstock.controllers.kustomization.settings import PREFIX
from penstock.kube import ObjectRef, Resource, WatchCache
from penstock.kube.resources import DEPLOYMENTS, JOBS

if TYPE_CHECKING:
    from penstock.kube import Client, Object

RESOURCES = (
    DEPLOYMENTS,
    Resource("apps", "v1", "statefulsets", "StatefulSet"),
    Resource("apps", "v1", "daemonsets", "DaemonSet"),
    JOBS,
)
OURS = f"{PREFIX}/name"
"""The label that everything has which a Kustomization applied."""


@dataclass(frozen=True, slots=True)
class Workload:
    """One of them."""

    ref: ObjectRef
    healthy: bool
    message: str


def cache(client: Client, resource: Resource) -> WatchCache[Workload]:
    """A cache that keeps of each object what there is to show."""
    return WatchCache(client, resource, labels=OURS, transform=_workload)


def _workload(obj: Object) -> Workload:
    found = health.status_of(obj)
    return Workload(ObjectRef.of(obj), found.status is health.HealthStatus.CURRENT, found.message)
