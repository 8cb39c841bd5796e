"""Schemas of custom resources become the same model as built-in ones."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.embedded.schema import DEDUCED, structural_schema


def spec(**fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}


def test_every_object_has_metadata() -> None:
    found = structural_schema(spec())
    assert found.fields["metadata"].name == "ObjectMeta"
    assert found.element is None


def test_without_a_schema_anything_goes() -> None:
    found = structural_schema(None)
    assert found.element is DEDUCED
    assert found.fields["metadata"].name == "ObjectMeta"


@pytest.mark.parametrize(
    ("openapi", "kind", "facts"),
    [
        pytest.param({"type": "string"}, "scalar", {"scalar": "string"}, id="string"),
        pytest.param({"type": "string", "format": "date-time"}, "scalar", {"scalar": "date-time"}, id="time"),
        pytest.param({"type": "string", "format": "ipv4"}, "scalar", {"scalar": "untyped"}, id="another format"),
        pytest.param({"x-kubernetes-int-or-string": True}, "scalar", {"scalar": "int-or-string"}, id="int or string"),
        pytest.param({"type": "object"}, "map", {"element": DEDUCED}, id="an object without fields is free"),
        pytest.param(
            {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {"type": "string"}},
            "map",
            {"atomic": True},
            id="atomic map",
        ),
        pytest.param(
            {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"a": {"type": "string"}}},
            "struct",
            {"element": DEDUCED},
            id="unknown fields are kept",
        ),
        pytest.param({"type": "array", "items": {"type": "string"}}, "list", {"list_type": "atomic"}, id="atomic list"),
        pytest.param(
            {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            "list",
            {"list_type": "set", "map_keys": ()},
            id="set",
        ),
        pytest.param({}, "any", {"atomic": False}, id="no type at all"),
    ],
)
def test_types(openapi: dict[str, Any], kind: str, facts: dict[str, Any]) -> None:
    found = structural_schema(spec(field=openapi)).fields["spec"].fields["field"]
    assert found.kind == kind
    assert {name: getattr(found, name) for name in facts} == facts


def test_keys_of_a_map_list_have_defaults() -> None:
    ports = {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["port", "protocol"],
        "items": {
            "type": "object",
            "properties": {"port": {"type": "integer"}, "protocol": {"type": "string", "default": "TCP"}},
        },
    }
    found = structural_schema(spec(ports=ports)).fields["spec"].fields["ports"]
    assert found.map_keys == ("port", "protocol")
    assert found.key_defaults == {"protocol": "TCP"}


def test_what_keeps_unknown_fields_keeps_them_below_too() -> None:
    inner = {"type": "object", "properties": {"a": {"type": "object", "properties": {"b": {"type": "string"}}}}}
    found = structural_schema(spec(free={**inner, "x-kubernetes-preserve-unknown-fields": True})).fields["spec"]
    assert found.element is None
    assert found.fields["free"].fields["a"].element is DEDUCED


def test_an_embedded_object_has_metadata() -> None:
    embedded = {"type": "object", "x-kubernetes-embedded-resource": True, "properties": {"spec": {"type": "string"}}}
    found = structural_schema(spec(template=embedded)).fields["spec"].fields["template"]
    assert sorted(found.fields) == ["apiVersion", "kind", "metadata", "spec"]
