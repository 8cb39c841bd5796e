"""The scale subresource: any kind with replicas seen as one and the same small object."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from penstock.embedded.kinds.problems import Problems, non_negative
from penstock.embedded.kinds.rules import Rules
from penstock.labels import written

if TYPE_CHECKING:
    from penstock.kube.resources import Object

_SHARED = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


class ScaledRules(Rules):
    """Rules of a kind whose replicas are `spec.replicas`."""

    scalable: ClassVar[bool] = True

    def to_scale(self, obj: Object) -> Object:
        replicas = obj["spec"].get("replicas", 0)
        status: Object = {"replicas": obj.get("status", {}).get("replicas", 0)}
        if text := self.selector_text(obj):
            status["selector"] = text
        return {
            "kind": "Scale",
            "apiVersion": "autoscaling/v1",
            "metadata": {field: obj["metadata"][field] for field in _SHARED if field in obj["metadata"]},
            "spec": {"replicas": replicas} if replicas else {},
            "status": status,
        }

    def from_scale(self, obj: Object, scale: Object) -> Object:
        """The same object with other replicas; a resourceVersion in the scale is carried over."""
        metadata = dict(obj["metadata"])
        if version := scale.get("metadata", {}).get("resourceVersion"):
            metadata["resourceVersion"] = version
        replicas = (scale.get("spec") or {}).get("replicas", 0)
        return {**obj, "metadata": metadata, "spec": {**obj["spec"], "replicas": replicas}}

    def validate_scale(self, scale: Object) -> Problems:
        """What is wrong with a scale that someone sends."""
        problems: Problems = []
        non_negative(problems, (scale.get("spec") or {}).get("replicas", 0), "spec.replicas")
        return problems

    def selector_text(self, obj: Object) -> str:
        """The selector of the pods, as a query string has it."""
        return written(obj["spec"].get("selector") or {})
