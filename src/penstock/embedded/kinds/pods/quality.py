"""The quality-of-service class of a pod."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.schema.quantity import parse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.kube.resources import Object

_COMPUTE = ("cpu", "memory")


def quality_of_service(spec: Object) -> str:
    """Guaranteed, Burstable or BestEffort, by the resources of the pod, or by those of all containers together."""
    if "resources" in spec:
        own = spec["resources"]
        requests, limits = _total([own.get("requests", {})]), _total([own.get("limits", {})])
        limited = not own.get("limits") or len(limits) == len(_COMPUTE)
    else:
        containers = [one["resources"] for one in (*(spec.get("containers") or ()), *spec.get("initContainers", ()))]
        requests = _total(one.get("requests", {}) for one in containers)
        limits = _total(one.get("limits", {}) for one in containers)
        limited = all(len(_total([one.get("limits", {})])) == len(_COMPUTE) for one in containers)
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if limited and requests == limits else "Burstable"


def _total(lists: Iterable[dict[str, str]]) -> dict[str, int]:
    """CPU and memory, in nano units, where there is any."""
    found: dict[str, int] = {}
    for each in lists:
        for name in _COMPUTE:
            if (amount := parse(each.get(name, "0")).nano) > 0:
                found[name] = found.get(name, 0) + amount
    return found
