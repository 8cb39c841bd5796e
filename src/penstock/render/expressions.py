"""Variable expressions such as `${name:=default}`: what they look like.

The grammar is the one of the library that Flux uses, its oddities included: inside the arguments of an operator only
the operators with `/` know escapes, a text argument ends where another expression begins, and `$x` is plain text. A
text is read once, from left to right.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from penstock.errors import PenstockError

_DEEPEST = 64
_DEFAULTS = frozenset({"=", ":=", ":-", ":?", ":+"})
_DEFAULT_SIGNS = "=-?+"

_TEXT = re.compile(r"(?:[^$]+|\$(?![${]))+")
_NOT_CLOSING = re.compile(r"(?:[^$}]+|\$(?!\{))+")
_NOT_COLON = re.compile(r"(?:[^$:}]+|\$(?!\{))+")
_NOT_SLASH = re.compile(r"(?:[^$/\\]+|\$(?![${])|\\(?![/\\]))+")
_ESCAPED_NOT_CLOSING = re.compile(r"(?:[^$}\\]|\$(?![${])|\\(?![/\\]))+")
_NAME = re.compile(r"\w+")


class ExpressionError(PenstockError):
    """A text holds an expression that cannot be understood or replaced."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A variable, what is done with it, and the arguments of that: texts, or expressions again."""

    name: str
    operator: str = ""
    arguments: tuple[Part, ...] = ()

    @property
    def has_default(self) -> bool:
        """Whether the operator says what stands in place of a variable that is not there."""
        return self.operator in _DEFAULTS


Part = str | Expression


def parse(text: str) -> list[Part]:
    """The texts and expressions in a text, in order; `$$` outside of expressions is one `$`."""
    return _Reader(text).parts()


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def parts(self) -> list[Part]:
        found: list[Part] = []
        while self._at < len(self._text):
            if self._text.startswith("${", self._at):
                self._at += 2
                found.append(self._expression(0))
            else:
                found.append(self._escaped(_TEXT, "$"))
        return found

    def _expression(self, depth: int) -> Expression:
        """What stands behind `${`, up to and with the closing brace."""
        if depth > _DEEPEST:
            raise ExpressionError(f"expressions lie more than {_DEEPEST} deep in each other")
        if self._peek() == "#":
            return self._length()
        name = self._name()
        if not name:
            raise ExpressionError("unable to parse variable name")
        sign = self._peek()
        if sign == ":":
            second = self._text[self._at + 1 : self._at + 2]
            return self._default(name, depth) if second and second in _DEFAULT_SIGNS else self._substring(name, depth)
        if sign == "=":
            return self._default(name, depth)
        if sign in (",", "^"):
            operator = self._signs(",^")
            self._close()
            return Expression(name, operator)
        if sign == "/":
            return self._replacement(name, depth)
        if sign in ("#", "%"):
            operator = self._signs(sign)
            argument = self._argument(_NOT_CLOSING, depth)
            self._close()
            return Expression(name, operator, (argument,))
        if sign != "}":
            raise ExpressionError("missing closing brace")
        self._at += 1
        return Expression(name)

    def _length(self) -> Expression:
        self._at += 1
        name = self._name()
        if not name:
            raise ExpressionError("bad substitution")
        self._close()
        return Expression(name, "#")

    def _default(self, name: str, depth: int) -> Expression:
        operator = "=" if self._peek() == "=" else self._text[self._at : self._at + 2]
        self._at += len(operator)
        arguments: list[Part] = []
        while self._peek() != "}":
            arguments.append(self._argument(_NOT_CLOSING, depth))
        self._at += 1
        return Expression(name, operator, tuple(arguments))

    def _substring(self, name: str, depth: int) -> Expression:
        self._at += 1
        if self._at == len(self._text):
            raise ExpressionError("bad substitution")
        start = self._argument(_NOT_COLON, depth)
        if self._peek() == "}":
            self._at += 1
            return Expression(name, ":", (start,))
        if not self._skip(":"):
            raise ExpressionError("bad substitution")
        length = self._argument(_NOT_CLOSING, depth)
        self._close()
        return Expression(name, ":", (start, length))

    def _replacement(self, name: str, depth: int) -> Expression:
        self._at += 1
        second = self._peek()
        operator = f"/{second}" if second and second in "/#%" else "/"
        self._at += len(operator) - 1
        old = self._argument(_NOT_SLASH, depth, closing="/")
        if not self._skip("/"):
            raise ExpressionError("bad substitution")
        if self._peek() == "}":
            self._at += 1
            return Expression(name, operator, (old,))
        new = self._argument(_ESCAPED_NOT_CLOSING, depth, closing="}")
        self._close()
        return Expression(name, operator, (old, new))

    def _argument(self, pattern: re.Pattern[str], depth: int, *, closing: str = "") -> Part:
        """One argument: an expression, or a text up to the next one or to the sign that ends it."""
        if self._text.startswith("${", self._at):
            self._at += 2
            return self._expression(depth + 1)
        text = self._escaped(pattern, "$", closing) if closing else self._taken(pattern)
        if not text:
            raise ExpressionError("unable to parse substitution within function")
        return text

    def _escaped(self, pattern: re.Pattern[str], *signs: str) -> str:
        """A text with its escapes undone: `$$` everywhere, `\\/` and `\\\\` where there is a sign that ends it."""
        found: list[str] = []
        while True:
            found.append(self._taken(pattern))
            pair = self._text[self._at : self._at + 2]
            if pair != "$$" and not (len(signs) > 1 and pair in ("\\/", "\\\\")):
                return "".join(found)
            found.append(pair[1])
            self._at += 2

    def _taken(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self._text, self._at)
        if match is None:
            return ""
        self._at = match.end()
        return match[0]

    def _name(self) -> str:
        """Letters, digits and underscores; only decimal digits count, unlike in a regular expression."""
        name = self._taken(_NAME)
        for index, char in enumerate(name):
            if not (char.isalpha() or char.isdecimal() or char == "_"):
                self._at -= len(name) - index
                return name[:index]
        return name

    def _signs(self, allowed: str) -> str:
        """At most two of the signs."""
        start = self._at
        while self._at - start < 2 and (sign := self._peek()) and sign in allowed:
            self._at += 1
        return self._text[start : self._at]

    def _skip(self, sign: str) -> bool:
        """Go past one or more of a sign."""
        start = self._at
        while self._peek() == sign:
            self._at += 1
        return self._at > start

    def _close(self) -> None:
        if self._peek() != "}":
            raise ExpressionError("bad substitution")
        self._at += 1

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]
