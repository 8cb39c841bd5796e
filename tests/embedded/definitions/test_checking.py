from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from penstock.embedded.definitions.checking import check, go_float
from penstock.embedded.definitions.identity import check_embedded, check_lists
from penstock.embedded.definitions.nodes import Node
from tests.embedded.definitions.defining import spec_of

if TYPE_CHECKING:
    from penstock.embedded.kinds.problems import Problems

TEXT: dict[str, Any] = {"type": "string"}
WHOLE: dict[str, Any] = {"type": "integer"}
REQUIRED = "Required value"


def problems(schema: Any, value: Any, old: Any = None) -> list[tuple[str, str, str]]:
    node = Node(spec_of(a=schema), root=True)
    found: Problems = []
    obj = {"spec": {"a": value}}
    if old is None:
        check(found, obj, node, "")
    else:
        check(found, obj, node, "", {"spec": {"a": old}})
    check_embedded(found, obj, node)
    check_lists(found, obj, node)
    return [(each.reason.removeprefix("FieldValue"), each.field, each.message) for each in found]


def wrong(message: str, field: str = "spec.a", reason: str = "Invalid") -> list[tuple[str, str, str]]:
    return [(reason, field, message)]


def mistyped(found: str, wanted: str, field: str = "spec.a") -> list[tuple[str, str, str]]:
    return wrong(f'Invalid value: "{found}": {field} in body must be of type {wanted}: "{found}"', field, "TypeInvalid")


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        pytest.param(TEXT, 5, mistyped("integer", "string"), id="a number for text"),
        pytest.param(WHOLE, "5", mistyped("string", "integer"), id="text for a number"),
        pytest.param(WHOLE, 2.0, [], id="2.0 is whole"),
        pytest.param(
            WHOLE,
            2.5,
            [
                *mistyped("number", "integer"),
                *wrong('Invalid value: "": Checked value must be of type integer (default format) in spec.a', "<nil>"),
            ],
            id="2.5 is not",
        ),
        pytest.param({"type": "number"}, 1, [], id="whole numbers are numbers"),
        pytest.param({"type": "boolean"}, "x", mistyped("string", "boolean"), id="text for a boolean"),
        pytest.param({"type": "array", "items": TEXT}, "x", mistyped("string", "array"), id="text for a list"),
        pytest.param({"type": "object"}, [], mistyped("array", "object"), id="a list for an object"),
        pytest.param({"x-kubernetes-int-or-string": True}, 1, [], id="int or string: int"),
        pytest.param({"x-kubernetes-int-or-string": True}, "1", [], id="int or string: string"),
        pytest.param(
            {"x-kubernetes-int-or-string": True},
            True,
            mistyped("boolean", "integer,string"),
            id="int or string: neither",
        ),
        pytest.param({"type": "array", "items": TEXT}, [None], mistyped("null", "string", "spec.a[0]"), id="null"),
        pytest.param({**TEXT, "nullable": True}, None, [], id="null where it is allowed"),
        pytest.param(
            {**TEXT, "minLength": 2},
            "a",
            wrong('Invalid value: "a": spec.a in body should be at least 2 chars long'),
            id="too short",
        ),
        pytest.param(
            {**TEXT, "maxLength": 2},
            "abc",
            wrong("Too long: may not be more than 2 bytes", reason="TooLong"),
            id="too long",
        ),
        pytest.param(
            {**TEXT, "pattern": "^a+$"},
            "b",
            wrong("Invalid value: \"b\": spec.a in body should match '^a+$'"),
            id="a pattern",
        ),
        pytest.param({**TEXT, "pattern": "a"}, "xay", [], id="a pattern matches anywhere"),
        pytest.param(
            {**TEXT, "enum": ["x", "y"]},
            "z",
            wrong('Unsupported value: "z": supported values: "x", "y"', reason="NotSupported"),
            id="an enum",
        ),
        pytest.param(
            {**WHOLE, "minimum": 1},
            0,
            wrong("Invalid value: 0: spec.a in body should be greater than or equal to 1"),
            id="a minimum",
        ),
        pytest.param(
            {**WHOLE, "maximum": 5, "exclusiveMaximum": True},
            5,
            wrong("Invalid value: 5: spec.a in body should be less than 5"),
            id="an exclusive maximum",
        ),
        pytest.param(
            {**WHOLE, "multipleOf": 2},
            3,
            wrong("Invalid value: 3: spec.a in body should be a multiple of 2"),
            id="a multiple",
        ),
        pytest.param(
            {**WHOLE, "format": "int32"},
            3_000_000_000,
            wrong('Invalid value: "": Checked value must be of type integer with format int32 in spec.a', "<nil>"),
            id="more than fits",
        ),
        pytest.param(
            {"type": "array", "items": TEXT, "minItems": 1},
            [],
            wrong("Invalid value: 0: spec.a in body should have at least 1 items"),
            id="too few items",
        ),
        pytest.param(
            {"type": "array", "items": TEXT, "maxItems": 1},
            ["a", "b"],
            wrong("Too many: 2: must have at most 1 item", reason="TooMany"),
            id="too many items",
        ),
        pytest.param(
            {"type": "object", "additionalProperties": WHOLE, "minProperties": 1},
            {},
            wrong("Invalid value: 0: spec.a in body should have at least 1 properties"),
            id="too few keys",
        ),
        pytest.param(
            {"type": "object", "additionalProperties": WHOLE},
            {"k": "x"},
            mistyped("string", "integer", "spec.a.k"),
            id="a value of a map",
        ),
        pytest.param(
            {"type": "object", "required": ["b"], "properties": {"b": TEXT}},
            {},
            wrong(REQUIRED, "spec.a.b", "Required"),
            id="a required field",
        ),
        pytest.param(
            {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"},
            ["x", "x"],
            wrong('Duplicate value: "x"', "spec.a[1]", "Duplicate"),
            id="a set has no twins",
        ),
        pytest.param(
            {
                "type": "array",
                "items": {"type": "object", "properties": {"k": WHOLE, "p": TEXT}},
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["p", "k"],
            },
            [{"k": 1, "p": "T"}, {"k": 1, "p": "U"}, {"k": 1, "p": "T"}],
            wrong('Duplicate value: {"k":1,"p":"T"}', "spec.a[2]", "Duplicate"),
            id="a list-map has no twins",
        ),
        pytest.param(
            {"type": "object", "oneOf": [{"required": ["b"]}, {"required": ["c"]}]},
            {},
            [
                *wrong(
                    'Invalid value: "": "spec.a" must validate one and only one schema (oneOf). Found none valid',
                    "<nil>",
                ),
                *wrong(REQUIRED, "spec.a.b", "Required"),
            ],
            id="one of",
        ),
        pytest.param(
            {**TEXT, "not": {"enum": ["bad"]}},
            "bad",
            wrong('Invalid value: "": "spec.a" must not validate the schema (not)', "<nil>"),
            id="not",
        ),
        pytest.param(
            {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
            {},
            [*wrong(REQUIRED, "spec.a.apiVersion", "Required"), *wrong(REQUIRED, "spec.a.kind", "Required")],
            id="an embedded object says what it is",
        ),
    ],
)
def test_problems(schema: Any, value: Any, expected: Any) -> None:
    assert problems(schema, value) == expected


