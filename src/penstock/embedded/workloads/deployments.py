"""Deployments: a ReplicaSet for the pod template, and the old ones go when the new one is there.

The roll-out is simpler than the real one: the new ReplicaSet gets all its replicas at once, whatever maxSurge says, and
the old ones keep theirs until it is available. `Recreate` takes the old pods away first.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from penstock.embedded.status import StatusError
from penstock.embedded.workloads.desk import MANAGER, Desk, reference_to, share, template_hash, without_zeros

if TYPE_CHECKING:
    from penstock.kube.resources import Object

_PREFIX = "deployment.kubernetes.io/"
REVISION, DESIRED, MOST = f"{_PREFIX}revision", f"{_PREFIX}desired-replicas", f"{_PREFIX}max-replicas"
HASH = "pod-template-hash"


class Deployments:
    """Rolls Deployments out."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._resource = desk.resource("apps", "deployments")
        self._sets = desk.resource("apps", "replicasets")

    async def reconcile(self, obj: Object) -> float | None:
        """Bring one Deployment a step further; seconds until the next look, None for the next change."""
        if obj["metadata"].get("deletionTimestamp"):
            return None
        sets = self._owned(obj)
        current = next((each for each in sets if _hash(each) == template_hash(obj["spec"]["template"])), None)
        if current is None and not obj["spec"].get("paused"):
            current = await self._new_set(obj, sets)
            if current is None:
                return None
            sets = [*sets, current]
        old = [each for each in sets if each is not current]
        if current is not None:
            await self._announce(obj, current, old)
            await self._roll(obj, current, old)
        return await self._write(obj, current, old)

    def _owned(self, obj: Object) -> list[Object]:
        metadata = obj["metadata"]
        found = (
            self._desk.api.get(self._sets, name, metadata["namespace"])
            for name in self._desk.owned.sets(metadata["uid"])
        )
        return [each for each in found if each is not None]

    async def _new_set(self, obj: Object, sets: list[Object]) -> Object | None:
        metadata, spec = obj["metadata"], obj["spec"]
        made_of = template_hash(spec["template"])
        template = spec["template"]
        labels = {**((template.get("metadata") or {}).get("labels") or {}), HASH: made_of}
        recreates = spec.get("strategy", {}).get("type") == "Recreate"
        replicas = spec.get("replicas", 1)
        wanted: Object = {
            "metadata": {
                "name": f"{metadata['name']}-{made_of}",
                "namespace": metadata["namespace"],
                "labels": labels,
                "annotations": {**self._annotations(obj), REVISION: str(_highest(sets) + 1)},
                "ownerReferences": [reference_to(obj)],
            },
            "spec": {
                "replicas": 0 if recreates and sets else replicas,
                "selector": {
                    **spec["selector"],
                    "matchLabels": {**(spec["selector"].get("matchLabels") or {}), HASH: made_of},
                },
                "template": {**template, "metadata": {**(template.get("metadata") or {}), "labels": labels}},
            },
        }
        if spec.get("minReadySeconds"):
            wanted["spec"]["minReadySeconds"] = spec["minReadySeconds"]
        try:
            return await self._desk.api.create(self._sets, wanted, manager=MANAGER)
        except StatusError as error:
            if error.code not in (403, 404, 409):  # the namespace goes, or a namesake is in the way
                raise
            return None

    def _annotations(self, obj: Object) -> dict[str, str]:
        spec = obj["spec"]
        replicas = spec.get("replicas", 1)
        surge = (spec.get("strategy", {}).get("rollingUpdate") or {}).get("maxSurge", 0)
        most = replicas + share(surge, replicas, up=True) if replicas else 0
        return {DESIRED: str(replicas), MOST: str(most)}

    async def _announce(self, obj: Object, current: Object, old: list[Object]) -> None:
        """The newest ReplicaSet has the highest revision, and the Deployment says which."""
        annotations = current["metadata"].setdefault("annotations", {})
        revision = max(_revision(current), _highest(old) + 1)
        wanted = {**self._annotations(obj), REVISION: str(revision)}
        if any(annotations.get(key) != value for key, value in wanted.items()):
            annotations |= wanted
            await self._desk.change(self._sets, current, {"metadata": {"annotations": wanted}})
        if (obj["metadata"].get("annotations") or {}).get(REVISION) != str(revision):
            # Through the status: a change of annotations would otherwise make a new generation.
            patch = {"metadata": {"annotations": {REVISION: str(revision)}}}
            await self._desk.change(self._resource, obj, patch, subresource="status")

    async def _roll(self, obj: Object, current: Object, old: list[Object]) -> None:
        replicas = obj["spec"].get("replicas", 1)
        recreates = obj["spec"].get("strategy", {}).get("type") == "Recreate"
        if recreates and any(self._desk.owned.pods(each["metadata"]["uid"]) for each in old):
            for each in old:
                await self._scale(each, 0)
            return
        await self._scale(current, replicas)
        if _count([current], "availableReplicas") >= replicas:
            for each in old:
                await self._scale(each, 0)
            await self._forget(obj, old)

    async def _scale(self, replica_set: Object, replicas: int) -> None:
        if replica_set["spec"].get("replicas", 0) == replicas:
            return
        await self._desk.change(self._sets, replica_set, {"spec": {"replicas": replicas}})
        replica_set["spec"]["replicas"] = replicas

    async def _forget(self, obj: Object, old: list[Object]) -> None:
        """Delete the oldest ReplicaSets beyond what the history may hold."""
        limit = obj["spec"].get("revisionHistoryLimit", 10)
        idle = sorted((each for each in old if not _count([each], "replicas")), key=_revision)
        for each in idle[: max(0, len(old) - limit)]:
            metadata = each["metadata"]
            try:
                await self._desk.api.delete(self._sets, metadata["name"], metadata["namespace"])
            except StatusError as error:
                if error.code != 404:
                    raise

    async def _write(self, obj: Object, current: Object | None, old: list[Object]) -> float | None:
        live = self._desk.api.get(self._resource, obj["metadata"]["name"], obj["metadata"]["namespace"])
        if live is None:
            return None
        all_sets = old if current is None else [*old, current]
        status = _counts(live, current, all_sets)
        before: Object = live.get("status") or {}
        if before.get("collisionCount"):
            status["collisionCount"] = before["collisionCount"]
        known = {each["type"]: each for each in before.get("conditions") or ()}
        conditions = {**known, "Available": self._condition(known, *_availability(live, status))}
        progress = self._progress(live, status, before, current, known.get("Progressing"))
        if progress is not None:
            conditions["Progressing"] = progress
        status["conditions"] = list(conditions.values())
        await self._desk.write_status(self._resource, live, status)
        return self._deadline(live, conditions.get("Progressing"))

    def _condition(self, known: dict[str, Object], kind: str, holds: bool, reason: str, message: str) -> Object:
        old = known.get(kind)
        status = "True" if holds else "False"
        if old is not None and (old["status"], old["reason"], old["message"]) == (status, reason, message):
            return old
        stamp = self._desk.stamp()
        since = old["lastTransitionTime"] if old is not None and old["status"] == status else stamp
        return {
            "type": kind,
            "status": status,
            "lastUpdateTime": stamp,
            "lastTransitionTime": since,
            "reason": reason,
            "message": message,
        }

    def _progress(
        self, obj: Object, status: Object, before: Object, current: Object | None, old: Object | None
    ) -> Object | None:
        if current is None:
            return old
        name, known = current["metadata"]["name"], {"Progressing": old} if old else {}
        replicas = obj["spec"].get("replicas", 1)
        counts = tuple(status.get(key, 0) for key in ("updatedReplicas", "replicas", "availableReplicas"))
        if counts == (replicas,) * 3:
            words = f'ReplicaSet "{name}" has successfully progressed.'
            return self._condition(known, "Progressing", True, "NewReplicaSetAvailable", words)
        if old is None or old["reason"] == "NewReplicaSetAvailable":
            words = f'Created new replica set "{name}"'
            return self._condition({}, "Progressing", True, "NewReplicaSetCreated", words)
        moved = any(
            status.get(key, 0) > before.get(key, 0) for key in ("updatedReplicas", "readyReplicas", "availableReplicas")
        )
        if moved:
            words = f'ReplicaSet "{name}" is progressing.'
            made = self._condition(known, "Progressing", True, "ReplicaSetUpdated", words)
            return {**made, "lastUpdateTime": self._desk.stamp()}
        left = self._left(obj, old)
        if left is not None and left <= 0:
            words = f'ReplicaSet "{name}" has timed out progressing.'
            return self._condition(known, "Progressing", False, "ProgressDeadlineExceeded", words)
        return old

    def _left(self, obj: Object, progress: Object) -> float | None:
        """Seconds until a roll-out that does not move is given up."""
        limit = obj["spec"].get("progressDeadlineSeconds")
        if limit is None or progress["reason"] == "NewReplicaSetAvailable" or progress["status"] != "True":
            return None
        began = datetime.fromisoformat(progress["lastUpdateTime"]).timestamp()
        return began + float(limit) - self._desk.now()

    def _deadline(self, obj: Object, progress: Object | None) -> float | None:
        left = self._left(obj, progress) if progress is not None else None
        return None if left is None else max(left, 0.0) + 1.0


