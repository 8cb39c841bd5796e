"""Random expressions: well-formed ones of all kinds, and soups of tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from random import Random

VARIABLES: dict[str, Any] = {
    "metadata": {"name": "app", "generation": 3, "labels": {"a": "b", "n": "1"}},
    "spec": {"n": 3, "list": [1, 2, 3], "f": 1.5, "t": True, "blank": None, "texts": ["a", "b"], "zero": 0},
    "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Stalled"}], "ready": 2},
}
DECLARED = ["metadata", "spec", "status"]

_ATOMS = [
    *("1", "2", "0", "-1", "3u", "0u", "1.5", "2.0", "true", "false", "null", '"a"', '"b"', '""', 'b"a"', "[]", "{}"),
    *("[1, 2]", '["a", "b"]', '{"a": 1}', "{1: 2}", "metadata.name", "metadata.generation", "metadata.labels"),
    *("spec.n", "spec.list", "spec.f", "spec.t", "spec.blank", "spec.texts", "spec.missing", "spec.zero", "spec"),
    *("status.conditions", "status.conditions[0].type", "status.ready", "metadata.missing.deep", "nothing.at.all"),
    *('duration("90s")', 'timestamp("2024-02-29T12:30:45.5Z")', "optional.none()", "optional.of(1)", "int", "x"),
]
_BINARY = ["+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "&&", "||", "in"]
_METHODS = [
    *("size()", "contains({})", "startsWith({})", "endsWith({})", "matches({})", "getFullYear()", "getHours()"),
    *("getSeconds()", "getMilliseconds()", "getDayOfWeek()", "getDayOfYear()", "charAt({})", "indexOf({})"),
    *("lastIndexOf({})", "join({})", "join()", "lowerAscii()", "upperAscii()", "replace({}, {})", "reverse()"),
    *("split({})", "split({}, {})", "substring({})", "substring({}, {})", "trim()", "hasValue()", "orValue({})"),
    *("or({})", "value()", "first()", "last()", 'getHours("Europe/Berlin")', "getMinutes()", "indexOf({}, {})"),
    *("replace({}, {}, {})", "lastIndexOf({}, {})", "format([{}, {}])"),
]
_FUNCTIONS = [
    *("size({})", "int({})", "uint({})", "double({})", "string({})", "bytes({})", "bool({})", "dyn({})", "type({})"),
    *("duration({})", "timestamp({})", "optional.of({})", "optional.ofNonZeroValue({})", "sets.contains({}, {})"),
    *("sets.equivalent({}, {})", "sets.intersects({}, {})", "base64.encode({})", "base64.decode({})", "unknown({})"),
    *("strings.quote({})", "has(spec.n)", "has(spec.missing)", "has(nothing.here)", "has(spec.n.x)", "matches({}, {})"),
]
_MACROS = [
    *("all(x, {})", "exists(x, {})", "exists_one(x, {})", "filter(x, {})", "map(x, {})", "map(x, {}, {})"),
    *("optMap(x, {})", "optFlatMap(x, {})"),
]
_TOKENS = [
    *("a", "b", "1", "1.5", '"s"', "+", "-", "*", "(", ")", "[", "]", "{", "}", ".", ",", ":", "?", "&&", "||", "!"),
    *("==", "<", "in", "true", "null", "if", "$", "&", "'", "has", "map", " ", ".?", "[?", "//", "x.y", "f("),
]


def expression(source: Random, depth: int = 3) -> str:
    """One that can be parsed; whether it has a value is another question."""
    if depth == 0 or source.random() < 0.15:
        return source.choice(_ATOMS)

    def inner() -> str:
        return expression(source, depth - 1)

    match source.randrange(9):
        case 0 | 1 | 2:
            return f"({inner()}) {source.choice(_BINARY)} ({inner()})"
        case 3:
            return f"({inner()}).{_filled(source.choice(_METHODS), inner)}"
        case 4:
            return _filled(source.choice(_FUNCTIONS), inner)
        case 5:
            return f"({inner()}).{_filled(source.choice(_MACROS), inner)}"
        case 6:
            return f"({inner()}){source.choice(['[{}]', '[?{}]', '.a', '.?a', '.n'])}".replace("{}", inner())
        case 7:
            return source.choice(["!({})", "-({})", "[{}]", '{{"k": {}}}', "[?{}]", '{{?"k": {}}}']).format(inner())
        case _:
            return f"({inner()}) ? ({inner()}) : ({inner()})"


def soup(source: Random) -> str:
    """Tokens in any order."""
    return "".join(source.choices(_TOKENS, k=source.randint(1, 7)))


def _filled(form: str, inner: Any) -> str:
    while "{}" in form:
        form = form.replace("{}", inner(), 1)
    return form
