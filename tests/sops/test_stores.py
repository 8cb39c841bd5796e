"""The five formats in detail: what is read, and how it is written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.sops import EmitError, LoadError, dotenv_store, ini_store, json_store, yaml_emit, yaml_load
from penstock.sops.flatten import flatten, unflatten
from penstock.sops.values import Branch, Comment, Timestamp, Value, fixed, general, json_number, timestamp


def yaml_again(text: str) -> str:
    return yaml_emit.emit(yaml_load.load(text.encode())).decode()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a: 1 # behind\n", "a: 1 # behind\n", id="behind a value"),
        pytest.param("# above\na: 1\n", "# above\na: 1\n", id="above a key"),
        pytest.param("a: # behind the key\n  b: 1\n", "# behind the key\na:\n    b: 1\n", id="behind a key"),
        pytest.param("a:\n  b: 1\n  # end\n# next\nc: 2\n", "a:\n    b: 1\n    # end\n# next\nc: 2\n", id="by column"),
        pytest.param("a:\n- 1 # one\n# two\n- 2\n", "a:\n    - 1 # one\n    # two\n    - 2\n", id="in a list"),
        pytest.param("a: {b: 1} # flow\n", "a:\n    # flow\n    b: 1\n", id="behind a flow mapping"),
        pytest.param("a: | # head\n  x\n  y\nb: 1\n", "a: | # head\n    x\n    y\nb: 1\n", id="behind a block"),
        pytest.param("a: |\n  x\n# after\nb: 1\n", "a: |\n    x\n# after\nb: 1\n", id="after a block"),
        pytest.param("a: '# not one'\n", "a: '# not one'\n", id="in a string"),
        pytest.param("a: x#y\n", "a: x#y\n", id="a sign inside a word"),
        pytest.param("a: 1\n# end\n", "a: 1\n# end\n", id="at the end"),
        pytest.param("# one\n---\n# two\na: 1\n", "# one\n# two\na: 1\n", id="around the first separator"),
        pytest.param("a: 1\n---\n# two\nb: 1\n", "a: 1\n---\n# two\nb: 1\n", id="in the second document"),
        pytest.param("a:\n-\n  # inside\n  b: 1\n", "a:\n    # inside\n    - b: 1\n", id="below a dash"),
    ],
)
def test_yaml_comments(text: str, expected: str) -> None:
    assert yaml_again(text) == expected
    assert yaml_again(expected) == expected


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("-5", -5),
        ("0x1F", 31),
        ("0o17", 15),
        ("017", 15),
        ("0b11", 3),
        ("1_000", 1000),
        ("+1", 1),
        ("08", 8.0),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("1.", 1.0),
        ("true", True),
        ("FALSE", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("yes", "yes"),
        ("'1'", "1"),
        ('"true"', "true"),
        ("!!str 1", "1"),
        ("!!float 1", 1.0),
        ("!x 1", "1"),
        ("!!binary aGk=", "hi"),
        ("2001-12-14", Timestamp("2001-12-14T00:00:00Z")),
        ("2001-12-14t21:59:43.10-05:00", Timestamp("2001-12-14T21:59:43.1-05:00")),
        ("2001-12-14 21:59:43", Timestamp("2001-12-14T21:59:43Z")),
        ("2001-02-30", "2001-02-30"),
        ("2001-13-01", "2001-13-01"),
        ("9223372036854775807", 2**63 - 1),
        ("100000000000000000000", 1e20),
        ("1:20", "1:20"),
        ("0x", "0x"),
        ("1e999", "1e999"),
    ],
)
def test_yaml_scalars(text: str, value: object) -> None:
    (document,) = yaml_load.load(f"a: {text}\n".encode())
    assert document.get("a") == value
    assert type(document.get("a")) is type(value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1\na: 2\n", "line 2: the key 'a' is there already"),
        ("1: a\n", "line 1: a key is not text"),
        ("[a]: 1\n", "cannot be a key"),
        ("a: *b\n", "alias"),
        ("a: 18446744073709551615\n", "64 bits"),
        ("a: !!int x\n", "tagged !!int is not one"),
        ("a: !!binary '*'\n", "not base64"),
        ("x\n", "single value"),
        ("\x00", "characters that YAML does not allow"),
        ("a: \udcff", "not UTF-8"),
    ],
)
def test_yaml_refuses(text: str, said: str) -> None:
    with pytest.raises(LoadError, match=said):
        yaml_load.load(text.encode("utf-8", "surrogateescape"))


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=30)
SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | TEXTS
VALUES: st.SearchStrategy[Value] = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3).map(lambda d: Branch(d.items()))
    ),
    max_leaves=12,
)


def numbers_alike(value: Value) -> Value:
    """YAML spells 1.0 as 1, as SOPS does."""
    if isinstance(value, Branch):
        return Branch((key, numbers_alike(inner)) for key, inner in value)
    if isinstance(value, list):
        return [numbers_alike(item) for item in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


@given(VALUES)
def test_yaml_there_and_back(value: Value) -> None:
    document = Branch([("a", value)])
    (again,) = yaml_load.load(yaml_emit.emit([document]))
    assert numbers_alike(again) == numbers_alike(document)


@given(VALUES)
def test_json_there_and_back(value: Value) -> None:
    document = Branch([("a", value)])
    try:
        text = json_store.emit([document])
    except EmitError:
        return  # infinity
    (again,) = json_store.load(text)
    assert numbers_alike(again) == numbers_alike(document)


def test_json_is_written_as_go_writes_it() -> None:
    text = '{"b": "<&>\\u2028\\ud800", "a": [1.0, 1e21, 1e-7, 1e-10, {}], "a": null, "big": 1e22} trailing'
    assert json_store.emit(json_store.load(text.encode())) == (
        b'{\n\t"b": "\\u003c\\u0026\\u003e\\u2028\xef\xbf\xbd",\n\t"a": [\n\t\t1,\n\t\t1e+21,\n\t\t1e-7,\n\t\t1e-10,'
        b"\n\t\t{}\n\t],"
        b'\n\t"a": null,\n\t"big": 1e+22\n}\n'
    )


@pytest.mark.parametrize("text", ["[1]", '"x"', "1", "{", '{"a": NaN}', '{"a": 1e999}', "", '{"a": "\n"}'])
def test_json_refuses(text: str) -> None:
    with pytest.raises(LoadError):
        json_store.load(text.encode())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a=1\n[s]\nb=2\n", "a = 1\n\n[s]\nb = 2\n", id="before the first section"),
        pytest.param("[s]\nlong=1\nb=2\n", "[s]\nlong = 1\nb    = 2\n", id="equal signs in a column"),
        pytest.param("; c\n[s]\n# d\na=1 ; e\n", "; c\n[s]\n; d\n; e\na = 1\n", id="comments"),
        pytest.param("[s]\na=`x;y`\n", "[s]\na = `x;y`\n", id="a sign of a comment in a value"),
        pytest.param('[s]\na="""x\ny"""\n', '[s]\na = """x\ny"""\n', id="several lines"),
        pytest.param("[s]\na=x\\\n  y\n", "[s]\na = xy\n", id="continued"),
        pytest.param("[s]\na=\" x \"\nb='y'\n", '[s]\na = " x "\nb = y\n', id="quotes"),
        pytest.param("[s]\na=1\n[s]\nb=2\n", "[s]\na = 1\n\n[s]\nb = 2\n", id="a section twice"),
        pytest.param("[s]\na:1\n`b=c`=2\n", "[s]\na     = 1\n`b=c` = 2\n", id="odd names"),
        pytest.param("[s]\na=\n", "[s]\na = \n", id="empty"),
        pytest.param("[s]\n- = one\n- = two\n", "[s]\n- = one\n- = two\n", id="numbered"),
        pytest.param("\ufeff[s]\na=1\n", "[s]\na = 1\n", id="byte order mark"),
    ],
)
def test_ini(text: str, expected: str) -> None:
    assert ini_store.emit(ini_store.load(text.encode())).decode() == expected


@pytest.mark.parametrize("text", ["[]\n", "[s]\nnovalue\n", "[s]\n=1\n", '[s]\na="""x\n', '[s]\n"a=1\n'])
def test_ini_refuses(text: str) -> None:
    with pytest.raises(LoadError):
        ini_store.load(text.encode())


