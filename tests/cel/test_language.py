"""What expressions come to."""

from __future__ import annotations

from typing import Any

import pytest

from penstock import cel
from tests.cel.expressions import VARIABLES


def value(expression: str) -> Any:
    return cel.compile(expression).evaluate(VARIABLES)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        *(("1 + 2 * 3", 7), ("(1 + 2) * 3", 9), ("-7 / 2", -3), ("-7 % 2", -1), ("7u / 2u", 3), ("1.5 + 1.5", 3.0)),
        *(("--1", 1), ("- 9223372036854775808", -(2**63)), ("0x1F", 31), ("1.5e3", 1500.0), ("!true", False)),
        *(("1 == 1.0", True), ("1u == 1", True), ("1 < 1.5", True), ('1 == "a"', False), ("true == 1", False)),
        *(("[1, 2] == [1.0, 2]", True), ('{"a": 1} == {"a": 1.0}', True), ("null == 1", False)),
        *(("1 in [1.0]", True), ('"a" in {"a": 1}', True), ("true in [1]", False), ("1 in {true: 1}", False)),
        *(('"a" + "b"', "ab"), ("[1] + [2]", [1, 2]), ('b"a" + b"b"', b"ab"), ('"a" < "b"', True)),
        *(("[1, 2, 3][1]", 2), ("{1: 2}[1.0]", 2), ("{true: 1}[true]", 1), ('{"a": 1}.a', 1)),
        *(("true ? 1 : 2", 1), ("false ? 1 : true ? 2 : 3", 2), ("1 < 2 == true", True)),
        *(('size("äö")', 2), ('"a".size()', 1), ('size(b"abc")', 3), ('"\\U0001F600".size()', 1)),
        *((r'r"\d"', "\\d"), (r'"\x41\u00e9\101\n"', "AéA\n"), (r'b"\x41\377"', b"A\xff"), ("'''a'b'''", "a'b")),
        *(("type(1) == int", True), ("type(null) == null_type", True), ("dyn(1)", 1), ("1 // 2", 1)),
    ],
)
def test_operators_and_literals(expression: str, expected: Any) -> None:
    assert value(expression) == expected
    assert type(value(expression)) in (type(expected), *type(expected).__subclasses__())


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        *(("metadata.name", "app"), (".metadata.name", "app"), ('metadata["name"]', "app"), ("spec.list[2]", 3)),
        *(("has(spec.n)", True), ("has(spec.missing)", False), ("has(spec.blank)", True), ("has(spec.n.x)", False)),
        *(
            ("metadata.?missing.orValue(1)", 1),
            ("metadata.?labels.?a.orValue('')", "b"),
            ("spec.list[?7].orValue(9)", 9),
        ),
        *(("metadata.?missing.?deep.hasValue()", False), ("metadata.?name.value()", "app")),
        *(("[?metadata.?missing, 1]", [1]), ("{?'k': metadata.?name}", {"k": "app"})),
        *(("optional.of(1).optMap(x, x + 1).value()", 2), ("optional.none().optMap(x, y).hasValue()", False)),
        *(
            ("optional.of(1).optFlatMap(x, optional.of(x)).value()", 1),
            ("optional.ofNonZeroValue(0).hasValue()", False),
        ),
        *(
            ("optional.none().or(optional.of(2)).value()", 2),
            ("[1].first().value()", 1),
            ("[].last().hasValue()", False),
        ),
        *(("optional.unwrap([optional.of(1), optional.none()])", [1]), ("[optional.of(1)].unwrapOpt()", [1])),
    ],
)
def test_fields_and_optional_values(expression: str, expected: Any) -> None:
    assert value(expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        *(("[1, 2].all(x, x > 0)", True), ("[].all(x, false)", True), ("[1, 2].exists(x, x > 1)", True)),
        *(("[1, 2, 3].exists_one(x, x > 2)", True), ("[1, 2].filter(x, x > 1)", [2]), ("[1, 2].map(x, x * 2)", [2, 4])),
        *(("[1, 2].map(x, x > 1, x * 2)", [4]), ('{"a": 1}.all(k, k == "a")', True), ('{"a": 1}.map(k, k)', ["a"])),
        ("status.conditions.filter(e, e.type == 'Ready').all(e, e.status == 'True')", True),
        ("[[1], [2]].map(x, x.map(y, y + x[0]))", [[2], [4]]),
    ],
)
def test_macros(expression: str, expected: Any) -> None:
    assert value(expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        *(("true || nothing.x", True), ("nothing.x || true", True), ("nothing.x && false", False)),
        *(("[0, 1].exists(x, 1 / x == 1)", True), ("[0, 2].all(x, 1 / x == 1)", False), ("false && 1", False)),
    ],
)
def test_what_decides_forgives_what_fails(expression: str, *, expected: bool) -> None:
    assert value(expression) is expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        *(("int('12')", 12), ("int(1.9)", 1), ("int(-1.9)", -1), ("uint(3)", 3), ("double('1e3')", 1000.0)),
        *(("string(1.0)", "1"), ("string(0.1)", "0.1"), ("string(1e100)", "1e+100"), ("string(0.00001)", "1e-05")),
        *(
            ("string(123456789012345678901.0)", "123456789012345680000"),
            ("string(1e21)", "1e+21"),
            ("string(true)", "true"),
        ),
        *(("string(b'a')", "a"), ("bytes('ä')", "ä".encode()), ("bool('t')", True), ("string(0.0001)", "0.0001")),
        *(
            ("string(duration('1h0.5s'))", "3600.5s"),
            ("duration('1h30m').getMinutes()", 90),
            ("string(-1.5e-7)", "-1.5e-07"),
        ),
        *(("string(timestamp('2020-01-01T01:00:00.50+01:00'))", "2020-01-01T00:00:00.5Z"), ("int(timestamp(5))", 5)),
        *(
            ("timestamp('2024-02-29T12:30:45Z').getDayOfYear()", 59),
            ("timestamp('2024-02-29T12:30:45Z').getMonth()", 1),
        ),
        *(("timestamp('2020-01-01T00:00:00Z').getHours('+01:30')", 1), ("timestamp(0).getDayOfWeek()", 4)),
        *(("timestamp('2020-01-01T00:00:00Z').getHours('America/New_York')", 19), ("timestamp(0).getFullYear()", 1970)),
        *(("string(timestamp(0) + duration('1s') - duration('2s'))", "1969-12-31T23:59:59Z"),),
    ],
)
def test_conversions_and_times(expression: str, expected: Any) -> None:
    assert value(expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        *(
            ("'abc'.charAt(1)", "b"),
            ("'abc'.charAt(3)", ""),
            ("'abcb'.indexOf('b', 2)", 3),
            ("'abcb'.lastIndexOf('b')", 3),
        ),
        *(
            ("'a,b,c'.split(',')", ["a", "b", "c"]),
            ("'a,b,c'.split(',', 2)", ["a", "b,c"]),
            ("'ab'.split('')", ["a", "b"]),
        ),
        *(("['a', 'b'].join('-')", "a-b"), ("'abc'.substring(1, 2)", "b"), ("'aaa'.replace('a', 'b', 2)", "bba")),
        *(
            ("'AbÄ'.lowerAscii()", "abÄ"),
            ("'abä'.upperAscii()", "ABä"),
            ("'\\u00a0 a'.trim()", "a"),
            ("'abc'.reverse()", "cba"),
        ),
        *(
            ("'abc'.matches('^a.c$')", True),
            ("'abc'.contains('b') && 'abc'.startsWith('a') && 'abc'.endsWith('c')", True),
        ),
        *(
            ("strings.quote('a\\n\"')", '"a\\n\\""'),
            ("base64.encode(b'hello')", "aGVsbG8="),
            ("base64.decode('aGVsbG8')", b"hello"),
        ),
        *(
            ("sets.contains([1, 2], [1.0])", True),
            ("sets.equivalent([1, 2], [2, 1, 1])", True),
            ("sets.intersects([1], [2])", False),
        ),
        ("'%s and %d%%'.format(['a', 1])", "a and 1%"),
        ("'%.3f %e %x %o %b %X'.format([1.5, 1.5, 255, 8, 5, 'hi'])", "1.500 1.500000e+00 ff 10 101 6869"),
        ("'%s'.format([[1, {'a': null, 'b': true}, duration('1s')]])", "[1, {a: null, b: true}, 1s]"),
    ],
)
def test_functions_for_texts_and_sets(expression: str, expected: Any) -> None:
    assert value(expression) == expected


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        pytest.param(
            "has(nothing.foo.bar)", "no such attribute(s): nothing.foo.bar", id="a variable that is not there"
        ),
        pytest.param("nothing['x'].y", "no such attribute(s): nothing.x.y", id="with an index"),
        pytest.param("metadata.foo.bar", "no such key: foo", id="a field that is not there"),
        pytest.param("has(metadata.foo.bar)", "no such key: foo", id="below the one that is asked for"),
        pytest.param("spec.list[7]", "index out of bounds: 7", id="an element that is not there"),
        pytest.param("spec.list.x", "unsupported index type 'string' in list", id="a field of a list"),
        pytest.param("spec.n + 'a'", "no such overload", id="types that do not go together"),
        pytest.param("spec.n ? 1 : 2", "no such overload", id="a condition that is no boolean"),
        pytest.param("nothing.x || false", "no such attribute(s): nothing.x", id="nothing decides"),
        pytest.param("1 / 0", "division by zero", id="division by zero"),
        pytest.param("5 % 0", "modulus by zero", id="modulus by zero"),
        pytest.param("9223372036854775807 + 1", "integer overflow", id="too large"),
        pytest.param("1u - 2u", "unsigned integer overflow", id="too small"),
        pytest.param("optional.none().value()", "optional.none() dereference", id="the value of none"),
        pytest.param("spec.n.map(x, x)", "got 'types.Int', expected iterable type", id="no list"),
        pytest.param("'abc'.substring(1, 9)", "index out of range: 9", id="out of a text"),
        pytest.param("int(metadata.name)", "type conversion error from 'string' to 'int'", id="no number"),
        pytest.param("timestamp(0).getHours('Nowhere/../x')", "unknown time zone Nowhere/../x", id="no time zone"),
    ],
)
def test_expressions_without_a_value(expression: str, words: str) -> None:
    with pytest.raises(cel.CelRuntimeError) as caught:
        value(expression)
    assert str(caught.value) == f"failed to evaluate the CEL expression '{expression}': {words}"


def test_only_true_or_false_will_do() -> None:
    assert cel.compile("spec.t").is_true(VARIABLES)
    with pytest.raises(cel.CelRuntimeError, match=r"failed to evaluate CEL expression as boolean: 'spec.n'"):
        cel.compile("spec.n").is_true(VARIABLES)
