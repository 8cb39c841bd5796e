"""One stored object, several versions of it: what a client sees of an object that was written through another door.

Versions of a custom resource differ in nothing but their name, but its objects may be older than its definition: those
are read as if they had been written under the present one. Of the built-in kinds two can be written in different
forms: Events, which two groups serve, and autoscalers, whose older version knows no other metric than CPU.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from penstock.embedded.kinds.decode import decode
from penstock.embedded.server.objects import ordered

if TYPE_CHECKING:
    from penstock.embedded.server.ports import ServedResource
    from penstock.embedded.storage import Record
    from penstock.kube.resources import Object

_METADATA = b'"metadata":'
_EVENTS = "/events"
_AUTOSCALERS = "autoscaling/horizontalpodautoscalers"
_STORED = {_EVENTS: "v1", _AUTOSCALERS: "autoscaling/v2"}
_EVENT_FIELDS = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "count": "deprecatedCount",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "reportingComponent": "reportingController",
}
_OLD_EVENT_FIELDS = {new: old for old, new in _EVENT_FIELDS.items()}


def in_version(resource: ServedResource, record: Record, head: bytes) -> bytes:
    """The encoded object in the version of the resource; `head` is how such an object begins."""
    data = record.data
    if record.revision < resource.since:
        return orjson.dumps(stored_object(resource, record))
    if data.startswith(head):
        return data
    if resource.stored_in in _STORED:
        return orjson.dumps(from_stored(resource, record.object()))
    return head + data[data.index(_METADATA) :]


def stored_object(resource: ServedResource, record: Record) -> Object:
    """The stored object in the version of the resource, to be changed at will."""
    obj = from_stored(resource, record.object())
    if record.revision < resource.since and resource.rules is not None:
        resource.rules().default(obj)
    return obj


def from_stored(resource: ServedResource, obj: Object) -> Object:
    """A stored object in the version of the resource; `obj` may be changed."""
    return in_api_version(resource, obj, resource.api_version)


def to_stored(resource: ServedResource, obj: Object) -> Object:
    """An object in the version in which its kind is stored; the same one when that is its own."""
    made = in_api_version(resource, obj, _STORED.get(resource.stored_in, resource.api_version))
    return made if made is obj else ordered(made)


def in_api_version(resource: ServedResource, obj: Object, api_version: str) -> Object:
    """The object in another version of its kind, as it is read there, with defaults."""
    made = part_in_api_version(resource, obj, api_version)
    return made if made is obj or resource.stored_in not in _STORED else decode(made)


def part_in_api_version(resource: ServedResource, obj: Object, api_version: str) -> Object:
    """The same for an object that may lack fields, and gets none."""
    if obj.get("apiVersion") == api_version:
        return obj
    made = {**obj, "apiVersion": api_version}
    if resource.stored_in == _EVENTS:
        return _renamed(made, _OLD_EVENT_FIELDS if api_version == "v1" else _EVENT_FIELDS)
    if resource.stored_in == _AUTOSCALERS:
        return _newer(made) if api_version == "autoscaling/v2" else _older(made)
    return made


def _renamed(obj: Object, names: dict[str, str]) -> Object:
    return {names.get(key, key): value for key, value in obj.items()}


def _newer(obj: Object) -> Object:
    spec = _scaling(obj)
    percent = spec.pop("targetCPUUtilizationPercentage", None)
    # Where the old version says nothing, it means this; it has no defaults that would say so.
    target = {"type": "Utilization", "averageUtilization": 80 if percent is None else percent}
    spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    status: Object = dict(obj.get("status") or {})
    current = status.pop("currentCPUUtilizationPercentage", None)
    if current is not None:
        used = {"name": "cpu", "current": {"averageUtilization": current, "averageValue": "0"}}
        status["currentMetrics"] = [{"type": "Resource", "resource": used}]
    return {**obj, "metadata": _without_empty(obj), "spec": spec, "status": status}


def _scaling(obj: Object) -> Object:
    """The spec of an autoscaler that went through its Go type: some fields are always there."""
    spec: Object = {"maxReplicas": 0, **(obj.get("spec") or {})}
    return {**spec, "scaleTargetRef": {"kind": "", "name": "", **(spec.get("scaleTargetRef") or {})}}


def _without_empty(obj: Object) -> Object:
    metadata: Object = obj.get("metadata") or {}
    return {key: value for key, value in metadata.items() if value not in ({}, [], None)}


def _older(obj: Object) -> Object:
    spec = _scaling(obj)
    for metric in spec.pop("metrics", None) or ():
        if (percent := _of_cpu(metric, "target")) is not None:
            spec["targetCPUUtilizationPercentage"] = percent
    status: Object = dict(obj.get("status") or {})
    status.pop("conditions", None)
    for metric in status.pop("currentMetrics", None) or ():
        if (percent := _of_cpu(metric, "current")) is not None:
            status["currentCPUUtilizationPercentage"] = percent
    return {**obj, "metadata": _without_empty(obj), "spec": spec, "status": status}


def _of_cpu(metric: Any, part: str) -> int | None:
    resource = metric.get("resource") or {}
    if metric.get("type") != "Resource" or resource.get("name") != "cpu":
        return None
    percent: int | None = (resource.get(part) or {}).get("averageUtilization")
    return percent
