"""Label selectors as text: what they require, and in the API server's words why a text is none."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from penstock.errors import PenstockError
from penstock.labels.names import label_value, qualified_name
from penstock.labels.requirement import Requirement, Requirements, integer

if TYPE_CHECKING:
    from penstock.labels.names import Words

_SPECIAL = "=!(),<>"
_SPACE = " \t\r\n"
_OPERATORS = frozenset(("=", "==", "!=", "in", "notin", ">", "<"))


class BadSelector(PenstockError):
    """What is no label selector."""


class BadKey(BadSelector):
    """A word that cannot be the key of a label."""

    def __init__(self, key: str, words: Words) -> None:
        super().__init__(f"'{key}' is no label key: {'; '.join(words)}")
        self.key = key
        self.words = words


class BadValue(BadSelector):
    """A word that cannot be the value of a label."""

    def __init__(self, key: str, value: str, words: Words) -> None:
        super().__init__(f"'{value}' is no value of a label: {'; '.join(words)}")
        self.key = key
        self.value = value
        self.words = words


class BadBound(BadSelector):
    """A word behind `<` or `>` that is no number."""

    def __init__(self, value: str) -> None:
        super().__init__(f"a label selector compares with numbers, not with '{value}'")
        self.value = value


@lru_cache(maxsize=1024)
def parse_selector(text: str) -> Requirements:
    """The requirements of a selector such as `app=web,tier in (a, b),!old`; an empty one has none.

    BadSelector when it makes no sense.
    """
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
                raise BadSelector(f"found '{token}', expected: !, identifier, or 'end of string'")
            found.append(self._requirement())
            token = self._take()
            if not token:
                return tuple(found)
            if token != ",":  # noqa: S105
                raise BadSelector(f"found '{token}', expected: ',' or 'end of string'")
            following = self._peek()
            if not (_is_word(following) or following == "!"):
                raise BadSelector(f"found '{following}', expected: identifier after ','")

    def _requirement(self) -> Requirement:
        negated = self._peek() == "!"
        if negated:
            self._take()
        key = self._take()
        if not _is_word(key):
            raise BadSelector(f"unable to parse requirement: found '{key}', expected: identifier")
        if words := qualified_name(key):
            raise BadKey(key, words)
        following = self._peek()
        if following in ("", ","):
            return Requirement(key, "absent" if negated else "exists")
        if negated:
            return Requirement(key, "absent")
        operator = self._take()
        if operator not in _OPERATORS:
            raise BadSelector(
                f"unable to parse requirement: found '{operator}', expected: in, notin, =, ==, !=, gt, lt"
            )
        values = self._values() if operator in ("in", "notin") else self._exact()
        return _requirement(key, operator, values)

    def _exact(self) -> list[str]:
        following = self._peek()
        if following in ("", ","):
            return [""]
        if not _is_word(following):
            raise BadSelector(f"unable to parse requirement: found '{following}', expected: identifier")
        return [self._take()]

    def _values(self) -> list[str]:
        if self._take() != "(":
            found = self._tokens[self._position - 1] if self._position <= len(self._tokens) else ""
            raise BadSelector(f"unable to parse requirement: found '{found}' expected: '('")
        if self._peek() == ")":
            self._take()
            return [""]
        if not (_is_word(self._peek()) or self._peek() == ","):
            raise BadSelector(f"unable to parse requirement: found '{self._peek()}', expected: ',', ')' or identifier")
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
                    raise BadSelector(f"unable to parse requirement: found '{following}', expected: ',' or ')'")
                if self._peek() == ")":
                    self._take()
                    return [*values, ""]
            elif token == ",":  # noqa: S105
                values.append("")
                if self._peek() == ")":
                    self._take()
                    return [*values, ""]
            else:
                raise BadSelector(f"unable to parse requirement: found '{token}', expected: ',', or identifier")

    def _peek(self) -> str:
        return self._tokens[self._position] if self._position < len(self._tokens) else ""

    def _take(self) -> str:
        token = self._peek()
        self._position += 1
        return token


def _requirement(key: str, operator: str, values: list[str]) -> Requirement:
    for value in values:
        if words := label_value(value):
            raise BadValue(key, value, words)
    match operator:
        case "=" | "==" | "in":
            return Requirement(key, "in", frozenset(values))
        case "!=" | "notin":
            return Requirement(key, "notin", frozenset(values))
        case _:
            if integer(values[0]) is None:
                raise BadBound(values[0])
            return Requirement(key, "gt" if operator == ">" else "lt", frozenset(values))
