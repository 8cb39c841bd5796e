"""Who controls what: the pods and ReplicaSets of every controller, kept as few facts each."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.kube.resources import Object

_ENDED = ("Succeeded", "Failed")
HASHES = ("controller-revision-hash", "pod-template-hash")


class PodFacts(NamedTuple):
    """What a controller wants to know of a pod."""

    namespace: str
    name: str
    phase: str
    ready: bool
    leaving: bool
    revision: str
    created: str

    @property
    def active(self) -> bool:
        return not self.leaving and self.phase not in _ENDED


class Owned:
    """Facts about objects by the uid of their controller."""

    def __init__(self) -> None:
        self._pods: dict[str, dict[str, PodFacts]] = {}
        self._sets: dict[str, set[str]] = {}
        self._controllers: dict[tuple[str, str, str], Object] = {}

    def put(self, kind: str, obj: Object) -> Object | None:
        """Take note of an object; its controller's reference, if it has one."""
        metadata = obj["metadata"]
        key = (kind, metadata.get("namespace", ""), metadata["name"])
        reference = controller_of(obj)
        before = self._controllers.get(key)
        if before is not None and (reference is None or before["uid"] != reference["uid"]):
            self.drop(*key)
        if reference is None:
            return before
        self._controllers[key] = reference
        if kind == "Pod":
            self._pods.setdefault(reference["uid"], {})[metadata["name"]] = _facts(obj)
        else:
            self._sets.setdefault(reference["uid"], set()).add(metadata["name"])
        return reference

    def drop(self, kind: str, namespace: str, name: str) -> Object | None:
        """Forget an object; the reference of the controller that it had."""
        reference = self._controllers.pop((kind, namespace, name), None)
        if reference is None:
            return None
        uid = reference["uid"]
        if kind == "Pod":
            pods = self._pods.get(uid, {})
            pods.pop(name, None)
            if not pods:
                self._pods.pop(uid, None)
        else:
            sets = self._sets.get(uid, set())
            sets.discard(name)
            if not sets:
                self._sets.pop(uid, None)
        return reference

    def pods(self, uid: str) -> list[PodFacts]:
        """The pods of a controller, oldest first."""
        return sorted(self._pods.get(uid, {}).values(), key=lambda pod: (pod.created, pod.name))

    def sets(self, uid: str) -> Iterable[str]:
        """The names of a Deployment's ReplicaSets."""
        return sorted(self._sets.get(uid, ()))


def controller_of(obj: Object) -> Object | None:
    references = obj["metadata"].get("ownerReferences") or ()
    return next((each for each in references if each.get("controller")), None)


def _facts(pod: Object) -> PodFacts:
    metadata, status = pod["metadata"], pod.get("status") or {}
    labels = metadata.get("labels") or {}
    return PodFacts(
        namespace=metadata["namespace"],
        name=metadata["name"],
        phase=status.get("phase", ""),
        ready=any(each["type"] == "Ready" and each["status"] == "True" for each in status.get("conditions") or ()),
        leaving="deletionTimestamp" in metadata,
        revision=next((labels[label] for label in HASHES if label in labels), ""),
        created=metadata.get("creationTimestamp", ""),
    )
