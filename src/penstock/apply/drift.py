"""Does what is live differ from what an apply would leave behind?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.kube import Object

_NOT_COMPARED = frozenset({"metadata", "status"})


def drifted(live: Object, planned: Object) -> bool:
    """Whether labels, annotations or anything but metadata and status differ."""
    for place in ("labels", "annotations"):
        if not equal(_metadata(live).get(place), _metadata(planned).get(place)):
            return True
    return not equal(_content(live), _content(planned))


def equal(one: Any, other: Any) -> bool:
    """Deep equality of JSON values: 1 is neither 1.0 nor true, and null is as good as an empty map or list."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(equal(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(equal, one, other))
    if one is None or other is None:
        return _is_empty(one) and _is_empty(other)
    return type(one) is type(other) and bool(one == other)


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, dict | list) and not value)


def _metadata(obj: Object) -> Object:
    return obj.get("metadata") or {}


def _content(obj: Object) -> Object:
    content = {key: value for key, value in obj.items() if key not in _NOT_COMPARED}
    if obj.get("kind") == "HorizontalPodAutoscaler" and obj.get("apiVersion") == "autoscaling/v2":
        content["spec"] = _without_doubled_metrics(obj.get("spec") or {})
    return content


def _without_doubled_metrics(spec: Object) -> Object:
    """An autoscaler that was stored in an older version answers some of its metrics twice, or empty."""
    metrics: list[Any] = []
    for metric in spec.get("metrics") or ():
        if isinstance(metric, dict) and metric.get("type") and not any(equal(metric, known) for known in metrics):
            metrics.append(metric)
    return {**spec, "metrics": metrics}
