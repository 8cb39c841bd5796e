"""DaemonSets: one pod, as if there were one node.

A real control plane without nodes schedules none. One is more useful here: a DaemonSet can be awaited, and can fail.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.embedded.workloads.desk import RETRY, Desk, template_hash, without_zeros

if TYPE_CHECKING:
    from penstock.kube.resources import Object

HASH = "controller-revision-hash"


class DaemonSets:
    """Keeps the one pod of each DaemonSet."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._resource = desk.resource("apps", "daemonsets")

    async def reconcile(self, obj: Object) -> float | None:
        """Bring one DaemonSet a step further; seconds until the next look, None for the next change."""
        if obj["metadata"].get("deletionTimestamp"):
            return None
        revision = template_hash(obj["spec"]["template"])
        refused = await self._place(obj, revision)
        await self._desk.write_status(self._resource, obj, self._status(obj, revision))
        return RETRY if refused else None

    async def _place(self, obj: Object, revision: str) -> str:
        pods = [pod for pod in self._desk.owned.pods(obj["metadata"]["uid"]) if pod.active]
        on_delete = (obj["spec"].get("updateStrategy") or {}).get("type") == "OnDelete"
        for pod in pods[1:] + ([] if on_delete else [pod for pod in pods[:1] if pod.revision != revision]):
            await self._desk.delete_pod(pod)
        if any(pod.active for pod in self._desk.owned.pods(obj["metadata"]["uid"])):
            return ""
        labels = {HASH: revision, "pod-template-generation": str(obj["metadata"].get("generation", 1))}
        return await self._desk.create_pod(obj, obj["spec"]["template"], labels=labels)

    def _status(self, obj: Object, revision: str) -> Object:
        pods = [pod for pod in self._desk.owned.pods(obj["metadata"]["uid"]) if pod.active]
        ready = min(1, sum(pod.ready for pod in pods))
        return {
            "currentNumberScheduled": min(1, len(pods)),
            "numberMisscheduled": 0,
            "desiredNumberScheduled": 1,
            "numberReady": ready,
            "observedGeneration": obj["metadata"].get("generation", 1),
            **without_zeros(
                {
                    "updatedNumberScheduled": min(1, sum(pod.revision == revision for pod in pods)),
                    "numberAvailable": ready,
                    "numberUnavailable": 1 - ready,
                }
            ),
        }
