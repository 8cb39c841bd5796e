"""Whether the node of a pod can give it the resources that a resize asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.embedded.kinds.pods.totals import needed
from penstock.embedded.status import StatusCause, forbidden
from penstock.schema.quantity import Quantity, parse

if TYPE_CHECKING:
    from penstock.embedded.kinds.admission import Lookup
    from penstock.embedded.server.ports import Attempt
    from penstock.kube.resources import Object

_NOTHING = Quantity(0, "decimal")


class ResizeValidation:
    """Runs once the resize itself is sound. A pod that has no node yet can ask for anything."""

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup

    def validate(self, attempt: Attempt) -> None:
        new, old = attempt.obj, attempt.old
        if (attempt.resource.stored_in, attempt.subresource) != ("/pods", "resize") or new is None or old is None:
            return
        name = new["spec"].get("nodeName")
        if not name or new["spec"] == old["spec"]:
            return
        node = self._lookup.get("", "Node", name)
        if node is None:
            raise forbidden("pods", attempt.name, f'node "{name}" not found')
        missing = _wanted_features(new["spec"], old["spec"]) - {*node["status"].get("declaredFeatures", ())}
        if missing:
            listed = ", ".join(sorted(missing))
            why = f'pod update requires features {listed} which are not available on node "{name}"'
            raise forbidden("pods", attempt.name, why)
        self._check_node(attempt.name, new["spec"], node)

    def _check_node(self, pod: str, spec: Object, node: Object) -> None:
        system = node["metadata"].get("labels", {}).get("kubernetes.io/os", "linux")
        if system != "linux":
            name = node["metadata"]["name"]
            why = f'pod resize is only supported on linux nodes, node "{name}" is "{system}"'
            raise forbidden("pods", pod, why, causes=(StatusCause("UnsupportedPlatform", ""),))
        if short := _short(spec, node["status"].get("allocatable", {})):
            why = f"node didn't have enough allocatable resources: {'; '.join(short)}"
            raise forbidden("pods", pod, why, causes=(StatusCause("NodeCapacity", ""),))


def _wanted_features(spec: Object, before: Object) -> set[str]:
    """What a kubelet must be able to do for this change, and has to declare."""
    wanted: set[str] = set()
    if spec.get("resources") != before.get("resources"):
        wanted.add("InPlacePodLevelResourcesVerticalScaling")
    pairs = zip(spec.get("initContainers", ()), before.get("initContainers", ()), strict=True)
    if any(one["resources"] != other["resources"] and one.get("restartPolicy") != "Always" for one, other in pairs):
        wanted.add("InPlacePodVerticalScalingInitContainers")
    return wanted


def _short(spec: Object, allocatable: dict[str, str]) -> list[str]:
    asked = needed(spec)
    cpu, memory = asked.get("cpu", _NOTHING), asked.get("memory", _NOTHING)
    has_cpu, has_memory = parse(allocatable.get("cpu", "0")), parse(allocatable.get("memory", "0"))
    short: list[str] = []
    if cpu.nano > has_cpu.nano:
        short.append(f"cpu, requested: {cpu.milli}, allocatable: {has_cpu.milli}")
    if memory.nano > has_memory.nano:
        short.append(f"memory, requested: {memory.value}, allocatable: {has_memory.value}")
    return short
