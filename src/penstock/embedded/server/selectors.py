"""Label and field selectors of a request: parsed as the API server parses them, with its words for what is wrong."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from penstock.embedded.kinds.problems import go_quote
from penstock.embedded.status import bad_request
from penstock.labels import BadBound, BadKey, BadSelector, BadValue, parse_selector

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.labels import Requirements


def label_selector(text: str) -> Requirements:
    """The requirements of a `labelSelector`; 400 with the server's words when it makes no sense."""
    try:
        return parse_selector(text)
    except BadSelector as error:
        raise bad_request(_words(error)) from None


def _words(error: BadSelector) -> str:
    match error:
        case BadKey(key=key, words=words):
            told = "; ".join(words).replace("a qualified name", "a valid label key")
            return f"unable to parse requirement: <nil>: Invalid value: {go_quote(key)}: {told}"
        case BadValue(key=key, value=value, words=words):
            told = "; ".join(words)
            return f"unable to parse requirement: values[0][{key}]: Invalid value: {go_quote(value)}: {told}"
        case BadBound(value=value):
            return (
                f'unable to parse requirement: values[0]: Invalid value: "{value}": '
                "for 'Gt', 'Lt' operators, the value must be an integer"
            )
        case _:
            return str(error)


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
    if "\\" not in value and "=" not in value:
        return value
    found: list[str] = []
    chars = iter(value)
    for char in chars:
        if char == "=":
            raise bad_request(f"invalid field selector: unescaped character in value: {ord(char)}")
        if char != "\\":
            found.append(char)
            continue
        escaped = next(chars, "")
        if escaped not in ("\\", ",", "="):
            raise bad_request(f"invalid field selector: invalid escape sequence: \\{escaped} in {selector}")
        found.append(escaped)
    return "".join(found)
