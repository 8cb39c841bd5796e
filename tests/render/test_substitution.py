"""Variable expressions: every row of the table, and what bounds them."""

from __future__ import annotations

import pytest

from penstock.render import ExpressionError, SubstitutionFailed, merge_variables, substitute

VARIABLES = {"v": "hello/world", "e": "", "two": "2", "minus": "-2", "p": "a.b.c", "u": "äöü"}


@pytest.mark.scenario("22.11 envsubst vectors")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("${v}", "hello/world", id="a value"),
        pytest.param("[${x}]", "[]", id="an unset variable is empty"),
        pytest.param("${x:=d} ${x:-d} ${x=d}", "d d d", id="a default for an unset variable"),
        pytest.param("${e:=d} ${e:-d} ${e=d}", "d d d", id="a default for an empty variable"),
        pytest.param("${v:=d} ${v:-d} ${v=d}", "hello/world hello/world hello/world", id="a value wins over defaults"),
        pytest.param("${x:=a ${v} ${y:=b} c}", "a hello/world b c", id="a default holds expressions"),
        pytest.param("${x:={a}}", "{a}", id="the first brace ends a default"),
        pytest.param("${x:=}", "", id="an empty default"),
        pytest.param("${v:+d} ${x:+d} ${v:?d} ${x:?d}", "hello/world d hello/world d", id="plus and question mark"),
        pytest.param("${#v} ${#x} ${#u}", "11 0 6", id="length in bytes"),
        pytest.param("${v^} ${v^^}", "Hello/world HELLO/WORLD", id="upper case"),
        pytest.param("${S,} ${S,,}", "aBC abc", id="lower case"),
        pytest.param("${v,^}", "hello/world", id="a mixed case operator does nothing"),
        pytest.param("${ss^^} ${ss^}", "STRAßE Straße", id="one letter stays one letter"),
        pytest.param("${v:6} ${v:6:3} ${v:6:99} ${v:99} ${v:99:1}", "world wor world  ", id="substrings"),
        pytest.param("${v: -2} ${v:a} ${v:1:b}", "hello/world hello/world hello/world", id="no number: whole value"),
        pytest.param("${v:-2}", "hello/world", id="a minus is a default"),
        pytest.param("${v:${minus}} ${v:${two}:${two}}", "ld ll", id="numbers from variables"),
        pytest.param("${u:2:2}", "ö", id="substrings count bytes"),
        pytest.param("${v#*l} ${v##*l}", "lo/world d", id="cut at the start"),
        pytest.param("${v%o*} ${v%%o*}", "hello/w hell", id="cut at the end"),
        pytest.param("${v#h?l} ${v#[g-i]} ${v#[^a]} ${v#\\h}", "lo/world ello/world ello/world ello/world", id="globs"),
        pytest.param("${v#[} ${v#[a} ${v#\\}", "hello/world hello/world hello/world", id="malformed globs"),
        pytest.param("${v#x} ${v%x}", "hello/world hello/world", id="globs that do not match"),
        pytest.param("${p#*.} ${p##*.} ${p%.*} ${p%%.*}", "b.c c a.b a", id="parts of a dotted name"),
        pytest.param(
            "${v/l/L} ${v//l/L} ${v/l/} ${v//l/}", "heLlo/world heLLo/worLd helo/world heo/word", id="replace"
        ),
        pytest.param("${p/./-}", "a-b.c", id="replaced literally, not as a glob"),
        pytest.param("${v/#hello/X} ${v/#world/X} ${v/#hello/}", "X/world hello/world hello/world", id="prefix"),
        pytest.param("${v/%world/X} ${v/%hello/X} ${v/%world/}", "hello/X hello/world hello/world", id="suffix"),
        pytest.param("${v/\\//-} ${b/\\\\/-}", "hello-world a-b", id="escapes in a replacement"),
        pytest.param("${v/l/$$}", "he$lo/world", id="two dollars in a replacement"),
        pytest.param("$${v} $$${v} $$$${v}", "${v} $hello/world $${v}", id="dollars before an expression"),
        pytest.param("a$b $(c) $", "a$b $(c) $", id="a lone dollar is text"),
        pytest.param("a$$b", "a$b", id="two dollars are one"),
        pytest.param("${z:=a$$b}", "a$$b", id="dollars in a default stay"),
        pytest.param("\\${v}", "\\hello/world", id="a backslash is text"),
    ],
)
def test_expressions(text: str, expected: str) -> None:
    assert substitute(text, VARIABLES | {"S": "ABC", "ss": "straße", "b": "a\\b"}) == expected


