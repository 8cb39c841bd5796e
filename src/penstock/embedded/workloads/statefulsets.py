"""StatefulSets: numbered pods, one after the other unless they may come together, with their own claims."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.embedded.status import StatusError
from penstock.embedded.workloads.desk import MANAGER, RETRY, Desk, template_hash, without_zeros

if TYPE_CHECKING:
    from penstock.embedded.workloads.index import PodFacts
    from penstock.kube.resources import Object

HASH = "controller-revision-hash"


class StatefulSets:
    """Makes, replaces and removes the pods of StatefulSets."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._resource = desk.resource("apps", "statefulsets")

    async def reconcile(self, obj: Object) -> float | None:
        """Bring one StatefulSet a step further; seconds until the next look, None for the next change."""
        if obj["metadata"].get("deletionTimestamp"):
            return None
        revision = f"{obj['metadata']['name']}-{template_hash(obj['spec']['template'])}"
        refused = await self._scale(obj, revision)
        await self._desk.write_status(self._resource, obj, self._status(obj, revision))
        return RETRY if refused else None

    async def _scale(self, obj: Object, revision: str) -> str:
        spec = obj["spec"]
        first = (spec.get("ordinals") or {}).get("start", 0)
        ordinals = range(first, first + spec.get("replicas", 1))
        together = spec.get("podManagementPolicy") == "Parallel"
        pods = {pod.name: pod for pod in self._desk.owned.pods(obj["metadata"]["uid"])}
        names = [f"{obj['metadata']['name']}-{ordinal}" for ordinal in ordinals]
        for ordinal, name in zip(ordinals, names, strict=True):
            pod = pods.get(name)
            if pod is None and (refused := await self._create(obj, revision, ordinal, name)):
                return refused
            if not together and not (pod is not None and pod.ready and pod.active):
                return ""  # the next one waits for this one
        await self._remove_extra(pods, names, together=together)
        await self._replace_old(obj, pods, names, revision)
        return ""

    async def _create(self, obj: Object, revision: str, ordinal: int, name: str) -> str:
        claims = [await self._claim(obj, claim, name) for claim in obj["spec"].get("volumeClaimTemplates") or ()]
        template: Object = obj["spec"]["template"]
        spec: Object = {**template["spec"], "hostname": name}
        if obj["spec"].get("serviceName"):
            spec["subdomain"] = obj["spec"]["serviceName"]
        if claims:
            own = {claim["name"] for claim in claims}
            kept = [volume for volume in spec.get("volumes") or () if volume["name"] not in own]
            spec["volumes"] = [*claims, *kept]
        labels = {
            "apps.kubernetes.io/pod-index": str(ordinal),
            HASH: revision,
            "statefulset.kubernetes.io/pod-name": name,
        }
        return await self._desk.create_pod(obj, {**template, "spec": spec}, name=name, labels=labels)

    async def _claim(self, obj: Object, template: Object, pod: str) -> Object:
        """Make the claim of a pod, when it is not there, and the volume that uses it."""
        metadata: Object = template["metadata"]
        name = f"{metadata['name']}-{pod}"
        labels = {**(metadata.get("labels") or {}), **(obj["spec"]["selector"].get("matchLabels") or {})}
        claim: Object = {
            "metadata": {"name": name, "namespace": obj["metadata"]["namespace"], "labels": labels},
            "spec": template["spec"],
        }
        if metadata.get("annotations"):
            claim["metadata"]["annotations"] = metadata["annotations"]
        try:
            await self._desk.api.create(self._desk.resource("", "persistentvolumeclaims"), claim, manager=MANAGER)
        except StatusError as error:
            if error.code not in (403, 404, 409):  # it is there, or the namespace goes
                raise
        return {"name": metadata["name"], "persistentVolumeClaim": {"claimName": name}}

    async def _remove_extra(self, pods: dict[str, PodFacts], names: list[str], *, together: bool) -> None:
        extra = sorted((pod for name, pod in pods.items() if name not in names and not pod.leaving), key=_ordinal)
        for pod in reversed(extra):
            await self._desk.delete_pod(pod)
            if not together:
                return

    async def _replace_old(self, obj: Object, pods: dict[str, PodFacts], names: list[str], revision: str) -> None:
        """Pods of an older template go, the last one first, one at a time."""
        strategy: Object = obj["spec"].get("updateStrategy") or {}
        if strategy.get("type") == "OnDelete":
            return
        partition = (strategy.get("rollingUpdate") or {}).get("partition", 0)
        for name in reversed(names):
            pod = pods.get(name)
            if pod is None or _ordinal(pod) < partition:
                return
            if pod.revision != revision:
                if not pod.leaving:
                    await self._desk.delete_pod(pod)
                return
            if not pod.ready:
                return

    def _status(self, obj: Object, revision: str) -> Object:
        before: Object = obj.get("status") or {}
        pods = [pod for pod in self._desk.owned.pods(obj["metadata"]["uid"]) if pod.phase and not pod.leaving]
        updated = sum(pod.revision == revision for pod in pods)
        ready = sum(pod.ready for pod in pods)
        current = before.get("currentRevision") or revision
        if updated == len(pods) == obj["spec"].get("replicas", 1) == ready:
            current = revision
        return {
            "observedGeneration": obj["metadata"].get("generation", 1),
            "replicas": len(pods),
            **without_zeros(
                {
                    "readyReplicas": ready,
                    "currentReplicas": sum(pod.revision == current for pod in pods),
                    "updatedReplicas": updated,
                }
            ),
            "currentRevision": current,
            "updateRevision": revision,
            "collisionCount": 0,
            "availableReplicas": ready,
        }


def _ordinal(pod: PodFacts) -> int:
    text = pod.name.rpartition("-")[2]
    return int(text) if text.isdigit() else -1
