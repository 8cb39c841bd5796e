from __future__ import annotations

from typing import Any

import pytest

from penstock.embedded.definitions.nodes import Node
from penstock.embedded.definitions.shaping import shape
from penstock.embedded.kinds.decode import DecodeError
from tests.embedded.definitions.defining import ANYTHING, spec_of

TEXT = {"type": "string"}


@pytest.mark.parametrize(
    ("schema", "sent", "kept"),
    [
        pytest.param(spec_of(a=TEXT), {"a": "x", "b": "y"}, {"a": "x"}, id="unknown fields go"),
        pytest.param(spec_of(a={"type": "object"}), {"a": {"x": 1}}, {"a": {}}, id="an object without fields is empty"),
        pytest.param(spec_of(a=ANYTHING), {"a": {"x": [1]}}, {"a": {"x": [1]}}, id="unless it takes anything"),
        pytest.param(
            spec_of(a={**ANYTHING, "properties": {"k": {"type": "object", "properties": {"b": TEXT}}}}),
            {"a": {"x": 1, "k": {"b": "y", "c": "z"}}},
            {"a": {"x": 1, "k": {"b": "y"}}},
            id="what is declared inside is pruned again",
        ),
        pytest.param(
            spec_of(a={"type": "object", "additionalProperties": {"type": "object", "properties": {"b": TEXT}}}),
            {"a": {"x": {"b": "1", "c": "2"}}},
            {"a": {"x": {"b": "1"}}},
            id="maps prune their values",
        ),
        pytest.param(
            spec_of(a={"type": "array", "items": {"type": "object", "properties": {"b": TEXT}}}),
            {"a": [{"b": "1", "c": "2"}]},
            {"a": [{"b": "1"}]},
            id="lists prune their items",
        ),
        pytest.param(
            spec_of(a={**ANYTHING, "x-kubernetes-embedded-resource": True}),
            {"a": {"apiVersion": "v1", "kind": "X", "metadata": {"name": "n", "bogus": 1}, "spec": {"y": 1}}},
            {"a": {"apiVersion": "v1", "kind": "X", "metadata": {"name": "n"}, "spec": {"y": 1}}},
            id="metadata of embedded objects is metadata",
        ),
        pytest.param(spec_of(a={**TEXT, "default": "x"}), {}, {"a": "x"}, id="a default"),
        pytest.param(spec_of(a={**TEXT, "default": "x"}), {"a": None}, {"a": "x"}, id="in place of a null"),
        pytest.param(
            spec_of(a={**TEXT, "default": "x", "nullable": True}), {"a": None}, {"a": None}, id="unless null is a value"
        ),
        pytest.param(spec_of(a=TEXT), {"a": None}, {}, id="a null that is not allowed goes"),
        pytest.param(
            spec_of(a={"type": "object", "default": {}, "properties": {"b": {**TEXT, "default": "deep"}}}),
            {},
            {"a": {"b": "deep"}},
            id="a default inside of a default",
        ),
        pytest.param(
            spec_of(a={"type": "array", "items": {"type": "object", "properties": {"b": {**TEXT, "default": "d"}}}}),
            {"a": [{}, {"b": "x"}]},
            {"a": [{"b": "d"}, {"b": "x"}]},
            id="a default in a list",
        ),
        pytest.param(
            spec_of(a={"type": "object", "properties": {"b": {**TEXT, "default": "d"}}}),
            {},
            {},
            id="a default needs its parent",
        ),
    ],
)
def test_shape(schema: Any, sent: Any, kept: Any) -> None:
    obj = {"apiVersion": "test.io/v1", "kind": "Wid", "metadata": {"name": "w"}, "spec": sent, "bogus": 1}

    shape(obj, Node(schema, root=True))

    assert obj == {"apiVersion": "test.io/v1", "kind": "Wid", "metadata": {"name": "w"}, "spec": kept}


def test_defaults_are_not_shared() -> None:
    node = Node(spec_of(a={"type": "object", "default": {"b": "x"}, "properties": {"b": TEXT}}), root=True)
    first: dict[str, Any] = {"metadata": {}, "spec": {}}
    second: dict[str, Any] = {"metadata": {}, "spec": {}}
    shape(first, node)
    first["spec"]["a"]["b"] = "changed"
    shape(second, node)

    assert second["spec"]["a"] == {"b": "x"}


def test_labels_are_text() -> None:
    with pytest.raises(
        DecodeError, match=r"cannot unmarshal number into Go struct field ObjectMeta.labels of type string"
    ):
        shape({"metadata": {"labels": {"a": 1}}}, Node(ANYTHING, root=True))
