"""Texts in: what scalars mean, how documents are split, where the limits are, and that both ways agree."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.yaml import LimitError, Limits, YAMLError, careful, config, documents, plain, quick, text_of


def value(text: str) -> Any:
    return plain(documents(f"a: {text}\n")[0].value)["a"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("yes", "yes"), ("on", "on"), ("y", "y"), ("true", True), ("True", True), ("tRUE", "tRUE"),
        ("", None), ("~", None), ("null", None), ("nUll", "nUll"),
        ("7", 7), ("-3", -3), ("+5", 5), ("0777", 511), ("08", 8), ("0o17", 15), ("0x1F", 31), ("0b11", 3),
        ("1_000", 1000),
        ("1.0", 1), ("1e3", 1000), ("1.50", 1.5), (".5", 0.5), ("1e400", "1e400"), ("--", "--"),
        ("123456789012345678901234567890", 1.2345678901234568e29), ("18446744073709551615", 18446744073709551615),
        ("2001-01-01", "2001-01-01T00:00:00Z"), ("2001-1-2 3:4:5.60", "2001-01-02T03:04:05.6Z"),
        ("2001-01-01T10:00:00+02:00", "2001-01-01T10:00:00+02:00"), ("2001-13-01", "2001-13-01"),
        ("12:30:45", "12:30:45"), ("=", "="), ("100m", "100m"), ("10.0.0.1", "10.0.0.1"),
        ("'0777'", "0777"), ('"1"', "1"),
        ("!!str 1", "1"), ("!!int '3'", 3), ("!!float 2", 2), ("!custom x", "x"), ("!!binary aGk=", "hi"),
    ],
)  # fmt: skip
def test_scalars_of_resources(text: str, expected: Any) -> None:
    assert (type(value(text)), value(text)) == (type(expected), expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("y", True), ("No", False), ("on", True), ("'y'", "y"), ("1.25", 1.25), ("x", "x"), ("yes please", "yes please")],
)
def test_scalars_of_kustomization_files(text: str, expected: Any) -> None:
    assert config(f"a: {text}\n") == {"a": expected}


def test_a_number_remembers_how_it_was_written() -> None:
    written = documents("a: [1.10, 0777, True, 2001-01-01, 1.5, 7]\n")[0].value["a"]
    assert [text_of(one) for one in written] == ["1.10", "0777", "True", "2001-01-01", "1.5", "7"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a: 1\n---\nb: 2\n", [{"a": 1}, {"b": 2}], id="two documents"),
        pytest.param("---\na: 1\n---\n# nothing\n---\n", [{"a": 1}], id="empty documents are left out"),
        pytest.param("a: 1\r\n--- # comment\r\nb: 2\r\n", [{"a": 1}, {"b": 2}], id="carriage returns and comments"),
        pytest.param("a: |\n  x\n  ---\n  y\n", [{"a": "x\n---\ny\n"}], id="indented separator"),
        pytest.param("a: 1\n...\nb: 2\n", [{"a": 1}], id="only the first of a part"),
        pytest.param("a: 1\n---", [{"a": 1}], id="separator without newline"),
        pytest.param("", [], id="nothing"),
    ],
)
def test_documents(text: str, expected: list[Any]) -> None:
    assert [document.value for document in documents(text)] == expected


def test_blank_fields_are_told_from_nulls() -> None:
    document = documents("a:\nb: null\nc:\n  d:\n")[0]
    assert document.nulls == {("a",): "", ("b",): "null", ("c", "d"): ""}


def test_merge_keys_and_aliases_are_resolved_to_copies() -> None:
    read = documents("a: &x {k: [1]}\nb: {<<: *x, l: 2}\nc: *x\n")[0].value
    assert read == {"a": {"k": [1]}, "b": {"k": [1], "l": 2}, "c": {"k": [1]}}
    assert read["a"]["k"] is not read["c"]["k"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        pytest.param("a: 1\na: 2\n", "the key 'a' is given twice", id="duplicate key"),
        pytest.param("a: b: c\n", "line 1", id="syntax"),
        pytest.param("a: *x\n", "unknown anchor 'x'", id="unknown anchor"),
        pytest.param("a: 1\n--- b: 2\n", "not a document separator", id="text behind a separator"),
        pytest.param("a: \x00\n", "control characters", id="control character"),
        pytest.param("? [a]\n: b\n", "a key must be a string", id="collection as key"),
    ],
)
def test_refusals(text: str, sentence: str) -> None:
    with pytest.raises(YAMLError, match=sentence):
        documents(text)


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        pytest.param("a: " + "x" * 100, Limits(size=50), id="size"),
        pytest.param("[" * 30 + "]" * 30 + " # null", Limits(depth=20), id="depth"),
        pytest.param("a: &a [1,2]\nb: [*a,*a,*a]\n", Limits(nodes_from_aliases=5), id="aliases"),
    ],
)
def test_limits(text: str, limits: Limits) -> None:
    with pytest.raises(LimitError):
        documents(text, limits)


_WORDS = (
    "a b: c - x: y | > ' \" # [ ] { } , & * ! ? : :: -- --- 1 07 1.5 true null yes é key: value: "
    "\n \n\n \n- \n  \n    \n  - \t"
)
TOKENS = st.sampled_from(_WORDS.split(" "))


@settings(max_examples=200, deadline=None)
@given(st.lists(TOKENS, max_size=25))
def test_what_goes_the_quick_way_means_the_same_the_careful_way(tokens: list[str]) -> None:
    text = " ".join(tokens).encode()
    try:
        quickly = quick.parse(text)
    except LookupError:
        return
    try:
        document = next(careful.parse(text, "resource", Limits()), None)
    except YAMLError:
        pytest.fail(f"only the quick way reads {text!r}: {quickly!r}")
    assert (document.value if document else None) == quickly


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        found = documents(data)
    except YAMLError:
        return
    assert isinstance(found, list)
