"""Label and field selectors: parsed as the API server parses them, with its words for what is wrong."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from penstock.embedded.kinds.names import label_value, qualified_name
from penstock.embedded.kinds.problems import go_quote
from penstock.embedded.status import bad_request

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

Operator = Literal["in", "notin", "exists", "absent", "gt", "lt"]

_SPECIAL = "=!(),<>"
_SPACE = " \t\r\n"
_OPERATORS = frozenset(("=", "==", "!=", "in", "notin", ">", "<"))


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on one label."""

    key: str
    operator: Operator
    values: frozenset[str] = frozenset()

    def matches(self, labels: Mapping[str, str]) -> bool:
        value = labels.get(self.key)
        match self.operator:
            case "in":
                return value is not None and value in self.values
            case "notin":
                return value is None or value not in self.values
            case "exists":
                return value is not None
            case "absent":
                return value is None
            case "gt" | "lt":
                return value is not None and self._compares(value)

    def _compares(self, value: str) -> bool:
        (bound,) = self.values
        try:
            return int(value) > int(bound) if self.operator == "gt" else int(value) < int(bound)
        except ValueError:
            return False


Requirements = tuple[Requirement, ...]


@lru_cache(maxsize=512)
def label_selector(text: str) -> Requirements:
    """The requirements of a `labelSelector`; 400 with the server's words when it makes no sense."""
    return _Parser(_tokens(text)).parse()


def _tokens(text: str) -> list[str]:
    tokens: list[str] = []
    position = 0
    while position < len(text):
        char = text[position]
        if char in _SPACE:
            position += 1
            continue
        start = position
        if char in _SPECIAL:
            position += 1
            while position < len(text) and text[start : position + 1] in ("==", "!="):
                position += 1
        else:
            while position < len(text) and text[position] not in _SPECIAL and text[position] not in _SPACE:
                position += 1
        tokens.append(text[start:position])
    return tokens


def _is_word(token: str) -> bool:
    return bool(token) and token[0] not in _SPECIAL


class _Parser:
    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._position = 0

    def parse(self) -> Requirements:
        found: list[Requirement] = []
        if not self._peek():
            return ()
        while True:
            token = self._peek()
            if not (_is_word(token) or token == "!"):  # noqa: S105 - a word of the selector
                raise bad_request(f"found '{token}', expected: !, identifier, or 'end of string'")
            found.append(self._requirement())
            token = self._take()
            if not token:
                return tuple(found)
            if token != ",":  # noqa: S105
                raise bad_request(f"found '{token}', expected: ',' or 'end of string'")
            following = self._peek()
            if not (_is_word(following) or following == "!"):
                raise bad_request(f"found '{following}', expected: identifier after ','")

    def _requirement(self) -> Requirement:
        negated = self._peek() == "!"
        if negated:
            self._take()
        key = self._take()
        if not _is_word(key):
            raise bad_request(f"unable to parse requirement: found '{key}', expected: identifier")
        _check_key(key)
        following = self._peek()
        if following in ("", ","):
            return Requirement(key, "absent" if negated else "exists")
        if negated:
            return Requirement(key, "absent")
        operator = self._take()
        if operator not in _OPERATORS:
            raise bad_request(
                f"unable to parse requirement: found '{operator}', expected: in, notin, =, ==, !=, gt, lt"
            )
        values = self._values() if operator in ("in", "notin") else self._exact()
        return _requirement(key, operator, values)

    def _exact(self) -> list[str]:
        following = self._peek()
        if following in ("", ","):
            return [""]
        if not _is_word(following):
            raise bad_request(f"unable to parse requirement: found '{following}', expected: identifier")
        return [self._take()]

    def _values(self) -> list[str]:
        if self._take() != "(":
            found = self._tokens[self._position - 1] if self._position <= len(self._tokens) else ""
            raise bad_request(f"unable to parse requirement: found '{found}' expected: '('")
        if self._peek() == ")":
            self._take()
            return [""]
        if not (_is_word(self._peek()) or self._peek() == ","):
            raise bad_request(f"unable to parse requirement: found '{self._peek()}', expected: ',', ')' or identifier")
        return self._identifiers()

    def _identifiers(self) -> list[str]:
        values: list[str] = []
        while True:
            token = self._take()
            if _is_word(token):
                values.append(token)
                following = self._take()
                if following == ")":
                    return values
                if following != ",":
                    raise bad_request(f"unable to parse requirement: found '{following}', expected: ',' or ')'")
                if self._peek() == ")":
                    self._take()
                    return [*values, ""]
            elif token == ",":  # noqa: S105
                values.append("")
                if self._peek() == ")":
                    self._take()
                    return [*values, ""]
            else:
                raise bad_request(f"unable to parse requirement: found '{token}', expected: ',', or identifier")

    def _peek(self) -> str:
        return self._tokens[self._position] if self._position < len(self._tokens) else ""

    def _take(self) -> str:
        token = self._peek()
        self._position += 1
        return token


def _requirement(key: str, operator: str, values: list[str]) -> Requirement:
    for value in values:
        _check_value(key, value)
    match operator:
        case "=" | "==" | "in":
            return Requirement(key, "in", frozenset(values))
        case "!=" | "notin":
            return Requirement(key, "notin", frozenset(values))
        case _:
            try:
                int(values[0])
            except ValueError:
                raise bad_request(
                    f'unable to parse requirement: values[0]: Invalid value: "{values[0]}": '
                    "for 'Gt', 'Lt' operators, the value must be an integer"
                ) from None
            return Requirement(key, "gt" if operator == ">" else "lt", frozenset(values))


def _check_key(key: str) -> None:
    if words := qualified_name(key):
        told = "; ".join(words).replace("a qualified name", "a valid label key")
        raise bad_request(f"unable to parse requirement: <nil>: Invalid value: {go_quote(key)}: {told}")


def _check_value(key: str, value: str) -> None:
    if words := label_value(value):
        told = "; ".join(words)
        raise bad_request(f"unable to parse requirement: values[0][{key}]: Invalid value: {go_quote(value)}: {told}")


@dataclass(frozen=True, slots=True)
class FieldTerm:
    """One condition on one field."""

    field: str
    value: str
    negated: bool

    def matches(self, read: Callable[[str], str]) -> bool:
        return (read(self.field) == self.value) != self.negated


@lru_cache(maxsize=512)
def field_selector(text: str) -> tuple[FieldTerm, ...]:
    """The terms of a `fieldSelector`, whatever the fields are called."""
    terms: list[FieldTerm] = []
    for part in _split_terms(text):
        if not part:
            continue
        field, operator, value = _split_operator(part)
        if not operator:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
        if field or value:
            terms.append(FieldTerm(field, _unescape(value, text), operator == "!="))
    return tuple(terms)


def _split_terms(text: str) -> Sequence[str]:
    return re.split(r"(?<!\\),", text) if text else ()


def _split_operator(term: str) -> tuple[str, str, str]:
    for position in range(len(term)):
        for operator in ("!=", "==", "="):
            if term.startswith(operator, position):
                return term[:position], operator, term[position + len(operator) :]
    return term, "", ""


def _unescape(value: str, selector: str) -> str:
    if "\\" not in value:
        return value
    found: list[str] = []
    chars = iter(value)
    for char in chars:
        if char != "\\":
            found.append(char)
            continue
        escaped = next(chars, "")
        if escaped not in ("\\", ",", "="):
            raise bad_request(f"invalid field selector: invalid escape sequence: \\{escaped} in {selector}")
        found.append(escaped)
    return "".join(found)
