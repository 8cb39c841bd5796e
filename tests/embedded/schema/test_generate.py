"""The generator keeps facts, one line a type."""

from __future__ import annotations

from typing import Any

import orjson

from penstock.embedded.schema.generate import encode, resources, table

DEFINITIONS: dict[str, Any] = {
    "io.k8s.api.demo.v1.Toy": {
        "description": "Words that nobody needs here.",
        "type": "object",
        "required": ["parts"],
        "properties": {
            "metadata": {"default": {}, "allOf": [{"$ref": "#/components/schemas/io.k8s.api.demo.v1.Part"}]},
            "parts": {
                "type": "array",
                "items": {"default": {}, "allOf": [{"$ref": "#/components/schemas/io.k8s.api.demo.v1.Part"}]},
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
                "x-kubernetes-patch-merge-key": "name",
                "x-kubernetes-patch-strategy": "merge",
            },
            "labels": {"type": "object", "additionalProperties": {"type": "string", "default": ""}},
        },
        "x-kubernetes-group-version-kind": [{"group": "demo", "version": "v1", "kind": "Toy"}],
    },
    "io.k8s.api.demo.v1.Part": {
        "type": "object",
        "x-kubernetes-map-type": "atomic",
        "properties": {"name": {"type": "string", "default": ""}, "weight": {"type": "integer", "format": "int64"}},
    },
}


def test_types() -> None:
    made = table(DEFINITIONS, [])
    assert made["kinds"] == {"demo/v1 Toy": "demo.v1.Toy"}
    assert made["types"]["demo.v1.Part"] == {
        "f": {"name": ["s", "", {"default": ""}], "weight": "i8"},
        "map": "atomic",
        "z": {"name": ""},
    }
    toy = made["types"]["demo.v1.Toy"]
    assert toy["f"]["parts"] == [
        "[]",
        "@demo.v1.Part",
        {"list": "map", "keys": ["name"], "key": "name", "strategy": "merge"},
    ]
    assert toy["z"] == {"metadata": {}, "parts": None}
    assert b"Words" not in encode(made)


def test_one_line_a_type() -> None:
    text = encode(table(DEFINITIONS, []))
    assert [line for line in text.splitlines() if line.startswith(b'"demo.v1.Part"')]
    assert orjson.loads(text) == table(DEFINITIONS, [])


def test_resources() -> None:
    group = {
        "metadata": {"name": "demo"},
        "versions": [
            {
                "version": "v1",
                "resources": [
                    {
                        "resource": "toys",
                        "responseKind": {"group": "", "version": "", "kind": "Toy"},
                        "scope": "Namespaced",
                        "singularResource": "toy",
                        "verbs": ["get"],
                        "shortNames": ["ty"],
                        "subresources": [
                            {
                                "subresource": "scale",
                                "responseKind": {"group": "autoscaling", "version": "v1", "kind": "Scale"},
                                "verbs": ["get"],
                            }
                        ],
                    }
                ],
            }
        ],
    }
    assert resources([group], {("demo", "v1", "toys"): "abc="}) == [
        [
            "demo",
            "v1",
            [
                {
                    "plural": "toys",
                    "singular": "toy",
                    "kind": "Toy",
                    "namespaced": True,
                    "verbs": ["get"],
                    "short": ["ty"],
                    "subresources": [["scale", "Scale", ["get"], "autoscaling", "v1"]],
                    "hash": "abc=",
                }
            ],
        ]
    ]
