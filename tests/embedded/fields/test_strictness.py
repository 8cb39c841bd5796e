"""Fields that a type does not have, and fields that a body has twice."""

from __future__ import annotations

import orjson
import pytest

from penstock.embedded.fields import apply_problems, object_problems, patch_problems, restore_problem, unknown_fields
from tests.embedded.fields.objects import WIDGET, config, deployment, schema_of, widget

CONFIG = schema_of(config())
DEPLOYMENT = schema_of(deployment())


def test_nothing_to_say() -> None:
    body = orjson.dumps(deployment({"name": "web", "image": "web:1"}))
    assert not object_problems(orjson.loads(body), DEPLOYMENT, body=body)
    assert not object_problems(orjson.loads(body), DEPLOYMENT, body=body.replace(b",", b", "))


def test_unknown_fields_in_the_order_of_the_object() -> None:
    obj = deployment({"name": "web", "bar": {"x": 1}, "ports": [{"containerPort": 80, "zip": 1}]}, foo=1)
    assert unknown_fields({**obj, "zap": 1}, DEPLOYMENT) == [
        'unknown field "spec.template.spec.containers[0].bar"',
        'unknown field "spec.template.spec.containers[0].ports[0].zip"',
        'unknown field "spec.foo"',
        'unknown field "zap"',
    ]


def test_unknown_and_repeated_fields_of_a_json_body() -> None:
    body = b'{"kind":"ConfigMap","metadata":{"bad":1,"labels":{"a":"1","a":"2"}},"data":{},"data":{},"x":{"y":1,"y":2}}'
    problems = object_problems(orjson.loads(body), CONFIG, body=body)
    assert problems.sentence == (
        'strict decoding error: unknown field "metadata.bad", duplicate field "metadata.labels.a",'
        ' duplicate field "data", unknown field "x"'
    )
    assert len(problems.warnings) == 4


def test_a_yaml_body() -> None:
    body = b"kind: ConfigMap\nmetadata:\n  name: a\n  name: b\nfoo: bar\ndata:\n  - {a: 1, a: 2}\n"
    problems = object_problems({"kind": "ConfigMap", "foo": "bar"}, CONFIG, body=body, yaml=True)
    lines = ['line 4: key "name" already set in map', 'line 7: key "a" already set in map']
    assert problems.warnings == [*lines, 'unknown field "foo"']
    assert problems.sentence == (
        f'strict decoding error: yaml: unmarshal errors:\n  {lines[0]}\n  {lines[1]}, unknown field "foo"'
    )


def test_a_custom_resource_has_its_unknown_fields_sorted() -> None:
    body = orjson.dumps({**widget(zoo=1, bar=1, free={"any": 1}), "top": 1}).replace(b'"zoo":1', b'"zoo":1,"zoo":2')
    problems = object_problems(orjson.loads(body), WIDGET, body=body, custom=True)
    assert problems.warnings == [
        'duplicate field "spec.zoo"',
        'unknown field "spec.bar"',
        'unknown field "spec.zoo"',
        'unknown field "top"',
    ]


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        pytest.param(b'{"data":{"a":"1"}}', "", id="nothing"),
        pytest.param(
            b'{"data":{"a":"1","a":"2"}}', 'yaml: unmarshal errors:\n  line 1: key "a" already set in map', id="JSON"
        ),
        pytest.param(
            b'data:\n  a: "1"\n  a: "2"\n', 'yaml: unmarshal errors:\n  line 3: key "a" already set in map', id="YAML"
        ),
        pytest.param(b"data:\n  a: [x, {b: 1}]\n  b: 2\n", "", id="the same key in two maps"),
    ],
)
def test_apply_looks_for_repeated_keys_only(body: bytes, sentence: str) -> None:
    problems = apply_problems({"data": {"a": "2"}}, body=body)
    assert bool(problems) == bool(sentence)
    prefix = "error strict decoding YAML: error converting YAML to JSON: "
    assert problems.apply_sentence == prefix + sentence


def test_patches() -> None:
    made = {"metadata": {"zz": 1}, "foo": 1, "data": {"b": "2"}}
    merged = patch_problems(made, CONFIG, body=b'{"data":{"b":"1","b":"2"},"foo":1,"metadata":{"zz":1}}')
    assert merged.warnings == ['duplicate field "data.b"', 'unknown field "foo"', 'unknown field "metadata.zz"']
    body = b'[{"op":"add","op":"add","path":"/foo","value":1,"zip":1}]'
    operations = patch_problems({"foo": 1}, CONFIG, body=body, operations=True)
    assert operations.warnings == [
        'json patch duplicate field "[0].op"',
        'json patch unknown field "[0].zip"',
        'unknown field "foo"',
    ]


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        pytest.param({"replicas": 1, "minReadySeconds": 2.0}, None, id="all is well"),
        pytest.param({"replicas": "x"}, "unrecognized type: int32", id="a string for a number"),
        pytest.param({"replicas": 1.5}, "cannot convert float64 to int32", id="half a replica"),
        pytest.param(
            {"selector": {"matchLabels": {"a": 1}}}, "cannot convert int64 to string", id="a number for a string"
        ),
        pytest.param({"template": []}, "cannot restore struct from: slice", id="a list for a struct"),
        pytest.param(
            {"template": {"spec": {"containers": {}}}}, "cannot restore slice from map", id="a map for a list"
        ),
        pytest.param({"selector": {"matchLabels": "x"}}, "cannot restore map from string", id="a string for a map"),
    ],
)
def test_what_does_not_fit_after_a_strategic_patch(spec: dict[str, object], complaint: str | None) -> None:
    assert restore_problem({"spec": spec}, DEPLOYMENT) == complaint