@pytest.mark.scenario("22.11 envsubst vectors")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("${v-d}", "missing closing brace", id="minus without colon"),
        pytest.param("${v+d}", "missing closing brace", id="plus without colon"),
        pytest.param("${v?d}", "missing closing brace", id="question mark without colon"),
        pytest.param("${}", "unable to parse variable name", id="no name"),
        pytest.param("${", "unable to parse variable name", id="nothing behind the brace"),
        pytest.param("${v", "missing closing brace", id="no end"),
        pytest.param("${a.b}", "missing closing brace", id="a dot in a name"),
        pytest.param("${a b}", "missing closing brace", id="a space in a name"),
        pytest.param("${v/a}", "bad substitution", id="a replacement without a second slash"),
        pytest.param("${v:=a", "unable to parse substitution within function", id="a default without end"),
        pytest.param("${v:}", "unable to parse substitution within function", id="a substring without a number"),
        pytest.param("${#}", "bad substitution", id="the length of nothing"),
        pytest.param("${v:1:-1}", "cannot have the length -1", id="a negative length"),
        pytest.param("${v,,,}", "bad substitution", id="three commas"),
    ],
)
def test_expressions_that_fail(text: str, words: str) -> None:
    with pytest.raises(ExpressionError, match=words):
        substitute(text, VARIABLES)


@pytest.mark.parametrize("text", ["${x}", "${#x}", "${x^}", "${x/a/b}", "${x:1}", "${x%a}"])
def test_strict_mode_wants_every_variable(text: str) -> None:
    with pytest.raises(ExpressionError, match=r'variable not set \(strict mode\): "x"'):
        substitute(text, VARIABLES, strict=True)


def test_strict_mode_lets_defaults_and_empty_values_pass() -> None:
    assert substitute("${x:=1}${x=2}${x:-3}${x:+4}${x:?5}${e}", VARIABLES, strict=True) == "12345"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("${a//x/${a}}", id="a long text in place of every letter"),
        pytest.param("${a}" * 2000, id="a long value many times"),
        pytest.param("${a//x/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx}" * 100, id="a little growth many times"),
    ],
)
def test_a_text_does_not_grow_without_end(text: str) -> None:
    """A13"""
    with pytest.raises(ExpressionError, match="more than"):
        substitute(text, {"a": "x" * 10_000})


def test_expressions_nest_only_so_deep() -> None:
    """A13"""
    with pytest.raises(ExpressionError, match="deep"):
        substitute("${a:=" * 10_000 + "}" * 10_000, {})


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("$$" * 500_000, id="dollars"),
        pytest.param("${a#" + "*a" * 200 + "*b}.", id="a glob with many stars"),
        pytest.param("${x:=" + "a$" * 200_000 + "}", id="a long default"),
        pytest.param("${a/" + "\\/" * 200_000 + "/b}", id="a long escaped argument"),
    ],
)
@pytest.mark.timeout(20)
def test_no_text_takes_long(text: str) -> None:
    """A13: a linear way needs milliseconds, any other one hours."""
    assert substitute(text, {"a": "a" * 20_000, "x": ""})


@pytest.mark.parametrize("name", ["", "1a", "a-b", "a.b", "ä", "a b", "a\n"])
def test_names_of_variables(name: str) -> None:
    with pytest.raises(SubstitutionFailed, match="var name is invalid, must match"):
        merge_variables([{name: "x"}], {})


def test_later_sources_win_and_newlines_go() -> None:
    merged = merge_variables([{"zone": "\naz-1a\n", "a": "1"}, {"zone": b"\naz-1b\n"}], {"a": "2", "_Region": "eu"})
    assert merged == {"zone": "az-1b", "a": "2", "_Region": "eu"}
