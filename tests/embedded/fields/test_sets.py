"""Sets of fields in the form of fieldsV1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.embedded.fields.sets import (
    contains_all,
    difference,
    element_text,
    has,
    intersection,
    of_paths,
    ordered,
    path_text,
    paths,
    quoted,
    recursive_difference,
    union,
)

if TYPE_CHECKING:
    from penstock.embedded.fields.sets import FieldSet, Path


def made(text: str) -> FieldSet:
    """`a a.b` is the set of the field a and of b in it."""
    return of_paths(*(tuple(f"f:{name}" for name in path.split(".")) for path in text.split()))


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        pytest.param("a", "b", "a b", id="two fields"),
        pytest.param("a", "a.b", "a a.b", id="a field and one in it"),
        pytest.param("a a.b", "a.c", "a a.b a.c", id="siblings"),
        pytest.param("", "a.b", "a.b", id="nothing and something"),
    ],
)
def test_union(left: str, right: str, expected: str) -> None:
    assert union(made(left), made(right)) == made(expected)
    assert union(made(right), made(left)) == made(expected)


@pytest.mark.parametrize(
    ("left", "right", "expected", "recursive"),
    [
        pytest.param("a b", "a", "b", "b", id="a leaf goes"),
        pytest.param("a a.b", "a", "a.b", "", id="what is in a field stays, but not recursively"),
        pytest.param("a a.b", "a.b", "a", "a", id="only what is in it goes"),
        pytest.param("a.b a.c", "a.b a.c", "", "", id="nothing is left"),
        pytest.param("a", "a.b", "a", "a", id="a field is more than what is in it"),
        pytest.param("a a.b", "a a.b", "", "", id="all of it"),
    ],
)
def test_difference(left: str, right: str, expected: str, recursive: str) -> None:
    assert difference(made(left), made(right)) == made(expected)
    assert recursive_difference(made(left), made(right)) == made(recursive)


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        pytest.param("a b", "b c", "b", id="common"),
        pytest.param("a a.b", "a.b a.c", "a.b", id="below"),
        pytest.param("a", "a.b", "", id="a field is not what is in it"),
        pytest.param("a a.b", "a a.b", "a a.b", id="both"),
    ],
)
def test_intersection(left: str, right: str, expected: str) -> None:
    assert intersection(made(left), made(right)) == made(expected)


_SETS = st.lists(st.sampled_from(["a", "b", "c", "a.a", "a.b", "b.a", "a.a.b", "a.a.c", "b.b.b"]), max_size=6).map(
    " ".join
)


@given(_SETS, _SETS)
def test_the_algebra_is_that_of_sets_of_paths(left: str, right: str) -> None:
    one, two = set(paths(made(left))), set(paths(made(right)))
    assert set(paths(union(made(left), made(right)))) == one | two
    assert set(paths(difference(made(left), made(right)))) == one - two
    assert set(paths(intersection(made(left), made(right)))) == one & two
    assert contains_all(made(left), made(right)) == (two <= one)
    assert all(has(made(left), path) for path in one)


def test_the_order_in_which_the_server_writes() -> None:
    unordered: FieldSet = {
        'v:"b"': {},
        'k:{"port":8080}': {},
        "f:b": {},
        'k:{"port":80,"protocol":"UDP"}': {},
        ".": {},
        'k:{"port":80,"protocol":"TCP"}': {},
        "f:a": {"f:z": {}, "f:y": {}},
        "v:2": {},
        'v:"a"': {},
    }
    assert list(ordered(unordered)) == [
        ".",
        "f:a",
        "f:b",
        'k:{"port":80,"protocol":"TCP"}',
        'k:{"port":80,"protocol":"UDP"}',
        'k:{"port":8080}',
        "v:2",
        'v:"a"',
        'v:"b"',
    ]
    assert list(ordered(unordered)["f:a"]) == ["f:y", "f:z"]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        pytest.param(("f:spec", "f:replicas"), ".spec.replicas", id="fields"),
        pytest.param(
            ("f:spec", "f:ports", 'k:{"port":80,"protocol":"TCP"}', "f:name"),
            '.spec.ports[port=80,protocol="TCP"].name',
            id="keys",
        ),
        pytest.param(("f:metadata", "f:finalizers", 'v:"a/b"'), '.metadata.finalizers[="a/b"]', id="values"),
        pytest.param(("f:list", "i:3"), ".list[3]", id="indexes"),
    ],
)
def test_paths_as_messages_have_them(path: Path, text: str) -> None:
    assert path_text(path) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [("plain", '"plain"'), ('a"b\\', '"a\\"b\\\\"'), ("a\nb\x00", '"a\\nb\\x00"'), ("ü\u200b", '"ü\\u200b"')],
)
def test_strings_as_go_quotes_them(value: str, text: str) -> None:
    assert quoted(value) == text


@pytest.mark.parametrize(
    ("element", "text"),
    [('k:{"a":null}', "[a=null]"), ("v:true", "[=true]"), ('k:{"a":["x",{"b":1}]}', '[a=["x",b=1]]')],
)
def test_values_that_are_no_strings(element: str, text: Any) -> None:
    assert element_text(element) == text
