"""A custom resource with two versions and defaults: what a Widget has, and more."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from tests.embedded.differential.making import few, some
from tests.embedded.differential.widgets import WIDGET_SCHEMA, widget

if TYPE_CHECKING:
    from random import Random

    from penstock.kube.resources import Object


def gadget(random: Random) -> Object:
    """A random custom object."""

    def endpoint(each: Random, name: str) -> Object:
        return {"port": {"a": 80, "b": 443, "c": 53}[name], **some(each, protocol=("TCP", "UDP"), weight=(1, 2))}

    more = some(
        random,
        mode=("auto", "manual"),
        limits=lambda each: some(each, cpu=("1", "2"), memory=("1Gi", "2Gi")),
        endpoints=few(endpoint),
        target=(80, "web", "50%"),
        maybe=("x", None),
    )
    return {"spec": {**widget(random)["spec"], **more}}


_ENDPOINT = {
    "type": "object",
    "required": ["port"],
    "properties": {
        "port": {"type": "integer", "format": "int32", "minimum": 1, "maximum": 65535},
        "protocol": {"type": "string", "default": "TCP"},
        "weight": {"type": "integer"},
    },
}
_MORE: Object = {
    "mode": {"type": "string", "default": "auto", "enum": ["auto", "manual"]},
    "limits": {
        "type": "object",
        "default": {},
        "properties": {"cpu": {"type": "string", "default": "1"}, "memory": {"type": "string"}},
    },
    "endpoints": {
        "type": "array",
        "items": _ENDPOINT,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["port", "protocol"],
    },
    "target": {"x-kubernetes-int-or-string": True},
    "maybe": {"type": "string", "nullable": True},
}


def _version(name: str, *, storage: bool) -> Object:
    schema = copy.deepcopy(WIDGET_SCHEMA)
    schema["properties"]["spec"]["properties"] |= _MORE
    return {
        "name": name,
        "served": True,
        "storage": storage,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {
            "status": {},
            "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.replicas"},
        },
    }


GADGET_DEFINITION: Object = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "gadgets.example.penstock.dev"},
    "spec": {
        "group": "example.penstock.dev",
        "scope": "Namespaced",
        "names": {"kind": "Gadget", "plural": "gadgets", "singular": "gadget", "listKind": "GadgetList"},
        "versions": [_version("v1", storage=True), _version("v2", storage=False)],
    },
}
