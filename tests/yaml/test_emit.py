"""Objects out: the texts that kustomize prints, and that they read back as the same objects."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.yaml import documents, dump, dump_all, plain
from penstock.yaml.order import ordered


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("plain", "plain"), ("", '""'), ("yes", '"yes"'), ("y", '"y"'), ("null", '"null"'), ("~", '"~"'), ("1", '"1"'),
        ("0777", '"0777"'), ("1.5", '"1.5"'), ("1e3", '"1e3"'), ("2001-01-01", '"2001-01-01"'), ("12:30", '"12:30"'),
        ("=", "="), ("<<", "<<"), ("a: b", "'a: b'"), ("a #b", "'a #b'"), ("a#b", "a#b"), ("- a", "'- a'"),
        ("-a", "-a"),
        ("---", "'---'"), ("it's", "it's"), ("'q", "'''q'"), (" a", "' a'"), ("a ", "'a '"), ("{a}", "'{a}'"),
        ("a{", "a{"),
        ("@a", "'@a'"), ("%a", "'%a'"), ("*a", "'*a'"), ("?", "'?'"), ("?a", "?a"), (":a", ":a"), ("a:", "'a:'"),
        ("a\tb", '"a\\tb"'), ("é", "é"), ("😀", '"\\U0001F600"'), ("\x07", '"\\a"'), ("\x7f", '"\\x7F"'),
        ("a\\b", "a\\b"),
    ],
)  # fmt: skip
def test_strings(text: str, written: str) -> None:
    assert dump({"k": text}) == f"k: {written}\n"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        pytest.param("a\nb\n", "|\n  a\n  b", id="clip"),
        pytest.param("a\nb", "|-\n  a\n  b", id="strip"),
        pytest.param("a\n\n", "|+\n  a\n", id="keep"),
        pytest.param("\n", "|2+\n", id="a newline"),
        pytest.param(" a\nb", "|2-\n   a\n  b", id="leading blank"),
        pytest.param("a\n\nb\n", "|\n  a\n\n  b", id="empty line"),
        pytest.param("a \nb", '"a \\nb"', id="blank before newline"),
        pytest.param("a\tb\n", '"a\\tb\\n"', id="tab"),
    ],
)
def test_text_of_several_lines(text: str, written: str) -> None:
    assert dump({"k": text}) == f"k: {written}\n"


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (None, "null"), (True, "true"), (7, "7"), (1.5, "1.5"), (1e21, "1e+21"), (1.5e-7, "1.5e-07"),
        (1234567.5, "1.2345675e+06"),
        ({}, "{}"), ([], "[]"),
    ],
)  # fmt: skip
def test_other_values(value: Any, written: str) -> None:
    assert dump({"k": value}) == f"k: {written}\n"


def test_collections() -> None:
    value = {"b": [{"y": 1, "x": [1, [2, 3]]}, [], "s"], "a": {"c": {}}}
    assert dump(value) == 'a:\n  c: {}\nb:\n- x:\n  - 1\n  - - 2\n    - 3\n  "y": 1\n- []\n- s\n'


def test_a_stream() -> None:
    assert dump_all([{"a": 1}, {"b": 2}]) == "a: 1\n---\nb: 2\n"


def test_long_text_is_folded_behind_column_80() -> None:
    lines = dump({"key": "word " * 30 + "end"}).splitlines()
    assert len(lines) == 2
    assert lines[0].endswith("word")
    assert lines[1].startswith("  word")


def test_keys_are_in_natural_order() -> None:
    keys = ["b", "a10", "a9", "a-b", "aB", "ab", "9", "09", "10", "a.b", "_"]
    assert list(ordered(dict.fromkeys(keys))) == ["_", "9", "09", "10", "a-b", "a.b", "a9", "a10", "aB", "ab", "b"]


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x85\u2028\u2029\ufeff"), max_size=120)
KEYS = TEXT.filter(lambda text: text != "<<")  # which kustomize writes without quotes, so that readers merge
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(KEYS, JSON, min_size=1, max_size=5))
def test_what_is_written_reads_back(value: dict[str, Any]) -> None:
    (document,) = documents(dump(value))
    assert plain(document.value) == value
