"""ReplicaSets: as many pods as are wanted, neither more nor fewer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.embedded.workloads.desk import RETRY, Desk, without_zeros

if TYPE_CHECKING:
    from penstock.kube.resources import Object


class ReplicaSets:
    """Makes and removes the pods of ReplicaSets."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._resource = desk.resource("apps", "replicasets")

    async def reconcile(self, obj: Object) -> float | None:
        """Bring one ReplicaSet a step further; seconds until the next look, None for the next change."""
        refused = ""
        if not obj["metadata"].get("deletionTimestamp"):
            refused = await self._scale(obj)
        await self._desk.write_status(self._resource, obj, self._status(obj, refused))
        return RETRY if refused else None

    async def _scale(self, obj: Object) -> str:
        desk, wanted = self._desk, obj["spec"].get("replicas", 0)
        pods = [pod for pod in desk.owned.pods(obj["metadata"]["uid"]) if pod.active]
        for _ in range(wanted - len(pods)):
            if refused := await desk.create_pod(obj, obj["spec"]["template"]):
                return refused
        if len(pods) > wanted:
            # Those that are of no use go first, then the youngest.
            spare = sorted(pods, key=lambda pod: (not pod.ready, pod.created), reverse=True)[: len(pods) - wanted]
            for pod in spare:
                await desk.delete_pod(pod)
        return ""

    def _status(self, obj: Object, refused: str) -> Object:
        pods = self._desk.owned.pods(obj["metadata"]["uid"])
        active = [pod for pod in pods if pod.active]
        ready = sum(pod.ready for pod in active)
        status: Object = {
            "replicas": len(active),
            **without_zeros({"fullyLabeledReplicas": len(active), "readyReplicas": ready, "availableReplicas": ready}),
            "terminatingReplicas": sum(pod.leaving for pod in pods),
            "observedGeneration": obj["metadata"].get("generation", 1),
        }
        if refused:
            known: list[Object] = (obj.get("status") or {}).get("conditions") or []
            old: Object = next((each for each in known if each["type"] == "ReplicaFailure"), {})
            status["conditions"] = [
                {
                    "type": "ReplicaFailure",
                    "status": "True",
                    "lastTransitionTime": old.get("lastTransitionTime") or self._desk.stamp(),
                    "reason": "FailedCreate",
                    "message": refused,
                }
            ]
        return status
