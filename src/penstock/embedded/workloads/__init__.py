"""Workloads, simulated simply: Deployments, ReplicaSets, StatefulSets, DaemonSets and Jobs become ready or complete.

They own real pods, with the owner references, labels and counts of the real controllers, and conditions in their words.
Nothing is executed. Annotations of the pod template ask for something else than success, as in
`penstock.embedded.pods`: `sim.penstock.dev/delay`, `fail`, `never-ready` and `image-pull-error`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.embedded.workloads.manager import Workloads

if TYPE_CHECKING:
    from penstock.embedded.server.ports import Context, Plugins

__all__ = ["install"]


def install(plugins: Plugins, context: Context) -> None:
    """Let workloads run."""
    workloads = Workloads(context.api, context.now)
    workloads.load()
    plugins.observers.append(workloads)
    plugins.controllers.append(workloads.run)
