"""A15: no expression takes long, or much memory."""

from __future__ import annotations

from typing import Any

import pytest

from penstock import cel

BIG: dict[str, Any] = {
    "l": list(range(2000)),
    "t": "a" * 1_000_000,
    "m": {str(number): number for number in range(2000)},
}


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param("l.all(a, l.all(b, l.all(c, a + b + c >= 0)))", id="lists in lists"),
        pytest.param("l.map(a, l.map(b, l.map(c, a)))", id="lists of lists"),
        pytest.param("m.all(a, m.all(b, m.exists(c, c == b)))", id="maps in maps"),
        pytest.param("l.exists(a, l.exists(b, a + b < 0) || true) && l.all(a, l.all(b, true))", id="behind an or"),
        pytest.param("t.replace('a', t).size() > 0", id="a long text in place of every letter"),
        pytest.param("t.replace('', t).size() > 0", id="a long text between all letters"),
        pytest.param("l.map(x, t).join(t).size() > 0", id="a long text many times"),
        pytest.param("'%s'.format([l.map(x, t)]).size() > 0", id="a long text in a format"),
        pytest.param(" + ".join(["t"] * 100) + " == ''", id="a text that grows"),
        pytest.param("[1]" + ".map(a, [a, a])" * 60 + " == [1]" + ".map(a, [a, a])" * 60, id="a list of itself"),
        pytest.param("'%s'.format([[1]" + ".map(a, [a, a])" * 60 + "])", id="a list of itself, as text"),
        pytest.param("l.all(x, sets.contains(l, l))", id="sets of lists"),
        pytest.param("l.all(x, t.matches('(a*)*b') || true)", id="patterns"),
        pytest.param("l.all(x, t == t + 'b' || true)", id="comparisons"),
    ],
)
def test_an_evaluation_ends(expression: str) -> None:
    program = cel.compile(expression, limit=50_000)
    with pytest.raises(cel.CelRuntimeError, match=r"cost limit exceeded|recursion"):
        program.evaluate(BIG)


@pytest.mark.timeout(20)
def test_the_usual_limit_is_seconds_at_most() -> None:
    program = cel.compile("l.all(a, l.all(b, l.all(c, a + b + c >= 0)))")
    with pytest.raises(cel.CelRuntimeError, match="cost limit exceeded"):
        program.evaluate(BIG)


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param("(" * 10_000 + "1" + ")" * 10_000, id="brackets"),
        pytest.param("[" * 10_000 + "]" * 10_000, id="lists"),
        pytest.param("-(" * 5_000 + "1" + ")" * 5_000, id="signs"),
        pytest.param("a ? b : " * 5_000 + "c", id="conditions"),
        pytest.param("1" + " + 1" * 20_000, id="a long sum"),
        pytest.param("a" + ".a" * 40_000, id="a long path"),
        pytest.param("'" + "\\n" * 60_000 + "'", id="a long text"),
        pytest.param("f(" * 10_000, id="calls that never end"),
    ],
)
@pytest.mark.parametrize("variables", [None, ["a"]], ids=["parsed", "checked"])
def test_an_expression_that_is_too_deep_or_long_is_refused(expression: str, variables: list[str] | None) -> None:
    with pytest.raises(cel.CelSyntaxError, match=r"recursion limit exceeded|longer than|Syntax error"):
        cel.compile(expression, variables=variables)


@pytest.mark.parametrize("sign", ["&&", "||"])
def test_many_conditions_are_fine(sign: str) -> None:
    expression = f" {sign} ".join(["a.b == 1"] * 2_000)
    assert cel.compile(expression, variables=["a"], result=bool).is_true({"a": {"b": 1}})


def test_a_large_object_is_fine() -> None:
    conditions = [{"type": f"T{number}", "status": "True"} for number in range(2000)]
    program = cel.compile("status.conditions.filter(e, e.type == 'T1999').all(e, e.status == 'True')")
    assert program.is_true({"status": {"conditions": conditions}})


def test_the_limit_can_be_chosen() -> None:
    assert cel.compile("[1, 2, 3].all(x, x > 0)", limit=50).evaluate({})
    with pytest.raises(cel.CelRuntimeError, match=r"cost limit exceeded"):
        cel.compile("[1, 2, 3].all(x, x > 0)", limit=5).evaluate({})
