"""Expressions that can never have a value, in the words of cel-go."""

from __future__ import annotations

import pytest

from penstock import cel

BEGIN = "'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER"


def refusal(expression: str, variables: list[str] | None = None) -> str:
    with pytest.raises(cel.CelSyntaxError) as caught:
        cel.compile(expression, variables=variables, result=None if variables is None else bool)
    return str(caught.value)


@pytest.mark.scenario("22.1 ConfigurationError/invalid CEL")
def test_the_whole_message() -> None:
    assert refusal("foo.") == (
        "failed to parse the CEL expression 'foo.': "
        "ERROR: <input>:1:5: Syntax error: no viable alternative at input '.'\n | foo.\n | ....^"
    )


@pytest.mark.parametrize(
    ("expression", "place", "words"),
    [
        ("1 +", "1:4", f"Syntax error: mismatched input '<EOF>' expecting {{{BEGIN}}}"),
        ("&& a", "1:1", f"Syntax error: extraneous input '&&' expecting {{{BEGIN}}}"),
        ("(1", "1:3", "Syntax error: missing ')' at '<EOF>'"),
        ("(1 2)", "1:4", "Syntax error: extraneous input '2' expecting ')'"),
        ("1)", "1:2", "Syntax error: extraneous input ')' expecting <EOF>"),
        ("a b", "1:3", "Syntax error: extraneous input 'b' expecting <EOF>"),
        ("[1,", "1:4", "Syntax error: missing ']' at '<EOF>'"),
        ("{a}", "1:3", "Syntax error: mismatched input '}' expecting ':'"),
        ("{1: 2 3: 4}", "1:7", "Syntax error: mismatched input '3' expecting {'}', ','}"),
        ("x ? y", "1:6", "Syntax error: mismatched input '<EOF>' expecting ':'"),
        ("'abc", "1:1", "Syntax error: token recognition error at: ''abc'"),
        ("a $ b", "1:3", "Syntax error: token recognition error at: '$'"),
        ("if", "1:1", "reserved identifier: if"),
        ("has(x)", "1:5", "invalid argument to has() macro"),
        ("x.map(1, y)", "1:7", "argument is not an identifier"),
        ("9223372036854775808", "1:1", "invalid int literal"),
        ("1e400", "1:1", "invalid double literal"),
        ("true\n  && ?", "2:6", f"Syntax error: mismatched input '?' expecting {{{BEGIN}}}"),
    ],
)
def test_texts_that_cannot_be_read(expression: str, place: str, words: str) -> None:
    assert f"ERROR: <input>:{place}: {words}\n" in refusal(expression)


@pytest.mark.parametrize(
    ("expression", "place", "words"),
    [
        pytest.param("deps.x == 1", "1:1", "undeclared reference to 'deps' (in container '')", id="no such variable"),
        pytest.param("foo(1)", "1:4", "undeclared reference to 'foo' (in container '')", id="no such function"),
        pytest.param("self.foo(1)", "1:9", "undeclared reference to 'foo' (in container '')", id="no such method"),
        pytest.param("1 + 'a'", "1:3", "found no matching overload for '_+_' applied to '(int, string)'", id="types"),
        pytest.param("1 == 1.0", "1:3", "found no matching overload for '_==_' applied to '(int, double)'", id="equal"),
        pytest.param(
            "'a'.size(1)", "1:9", "found no matching overload for 'size' applied to 'string.(int)'", id="method"
        ),
        pytest.param(
            "self[1]", "1:5", "found no matching overload for '_[_]' applied to '(map(string, dyn), int)'", id="key"
        ),
        pytest.param("[1, 'a']", "1:5", "expected type 'int' but found 'string'", id="a list of two types"),
        pytest.param("{'a': 1, 2: 3}", "1:10", "expected type 'string' but found 'int'", id="keys of two types"),
        pytest.param("'a'.b", "1:4", "type 'string' does not support field selection", id="a field of a text"),
        pytest.param("true && 1", "1:9", "expected type 'bool' but found 'int'", id="a part that is no boolean"),
        pytest.param("1.map(x, x)", "1:1", "expression of type 'int' cannot be range of a comprehension", id="no list"),
    ],
)
def test_types_that_do_not_fit(expression: str, place: str, words: str) -> None:
    assert f"ERROR: <input>:{place}: {words}" in refusal(expression, ["self", "dep"])


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        *(("dep.status.ready", "dyn"), ("1", "int"), ("'a'", "string"), ("[1]", "list(int)"), ("null", "null_type")),
        *(("self.?a", "optional_type(dyn)"), ("duration('1s')", "google.protobuf.Duration"), ("type(1)", "type(int)")),
        *(("true ? dep.a : true", "dyn"), ("{}", "map(dyn, dyn)"), ("self.l.map(x, x.y)", "list(dyn)")),
    ],
)
def test_the_result_must_be_known_to_be_true_or_false(expression: str, found: str) -> None:
    assert refusal(expression, ["self", "dep"]) == f"CEL expression output type mismatch: expected bool, got {found}"


@pytest.mark.parametrize(
    "expression",
    [
        *("dep.status.ready == true", "has(self.x.y) && self.x.y == 'z'", "self.l.all(x, x.y > 1)", "1 < 1.5"),
        *("self.?a.?b.orValue(1) == 1", "[1, 2].exists(x, x in self.l)", "dep.a ? true : false", "!dep.a"),
        "dep.metadata.annotations['app/version'] == self.metadata.annotations['app/version']",
        "dep.status.conditions.filter(e, e.type == 'Ready').all(e, e.status == 'True')",
        "'%s-%d'.format(['a', 1]) == 'a-1'",
        "size(self) == 1 && type(self.a) == string",
    ],
)
def test_results_that_are(expression: str) -> None:
    cel.compile(expression, variables=["self", "dep"], result=bool)


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("int('x') == 1", "type conversion error from 'string' to 'int'"),
        ("duration('x') == duration('1s')", "type conversion error from 'string' to 'google.protobuf.Duration'"),
        ("'a'.matches('[')", "error parsing regexp: missing ]: ["),
        ("Thing{a: 1}", "unknown type: Thing"),
    ],
)
def test_what_is_known_to_fail(expression: str, words: str) -> None:
    assert refusal(expression) == f"failed to create CEL program: {words}"


def test_all_wrong_places_are_shown() -> None:
    message = refusal("x == y", ["self"])
    assert message.count("ERROR: ") == 2
    assert message.endswith(" | x == y\n | .....^")