def test_dotenv() -> None:
    text = "# c\nA=1\nB=x=y\nC=a\\nb\nD=\n"
    (document,) = dotenv_store.load(text.encode())
    assert document.get("C") == "a\nb"
    assert dotenv_store.emit([document]).decode() == text
    scalars = Branch([("a", True), ("b", 1.0), ("c", 1e100), ("d", Timestamp("2001-12-14T00:00:00.5Z")), ("e", None)])
    assert dotenv_store.emit([scalars]) == b"a=true\nb=1.0\nc=1E+100\nd=2001-12-14T00:00:00Z\ne=<nil>\n"


@pytest.mark.parametrize(
    ("value", "spelled"),
    [
        (1.0, ("1", "1", "1")),
        (0.1, ("0.1", "0.1", "0.1")),
        (1e6, ("1000000", "1e+06", "1000000")),
        (123456789.123, ("123456789.123", "1.23456789123e+08", "123456789.123")),
        (-0.0, ("-0", "-0", "-0")),
        (1e-5, ("0.00001", "1e-05", "0.00001")),
        (1e-7, ("0.0000001", "1e-07", "1e-7")),
        (1e21, ("1" + "0" * 21, "1e+21", "1e+21")),
    ],
)
def test_floats(value: float, spelled: tuple[str, str, str]) -> None:
    assert (fixed(value), general(value), json_number(value)) == spelled


def test_times_keep_their_zone() -> None:
    assert timestamp("2001-1-2") == Timestamp("2001-01-02T00:00:00Z")
    assert timestamp("2001-12-14T21:59:43+00:00") == Timestamp("2001-12-14T21:59:43Z")
    assert timestamp("2001-12-14T21:59:43") is None
    assert timestamp("2001-12-14 21:59:43Z") is None
    assert timestamp("2000-02-29") is not None
    assert timestamp("1900-02-29") is None


def test_flattening() -> None:
    nested = Branch([("age", [Branch([("enc", "x"), ("recipient", "y")])]), ("mac", "m"), ("none", [])])
    flat = Branch([("p_age__list_0__map_enc", "x"), ("p_age__list_0__map_recipient", "y"), ("p_mac", "m")])
    assert flatten(nested, "p_") == flat
    assert unflatten(flatten(nested)) == Branch(nested.pairs[:2])


@pytest.mark.parametrize(
    "names",
    [["a", "a"], ["a", "a__map_b"], ["a__list_1"], ["a__list_0", "a__map_x"], ["a__list_x"], ["a__list_99999999"]],
)
def test_flat_names_that_make_no_sense(names: list[str]) -> None:
    with pytest.raises(LoadError):
        unflatten(Branch((name, "x") for name in names))


def test_comments_are_no_values() -> None:
    assert unflatten(Branch([(Comment("x"), None), ("a", "b")])) == Branch([("a", "b")])
