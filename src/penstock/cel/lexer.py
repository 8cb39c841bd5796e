"""An expression as tokens."""

from __future__ import annotations

import re
from typing import NamedTuple

from penstock.cel.errors import Issue
from penstock.cel.values import UInt

_ESCAPE = r"""\\(?:[abfnrtv"'\\?`]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2})"""
_STRING = rf"""(?:
    [rR](?:\"\"\"(?s:.)*?\"\"\"|'''(?s:.)*?'''|"[^"\n\r]*"|'[^'\n\r]*')
  | \"\"\"(?:[^\\]|{_ESCAPE})*?\"\"\" | '''(?:[^\\]|{_ESCAPE})*?'''
  | "(?:[^\\"\n\r]|{_ESCAPE})*" | '(?:[^\\'\n\r]|{_ESCAPE})*'
)"""
_TOKEN = re.compile(
    rf"""
    (?P<blank>[\t \r\n\x0c]+|//[^\n]*)
  | (?P<bytes>[bB]{_STRING})
  | (?P<string>{_STRING})
  | (?P<float>(?:[0-9]+\.[0-9]+|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)
  | (?P<uint>(?:0x[0-9a-fA-F]+|[0-9]+)[uU])
  | (?P<int>0x[0-9a-fA-F]+|[0-9]+)
  | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
  | (?P<escaped>`[A-Za-z0-9_./ -]+`)
  | (?P<sign>&&|\|\||==|!=|<=|>=|[-+*/%<>!?:.,()\[\]{{}}])
    """,
    re.VERBOSE,
)
_WORDS = frozenset({"true", "false", "null", "in"})
_SIMPLE = dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True))
_IN_TEXT = re.compile(r"\\(?:[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))", re.DOTALL)
_INT64 = 2**63


class Token(NamedTuple):
    """`kind` is the sign or word itself, or one of `int`, `uint`, `float`, `string`, `bytes`, `name`, `end`."""

    kind: str
    text: str
    offset: int


def tokens(text: str) -> tuple[list[Token], list[Issue]]:
    """All tokens, with one of the kind `end` behind them, and what could not be read as one."""
    found: list[Token] = []
    issues: list[Issue] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            end = _bad_end(text, at)
            issues.append(Issue(at, f"Syntax error: token recognition error at: '{text[at:end]}'"))
            at = end
            continue
        kind, part = str(match.lastgroup), match[0]
        if kind == "sign" or part in _WORDS:
            kind = part
        if kind != "blank":
            found.append(Token(kind, part, at))
        at = match.end()
    found.append(Token("end", "<EOF>", len(text)))
    return found, issues


def _bad_end(text: str, at: int) -> int:
    """Where what is no token ends: a string that is never closed takes all up to where it goes wrong."""
    if text[at] not in "\"'":
        return at + 1
    quote = text[at]
    end = at + 1
    escape = re.compile(_ESCAPE)
    while end < len(text) and text[end] not in ("\n", "\r", quote):
        if text[end] != "\\":
            end += 1
        elif match := escape.match(text, end):
            end = match.end()
        else:
            return min(end + 2, len(text))
    return end


def number(token: Token, *, negative: bool = False) -> int | UInt | float:
    """The value of a number; ValueError with cel-go's words when it does not fit."""
    text = token.text
    if token.kind == "float":
        value = float(text)
        if value == float("inf"):
            raise ValueError("invalid double literal")
        return -value if negative else value
    base = 16 if text.startswith("0x") else 10
    if token.kind == "uint":
        unsigned = int(text[:-1], base)
        if unsigned >= 2 * _INT64:
            raise ValueError("invalid uint literal")
        return UInt(unsigned)
    whole = -int(text, base) if negative else int(text, base)
    if not -_INT64 <= whole < _INT64:
        raise ValueError("invalid int literal")
    return whole


def string(token: Token) -> str | bytes:
    """The value of a string or of bytes; ValueError when an escape stands for no character."""
    text = token.text
    is_bytes = token.kind == "bytes"
    text = text[1:] if is_bytes else text
    raw = text[0] in "rR"
    text = text[1:] if raw else text
    size = 3 if text[:3] in ('"""', "'''") else 1
    body = text[size:-size].replace("\r\n", "\n").replace("\r", "\n")
    if raw or "\\" not in body:
        return body.encode() if is_bytes else body
    if is_bytes:
        return _unescaped_bytes(body)
    return _IN_TEXT.sub(_character, body)


def _character(match: re.Match[str]) -> str:
    if match[5] is not None:
        return _SIMPLE.get(match[5], match[5])
    code = int(match[4], 8) if match[4] else int(match[1] or match[2] or match[3], 16)
    if code > 0x10FFFF or 0xD800 <= code < 0xE000:
        raise ValueError("illegal unicode code point")
    return chr(code)


def _unescaped_bytes(body: str) -> bytes:
    """In bytes, `\\x` and octal escapes are bytes and not characters."""
    made = bytearray()
    at = 0
    for match in _IN_TEXT.finditer(body):
        made += body[at : match.start()].encode()
        if match[1] or match[4]:
            made.append(int(match[1], 16) if match[1] else int(match[4], 8))
        else:
            made += _character(match).encode()
        at = match.end()
    return bytes(made + body[at:].encode())