@pytest.mark.parametrize(
    ("form", "good", "bad"),
    [
        ("date-time", "2026-01-01T00:00:00Z", "yesterday"),
        ("date", "2026-01-31", "2026-02-31"),
        ("duration", "1h30m", "soon"),
        ("email", "a@b.c", "a"),
        ("byte", "aGk=", "%%"),
        ("uuid", "38c08a02-e1a1-4db8-9f72-b58b98baef1d", "x"),
        ("uri", "https://x.y/z", "x y"),
        ("ipv4", "1.2.3.4", "1.2"),
        ("ipv6", "::1", "1.2.3.4"),
        ("cidr", "10.0.0.0/8", "10.0.0.0"),
        ("hostname", "a.b", "-"),
        ("mac", "00:00:5e:00:53:01", "00:00"),
    ],
)
def test_formats(form: str, good: str, bad: str) -> None:
    schema = {**TEXT, "format": form}

    assert problems(schema, good) == []
    assert problems(schema, bad) == [
        ("TypeInvalid", "spec.a", f'Invalid value: "{bad}": spec.a in body must be of type {form}: "{bad}"')
    ]


def test_an_unknown_format_is_not_checked() -> None:
    assert problems({**TEXT, "format": "poem"}, "x") == []


def test_what_was_wrong_before_may_stay() -> None:
    schema = {
        "type": "object",
        "properties": {"b": {**TEXT, "maxLength": 1}, "c": {**TEXT, "maxLength": 1}},
        "additionalProperties": False,
    }

    assert problems(schema, {"b": "long", "c": "x"}, old={"b": "long", "c": "y"}) == []
    assert [field for _, field, _ in problems(schema, {"b": "long", "c": "long"}, old={"b": "long"})] == ["spec.a.c"]


@pytest.mark.parametrize(
    ("number", "text"),
    [(2, "2"), (0.5, "0.5"), (1_000_000, "1e+06"), (2**31 - 1, "2.147483647e+09"), (100_000, "100000")],
)
def test_numbers_look_as_go_prints_them(number: float, text: str) -> None:
    assert go_float(number) == text
