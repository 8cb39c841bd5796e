"""A custom resource with every sort of list and map, random objects of it, and its definition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.embedded.differential.making import few, some, words
from tests.embedded.differential.workloads import condition

if TYPE_CHECKING:
    from random import Random

    from penstock.kube.resources import Object


def widget(random: Random) -> Object:
    """A random custom object."""

    def item(each: Random, name: str) -> Object:
        return {"name": name, **some(each, value=(1, 2), tags=few(lambda _, tag: tag))}

    return {
        "spec": some(
            random,
            size=(1, 2),
            items=few(item),
            tags=few(lambda _, name: name),
            plain=(["a"], ["b", "a"]),
            whole=({"x": 1}, {"x": 2, "y": 1}),
            free=({"a": {"b": 1}}, {"a": {"c": 2}, "d": [1]}, {"a": {}}),
            labels=words("1", "2"),
            nested=lambda each: some(each, one=("x", "y"), two=lambda inner: some(inner, three=(1, 2))),
        )
    }


def status(random: Random) -> Object:
    """Its status."""
    return {"status": some(random, ready=(True, False), conditions=few(condition), phase=("A", "B"))}


_ITEM = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string"},
        "value": {"type": "integer"},
        "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
    },
}
_CONDITION = {
    "type": "object",
    "required": ["type"],
    "properties": {name: {"type": "string"} for name in ("type", "status", "reason", "message")},
}
WIDGET_SCHEMA: Object = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "size": {"type": "integer"},
                "items": {
                    "type": "array",
                    "items": _ITEM,
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                },
                "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
                "plain": {"type": "array", "items": {"type": "string"}},
                "whole": {
                    "type": "object",
                    "x-kubernetes-map-type": "atomic",
                    "additionalProperties": {"type": "integer"},
                },
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                "nested": {
                    "type": "object",
                    "properties": {
                        "one": {"type": "string"},
                        "two": {"type": "object", "properties": {"three": {"type": "integer"}}},
                    },
                },
            },
        },
        "status": {
            "type": "object",
            "properties": {
                "ready": {"type": "boolean"},
                "phase": {"type": "string"},
                "replicas": {"type": "integer"},
                "conditions": {
                    "type": "array",
                    "items": _CONDITION,
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["type"],
                },
            },
        },
    },
}
WIDGET_DEFINITION: Object = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.penstock.dev"},
    "spec": {
        "group": "example.penstock.dev",
        "scope": "Namespaced",
        "names": {"kind": "Widget", "plural": "widgets", "singular": "widget", "listKind": "WidgetList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": WIDGET_SCHEMA},
                "subresources": {
                    "status": {},
                    "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.replicas"},
                },
            }
        ],
    },
}
