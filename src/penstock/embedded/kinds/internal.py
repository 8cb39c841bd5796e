"""Values as the API server's internal types print them, for the few messages that quote a whole struct.

The internal types have no JSON names, so a message shows Go's field names, and every field, empty or not.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.kube.resources import Object

_POD_WIDE = {
    "HostNetwork": "hostNetwork",
    "HostPID": "hostPID",
    "HostIPC": "hostIPC",
    "ShareProcessNamespace": "shareProcessNamespace",
    "HostUsers": "hostUsers",
}
"""Fields that internally belong to a pod's security context, and in v1 to the pod's spec."""


_TEXT = resources.files("penstock.embedded.kinds").joinpath("table/internals.txt").read_text()


@lru_cache(1)
def _table() -> dict[str, str]:
    table: dict[str, str] = {}
    for line in _TEXT.splitlines():
        name, _, fields = line.partition(" ")
        table[name] = fields
    return table


@lru_cache(None)
def _fields(type_name: str) -> tuple[tuple[str, str, str, str], ...]:
    """Name, flag, type and served name of each field."""
    parsed: list[tuple[str, str, str, str]] = []
    for part in _table()[type_name].split(" "):
        left, _, right = part.partition("=")
        type_, _, served = right.rpartition(":")
        flag = left[-1] if left[-1] in "?!" else ""
        parsed.append((left.rstrip("?!"), flag, type_, served))
    return tuple(parsed)


def internal_form(type_name: str, value: Object) -> Object:
    """A value of a served type, such as v1.SecurityContext, as its internal type marshals to JSON."""
    if type_name == "core.PodTemplateSpec":
        metadata = internal_form("apis/meta/v1.ObjectMeta", value["metadata"])
        return {**metadata, "Spec": internal_form("core.PodSpec", value["spec"])}
    result: Object = {}
    for name, flag, type_, served in _fields(type_name):
        inner = _convert(type_, value.get(served)) if served else None
        if inner is None and not served:
            inner = _convert(type_, None)
        if flag and (inner is None or inner in ("", 0, False) or inner == [] or inner == {}) and type_[0] != "@":
            continue
        result[name] = inner
    if type_name == "core.PodSpec":
        _move_host_fields(result, value)
    return result


def _convert(type_: str, value: Any) -> Any:
    if type_[0] == "*":
        return None if value is None else _convert(type_[1:], value)
    if type_[0] == "@":
        return internal_form(type_[1:], value or {})
    if value is None:
        return _zero(type_)
    if type_[0] == "[":
        return [_convert(type_.partition("]")[2], item) for item in value]
    if type_[0] == "{":
        element = type_.partition("}")[2]
        return {key: _convert(element, value[key]) for key in sorted(value)}
    return value


def _zero(type_: str) -> Any:
    kind = type_.partition(":")[0]
    zeros: dict[str, Any] = {"string": "", "bool": False, "int32": 0, "int64": 0, "float64": 0, "quantity": "0"}
    zeros["intstr"] = 0
    return zeros.get(kind)


def _move_host_fields(result: Object, spec: Object) -> None:
    context = result.get("SecurityContext")
    if context is None:
        return
    for name, served in _POD_WIDE.items():
        if name in context:
            pointer = name in ("ShareProcessNamespace", "HostUsers")
            context[name] = spec.get(served, None if pointer else False)