def _hash(replica_set: Object) -> str:
    return str((replica_set["metadata"].get("labels") or {}).get(HASH, ""))


def _revision(replica_set: Object) -> int:
    text = (replica_set["metadata"].get("annotations") or {}).get(REVISION, "0")
    return int(text) if text.isdigit() else 0


def _highest(sets: list[Object]) -> int:
    return max((_revision(each) for each in sets), default=0)


def _count(sets: list[Object], name: str) -> int:
    return sum((each.get("status") or {}).get(name, 0) for each in sets)


def _counts(obj: Object, current: Object | None, sets: list[Object]) -> Object:
    available = _count(sets, "availableReplicas")
    wanted = sum(each["spec"].get("replicas", 0) for each in sets)
    return {
        "observedGeneration": obj["metadata"].get("generation", 1),
        **without_zeros(
            {
                "replicas": _count(sets, "replicas"),
                "updatedReplicas": _count([current] if current is not None else [], "replicas"),
                "readyReplicas": _count(sets, "readyReplicas"),
                "availableReplicas": available,
                "unavailableReplicas": max(0, wanted - available),
            }
        ),
        "terminatingReplicas": _count(sets, "terminatingReplicas"),
    }


def _availability(obj: Object, status: Object) -> tuple[str, bool, str, str]:
    replicas = obj["spec"].get("replicas", 1)
    strategy = obj["spec"].get("strategy") or {}
    missing = (strategy.get("rollingUpdate") or {}).get("maxUnavailable", 0)
    least = replicas - share(missing, replicas, up=False)
    if status.get("availableReplicas", 0) >= least:
        return "Available", True, "MinimumReplicasAvailable", "Deployment has minimum availability."
    return "Available", False, "MinimumReplicasUnavailable", "Deployment does not have minimum availability."
