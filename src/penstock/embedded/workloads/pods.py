"""Plays the kubelets from inside the server, by the same moves as the pod simulator does from outside."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from penstock.embedded import behaviour
from penstock.embedded.kubelet import Remove, next_move
from penstock.embedded.server.ports import DeleteOptions
from penstock.embedded.status import StatusError

if TYPE_CHECKING:
    from penstock.embedded.workloads.desk import Desk
    from penstock.kube.resources import Object

MANAGER = "penstock-pod-simulator"


class Pods:
    """Takes pods from move to move."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._resource = desk.resource("", "pods")
        self._due: dict[tuple[str, str], float] = {}

    def forget(self, uid: str, kept: str = "") -> None:
        """Nothing is due any more for a pod, but for one move."""
        for key in [key for key in self._due if key[0] == uid and key[1] != kept]:
            del self._due[key]

    async def reconcile(self, obj: Object) -> float | None:
        """Make the pod's next move, or say in how many seconds it is due."""
        wish, _ = behaviour.read(obj["metadata"].get("annotations") or {})
        move = next_move(obj, wish, datetime.fromtimestamp(self._desk.now(), UTC))
        uid = obj["metadata"]["uid"]
        if move is None:
            self.forget(uid)
            return None
        if isinstance(move, Remove):
            await self._remove(obj)
            return None
        now = self._desk.now()
        if move.after > 0:
            due = self._due.setdefault((uid, move.name), now + move.after)
            if due > now:
                return due - now
        self.forget(uid)
        await self._desk.change(
            self._resource, obj, {"status": _merged(obj.get("status") or {}, move.status)}, subresource="status"
        )
        return None

    async def _remove(self, obj: Object) -> None:
        metadata = obj["metadata"]
        options = DeleteOptions(grace_seconds=0, uid=metadata["uid"])
        try:
            await self._desk.api.delete(self._resource, metadata["name"], metadata["namespace"], options)
        except StatusError as error:
            if error.code not in (404, 409):
                raise


def _merged(old: Object, status: Object) -> Object:
    """A merge patch replaces lists: conditions that others set are carried over by hand."""
    own = {condition["type"] for condition in status["conditions"]}
    others = [each for each in old.get("conditions") or () if each["type"] not in own]
    told = [{key: value for key, value in each.items() if value is not None} for each in status["conditions"]]
    return {**status, "conditions": [*others, *told]}
