"""Variable expressions replaced by what they come to.

Time and space are bounded: a text is read once, every operator is linear in what it works on, and all that is made on
the way counts against a limit, so that no expression can grow a text without end.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from penstock.render import globs
from penstock.render.expressions import Expression, ExpressionError, Part, parse

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

LARGEST = 16 << 20
"""Bytes that the expressions of one text may come to, with everything in between."""

_NUMBER = re.compile(r"[+-]?[0-9]{1,19}\Z", re.ASCII)
_INT64 = 2**63


def substitute(text: str, variables: Mapping[str, str], *, strict: bool = False, limit: int = LARGEST) -> str:
    """The text with all expressions replaced; ExpressionError when one is malformed, or too much would come of it.

    A variable that is not there is empty. In `strict` mode it is an error unless the expression has a default.
    """
    if "$" not in text:
        return text
    return _Evaluator(variables, strict=strict, limit=limit).text(parse(text))


class _Evaluator:
    def __init__(self, variables: Mapping[str, str], *, strict: bool, limit: int) -> None:
        self._variables = variables
        self._strict = strict
        self._limit = limit
        self._left = limit

    def text(self, parts: Sequence[Part]) -> str:
        return "".join([part if isinstance(part, str) else self._value(part) for part in parts])

    def _value(self, expression: Expression) -> str:
        arguments = [part if isinstance(part, str) else self._value(part) for part in expression.arguments]
        value = self._variables.get(expression.name)
        if value is None:
            if self._strict and not expression.has_default:
                raise ExpressionError(f'variable not set (strict mode): "{expression.name}"')
            value = ""
        if expression.operator.startswith("/"):
            self._spend(_replaced_size(expression.operator, value, arguments))
            return _replaced(expression.operator, value, arguments)
        result = _OPERATORS[expression.operator](value, arguments) if expression.operator in _OPERATORS else value
        self._spend(len(result))
        return result

    def _spend(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise ExpressionError(f"the expressions of one object come to more than {self._limit} bytes")


def _default(value: str, arguments: list[str]) -> str:
    return value or "".join(arguments)


def _hash(value: str, arguments: list[str]) -> str:
    if not arguments:
        return str(len(value.encode("utf-8", "surrogateescape")))
    return globs.cut(value, arguments[0], shortest=True)


def _suffix(value: str, glob: str, *, shortest: bool) -> str:
    """Works backwards on both, so a class or an escape in the pattern is malformed here, as it is with Flux."""
    return globs.cut(value[::-1], glob[::-1], shortest=shortest)[::-1]


def _substring(value: str, arguments: list[str]) -> str:
    start = _integer(arguments[0])
    if start is None:
        return value
    data = value.encode("utf-8", "surrogateescape")
    if start < 0:
        start = max(len(data) + start, 0)
    if len(arguments) == 1:
        return data[start:].decode("utf-8", "surrogateescape")
    length = _integer(arguments[1])
    if length is None:
        return value
    if length < 0:
        raise ExpressionError(f"a substring cannot have the length {length}")
    return data[start : start + length].decode("utf-8", "surrogateescape")


def _integer(text: str) -> int | None:
    if not _NUMBER.match(text):
        return None
    number = int(text)
    return number if -_INT64 <= number < _INT64 else None


def _replaced_size(operator: str, value: str, arguments: list[str]) -> int:
    """How long the value becomes at most, without making it."""
    old, new = arguments[0], arguments[1] if len(arguments) > 1 else ""
    count = (value.count(old) if operator == "//" else 1) if value or not old else 0
    return len(value) + count * max(len(new) - len(old), 0)


def _replaced(operator: str, value: str, arguments: list[str]) -> str:
    old, new = arguments[0], arguments[1] if len(arguments) > 1 else ""
    if operator == "//":
        return value.replace(old, new)
    if operator == "/":
        return value.replace(old, new, 1)
    if len(arguments) < 2:
        return value
    if operator == "/#":
        return new + value[len(old) :] if value.startswith(old) else value
    return value[: len(value) - len(old)] + new if value.endswith(old) else value


def _upper(text: str) -> str:
    """Character by character: `ß` stays what it is, where Python would write two letters."""
    return text.upper() if text.isascii() else "".join(map(_upper_character, text))


def _upper_character(char: str) -> str:
    upper = char.upper()
    if len(upper) == 1:
        return upper
    title = char.title()
    return title if len(title) == 1 else char


def _lower(text: str) -> str:
    return text.lower() if text.isascii() else "".join(map(_lower_character, text))


def _lower_character(char: str) -> str:
    return char.lower()[:1]


_OPERATORS: dict[str, Callable[[str, list[str]], str]] = {
    "=": _default,
    ":=": _default,
    ":-": _default,
    # Not what a shell does, but what Flux does.
    ":+": _default,
    ":?": _default,
    ":": _substring,
    "^": lambda value, _: _upper(value[:1]) + value[1:],
    "^^": lambda value, _: _upper(value),
    ",": lambda value, _: _lower(value[:1]) + value[1:],
    ",,": lambda value, _: _lower(value),
    "#": _hash,
    "##": lambda value, arguments: globs.cut(value, arguments[0], shortest=False),
    "%": lambda value, arguments: _suffix(value, arguments[0], shortest=True),
    "%%": lambda value, arguments: _suffix(value, arguments[0], shortest=False),
}
