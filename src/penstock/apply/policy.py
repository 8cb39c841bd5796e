"""What the metadata of objects says about how to treat them, and who owns them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.kube import Object

KUSTOMIZE = "kustomize.toolkit.fluxcd.io"


@dataclass(frozen=True, slots=True)
class Owner:
    """The object on whose behalf is applied: its name, its namespace, and the group under which labels stand."""

    name: str
    namespace: str
    group: str = KUSTOMIZE

    def labels(self) -> dict[str, str]:
        """The labels that say: this is mine."""
        return {f"{self.group}/name": self.name, f"{self.group}/namespace": self.namespace}

    def owns(self, obj: Object) -> bool:
        """Whether the labels of an object say that it is ours; both have to."""
        labels = _texts(obj, "labels")
        return all(labels.get(key) == value for key, value in self.labels().items())

    def rival(self, obj: Object) -> str:
        """Another owner that the labels name, as `namespace/name`; empty when there is none."""
        labels = _texts(obj, "labels")
        name, namespace = labels.get(f"{self.group}/name"), labels.get(f"{self.group}/namespace")
        return f"{namespace}/{name}" if name and namespace and not self.owns(obj) else ""

    def skips(self, desired: Object, live: Object | None) -> bool:
        """Whether the object is to be left alone, whatever it looks like."""
        if self._left_alone(desired) or (live is not None and self._left_alone(live)):
            return True
        return live is not None and self.only_creates(desired)

    def left_alone(self, desired: Object) -> bool:
        """Whether the desired object alone says that nothing is to be done."""
        return self._left_alone(desired)

    def only_creates(self, desired: Object) -> bool:
        return self._says(desired, "ssa", "IfNotPresent")

    def merges(self, desired: Object, live: Object) -> bool:
        """Whether fields that others added are to stay."""
        return self._says(desired, "ssa", "Merge") or self._says(live, "ssa", "Merge")

    def recreates(self, desired: Object, live: Object) -> bool:
        return self._says(desired, "force", "enabled") or self._says(live, "force", "enabled")

    def keeps(self, live: Object) -> bool:
        """Whether the object must not be pruned."""
        return self._says(live, "prune", "disabled") or self._left_alone(live)

    def _left_alone(self, obj: Object) -> bool:
        return self._says(obj, "reconcile", "disabled") or self._says(obj, "ssa", "Ignore")

    def _says(self, obj: Object, key: str, value: str) -> bool:
        full = f"{self.group}/{key}"
        wanted = value.lower()
        return any(
            isinstance(found := _texts(obj, place).get(full), str) and found.lower() == wanted
            for place in ("labels", "annotations")
        )


def _texts(obj: Object, place: str) -> Mapping[str, Any]:
    found = (obj.get("metadata") or {}).get(place)
    return found if isinstance(found, dict) else {}
