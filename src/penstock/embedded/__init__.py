"""What stands in for a cluster where there is none: for rehearsal, tests and first steps, never for production.

`cluster` runs a Kubernetes API server in this process:

    async with cluster() as running, running.client() as client:
        await client.list(NAMESPACES)

`simulate_pods` plays the kubelets of an API server that has no nodes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.embedded.pods import simulate_pods
    from penstock.embedded.server.instance import Cluster, ClusterError, cluster

__all__ = ["Cluster", "ClusterError", "cluster", "simulate_pods"]

_HOMES = {
    "Cluster": "penstock.embedded.server.instance",
    "ClusterError": "penstock.embedded.server.instance",
    "cluster": "penstock.embedded.server.instance",
    "simulate_pods": "penstock.embedded.pods",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for and no more: the server needs no client, and the simulator no server."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)
