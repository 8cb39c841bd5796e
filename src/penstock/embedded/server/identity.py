"""Which kind an object says it is after a patch, and what the server makes of that.

The real server reads the outcome of a JSON or merge patch anew, by the kind and version it names. A kind that is
missing is filled in. A version that is missing means the server's internal types, which have no JSON names: nothing
of the object is read then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.embedded.kinds.decode import DecodeError, decode
from penstock.embedded.server.bodies import json_type
from penstock.embedded.server.objects import internal_package
from penstock.schema.gotypes import type_of

if TYPE_CHECKING:
    from penstock.embedded.server.ports import ServedResource
    from penstock.kube.resources import Object

_INTERNAL = ("", "__internal")


def is_internal(made: Object) -> bool:
    """Whether the object names no version that is served."""
    return (made.get("apiVersion") or "") in _INTERNAL


def mistake(made: Object, resource: ServedResource) -> str:
    """Why an object that came out of a patch cannot be one of the resource; empty when it can."""
    for name in ("kind", "apiVersion"):
        told = made.get(name)
        if told is not None and not isinstance(told, str):
            words = f"json: cannot unmarshal {json_type(told)} into Go struct field .{name} of type string"
            return f"couldn't get version/kind; json parse error: {words}"
    kind, api_version = made.get("kind") or resource.kind, made.get("apiVersion") or ""
    if api_version.count("/") > 1:
        return f"unexpected GroupVersion string: {api_version}"
    if kind == resource.kind and api_version in (resource.api_version, *_INTERNAL):
        return ""
    if api_version in _INTERNAL or not _registered(api_version, kind):
        told = f"{resource.group}/__internal" if api_version in _INTERNAL else api_version
        return f'no kind "{kind}" is registered for version "{told}" in scheme "pkg/runtime/scheme.go:111"'
    try:
        decode({**made, "kind": kind})
    except DecodeError as error:
        return str(error)
    version = api_version.rpartition("/")[2]
    package = internal_package(resource.group)
    return f"converting ({version}.{kind}) to ({package}.{resource.kind}): unknown conversion"


def _registered(api_version: str, kind: str) -> bool:
    return type_of(api_version, kind) is not None or type_of(api_version, kind.removesuffix("List")) is not None
