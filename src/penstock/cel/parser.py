"""From tokens to the parts of an expression, macros already spread out.

A text that does not fit is refused in the words of cel-go, whose parser is made by ANTLR: `extraneous` when leaving one
token out would help, `missing` when putting one in would, `mismatched` otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.cel import lexer, macros
from penstock.cel.errors import CelSyntaxError, Issue, refused
from penstock.cel.syntax import Call, Ident, ListOf, Literal, MapOf, Message, Node, Select

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.cel.lexer import Token

LONGEST = 100_000
"""Characters of an expression."""
DEEPEST = 48
"""Expressions inside each other."""
MOST_LINKS = 200
"""Fields, calls or operators in one chain; those of `&&` and `||` are not counted."""

_RELATIONS = frozenset({"<", "<=", ">", ">=", "==", "!=", "in"})
_RESERVED = frozenset(
    {
        *("as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package"),
        *("namespace", "return", "var", "void", "while"),
    }
)
_STARTS = ("[", "{", "(", ".", "-", "!", "true", "false", "null")
_KINDS = {"float": "NUM_FLOAT", "int": "NUM_INT", "uint": "NUM_UINT", "string": "STRING", "bytes": "BYTES"}
_BEGINS = frozenset({*_STARTS, *_KINDS, "name"})
_ORDER = ("[", "]", "{", "}", "(", ")", ".", ",", "-", "!", "?", "true", "false", "null")
_TAIL = "NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER"


def parse(text: str) -> Node:
    """The expression; CelSyntaxError shows every place that is wrong."""
    if len(text) > LONGEST:
        raise CelSyntaxError(f"the CEL expression is longer than {LONGEST} characters")
    found, issues = lexer.tokens(text)
    parser = _Parser(found)
    try:
        node = parser.whole()
    except _Refused as error:
        issues.append(error.issue)
        raise refused(text, issues) from None
    issues += parser.issues
    if issues:
        raise refused(text, issues)
    return node


class _Refused(Exception):
    def __init__(self, offset: int, message: str) -> None:
        super().__init__(message)
        self.issue = Issue(offset, message)


class _Parser:
    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0
        self.issues: list[Issue] = []

    def whole(self) -> Node:
        node = self._expression()
        if self._kind != "end":
            raise self._syntax(f"extraneous input '{self._token.text}' expecting <EOF>")
        return node

    # --- operators, the loosest first ---

    def _expression(self) -> Node:
        self._depth += 1
        if self._depth > DEEPEST:
            raise self._too_deep()
        node = self._either()
        if self._kind == "?":
            offset = self._next().offset
            chosen = self._either()
            self._expect(":")
            node = Call(offset, "_?_:_", (node, chosen, self._expression()))
        self._depth -= 1
        return node

    def _either(self) -> Node:
        """All that one chain of `||` joins; it is one call, however long it is."""
        parts, offset = [self._both()], 0
        while self._kind == "||":
            offset = self._next().offset
            parts.append(self._both())
        return Call(offset, "_||_", tuple(parts)) if len(parts) > 1 else parts[0]

    def _both(self) -> Node:
        parts, offset = [self._relation()], 0
        while self._kind == "&&":
            offset = self._next().offset
            parts.append(self._relation())
        return Call(offset, "_&&_", tuple(parts)) if len(parts) > 1 else parts[0]

    def _relation(self) -> Node:
        node = self._sum()
        links = 0
        while self._kind in _RELATIONS:
            token = self._link(links := links + 1)
            name = "@in" if token.kind == "in" else f"_{token.kind}_"
            node = Call(token.offset, name, (node, self._sum()))
        return node

    def _sum(self) -> Node:
        node = self._product()
        links = 0
        while self._kind in ("+", "-"):
            token = self._link(links := links + 1)
            node = Call(token.offset, f"_{token.kind}_", (node, self._product()))
        return node

    def _product(self) -> Node:
        node = self._unary()
        links = 0
        while self._kind in ("*", "/", "%"):
            token = self._link(links := links + 1)
            node = Call(token.offset, f"_{token.kind}_", (node, self._unary()))
        return node

    def _unary(self) -> Node:
        sign = self._kind
        if sign not in ("!", "-"):
            return self._member()
        first = self._token.offset
        count = 0
        while self._kind == sign:
            self._at += 1
            count += 1
        if sign == "-" and count == 1 and self._kind in ("int", "float"):
            return self._member(negative=first)
        if self._kind == "end" and sign == "-":
            raise self._syntax("no viable alternative at input '-'")
        node = self._member()
        return Call(first, f"{sign}_", (node,)) if count % 2 else node

    # --- members and primaries ---

    def _member(self, negative: int | None = None) -> Node:
        node = self._primary() if negative is None else self._number(negative)
        links = 0
        while self._kind in (".", "["):
            links += 1
            if links > MOST_LINKS:
                raise self._too_deep()
            node = self._field(node) if self._kind == "." else self._index(node)
        return node

    def _field(self, node: Node) -> Node:
        dot = self._next()
        optional = self._kind == "?"
        if optional:
            self._at += 1
        name = self._token
        if name.kind == "escaped":
            raise self._refused(name.offset, "unsupported syntax: '`'")
        if name.kind != "name":
            if optional:
                raise self._syntax(f"mismatched input '{name.text}' expecting {{IDENTIFIER, ESC_IDENTIFIER}}")
            raise self._syntax(f"no viable alternative at input '.{'' if name.kind == 'end' else name.text}'")
        self._at += 1
        if self._kind == "(" and not optional:
            opened = self._next()
            return self._called(opened.offset, name.text, node)
        return Select(dot.offset, node, name.text, optional=optional)

    def _index(self, node: Node) -> Node:
        opened = self._next()
        optional = self._kind == "?"
        if optional:
            self._at += 1
        if self._kind not in _BEGINS:
            raise self._mismatch(_expecting("?"))
        key = self._expression()
        self._expect("]")
        return Call(opened.offset, "_[?_]" if optional else "_[_]", (node, key))

    def _primary(self) -> Node:
        token = self._token
        if token.kind in ("int", "uint", "float"):
            return self._number()
        if token.kind in ("string", "bytes"):
            self._at += 1
            return self._made(token, lambda: lexer.string(token))
        if token.kind in ("true", "false", "null"):
            self._at += 1
            return Literal(token.offset, {"true": True, "false": False, "null": None}[token.kind])
        if token.kind in (".", "name"):
            return self._name()
        if token.kind == "(":
            self._at += 1
            node = self._expression()
            self._expect(")")
            return node
        if token.kind == "[":
            return self._list()
        if token.kind == "{":
            return self._map()
        raise self._mismatch(_expecting())

    def _number(self, negative: int | None = None) -> Node:
        token = self._next()
        node = self._made(token, lambda: lexer.number(token, negative=negative is not None))
        return node if negative is None else Literal(negative, node.value)

    def _made(self, token: Token, make: Callable[[], Any]) -> Literal:
        try:
            return Literal(token.offset, make())
        except ValueError as error:
            self.issues.append(Issue(token.offset, str(error)))
            return Literal(token.offset, None)

    def _name(self) -> Node:
        dot = self._next() if self._kind == "." else None
        token = self._token
        if token.kind != "name":
            raise self._syntax(f"mismatched input '{token.text}' expecting IDENTIFIER")
        self._at += 1
        offset = dot.offset if dot else token.offset
        if token.text in _RESERVED:
            self.issues.append(Issue(token.offset, f"reserved identifier: {token.text}"))
        name = f".{token.text}" if dot else token.text
        if self._kind == "(":
            opened = self._next()
            return self._called(opened.offset, name, None)
        message = self._message(offset, token.text)
        return message or Ident(offset, name)

    def _message(self, offset: int, name: str) -> Node | None:
        """A name with fields in braces behind it."""
        at = self._at
        while self._tokens[at].kind == "." and self._tokens[at + 1].kind == "name":
            name += f".{self._tokens[at + 1].text}"
            at += 2
        if self._tokens[at].kind != "{":
            return None
        self._at = at + 1
        while self._kind != "}":
            if self._kind == "?":
                self._at += 1
            self._expect("name")
            self._expect(":")
            self._expression()
            if self._kind != ",":
                break
            self._at += 1
        self._expect("}")
        return Message(offset, name)

    def _called(self, offset: int, name: str, target: Node | None) -> Node:
        arguments = self._arguments()
        try:
            return macros.expanded(Call(offset, name, arguments, target))
        except macros.Misused as error:
            raise self._refused(error.offset, str(error)) from None

    def _arguments(self) -> tuple[Node, ...]:
        if self._kind == ")":
            self._at += 1
            return ()
        if self._kind not in _BEGINS:
            raise self._mismatch(_expecting(")"))
        found = [self._expression()]
        while self._kind == ",":
            self._at += 1
            found.append(self._expression())
        self._expect(")")
        return tuple(found)

    def _list(self) -> Node:
        opened = self._next()
        found: list[Node] = []
        optional: set[int] = set()
        if self._kind not in _BEGINS and self._kind not in ("?", "]", ","):
            raise self._mismatch(_expecting("]", ",", "?"))
        while self._kind not in ("]", ",", "end"):
            if self._kind == "?":
                self._at += 1
                optional.add(len(found))
            found.append(self._expression())
            if self._kind != ",":
                break
            self._at += 1
        if not found and self._kind == ",":
            self._at += 1
        self._expect("]", also=",")
        return ListOf(opened.offset, tuple(found), frozenset(optional))

    def _map(self) -> Node:
        opened = self._next()
        found: list[tuple[Node, Node, bool]] = []
        if self._kind not in _BEGINS and self._kind not in ("?", "}", ","):
            raise self._mismatch(_expecting("}", ",", "?"))
        while self._kind not in ("}", ",", "end"):
            optional = self._kind == "?"
            if optional:
                self._at += 1
            key = self._expression()
            self._expect(":")
            found.append((key, self._expression(), optional))
            if self._kind != ",":
                break
            self._at += 1
        if not found and self._kind == ",":
            self._at += 1
        self._expect("}", also=",")
        return MapOf(opened.offset, tuple(found))

    # --- tokens ---

    @property
    def _token(self) -> Token:
        return self._tokens[self._at]

    @property
    def _kind(self) -> str:
        return self._tokens[self._at].kind

    def _next(self) -> Token:
        token = self._tokens[self._at]
        self._at += 1
        return token

    def _link(self, count: int) -> Token:
        """The operator that adds one more to a chain."""
        if count > MOST_LINKS:
            raise self._too_deep()
        return self._next()

    def _too_deep(self) -> _Refused:
        return self._refused(self._token.offset, "expression recursion limit exceeded")

    def _expect(self, kind: str, *, also: str = "") -> Token:
        token = self._token
        if token.kind == kind:
            return self._next()
        following = self._tokens[min(self._at + 1, len(self._tokens) - 1)].kind
        wanted = f"{{'{kind}', '{also}'}}" if also else f"'{kind}'"
        if following == kind and token.kind != "end":
            raise self._syntax(f"extraneous input '{token.text}' expecting {wanted}")
        if kind in (")", "]", "}") and (token.kind == "end" or token.kind in _RELATIONS) and not (also and kind == "}"):
            raise self._syntax(f"missing '{kind}' at '{token.text}'")
        raise self._syntax(f"mismatched input '{token.text}' expecting {wanted}")

    def _mismatch(self, wanted: str) -> _Refused:
        token = self._token
        following = self._tokens[min(self._at + 1, len(self._tokens) - 1)].kind
        word = "extraneous" if following in _BEGINS and token.kind != "end" else "mismatched"
        return self._syntax(f"{word} input '{token.text}' expecting {wanted}")

    def _syntax(self, message: str) -> _Refused:
        return self._refused(self._token.offset, f"Syntax error: {message}")

    def _refused(self, offset: int, message: str) -> _Refused:
        return _Refused(offset, message)


def _expecting(*more: str) -> str:
    """What may stand where an expression begins, in the order of ANTLR's tokens."""
    signs = [f"'{sign}'" for sign in _ORDER if sign in _STARTS or sign in more]
    return f"{{{', '.join(signs)}, {_TAIL}}}"
