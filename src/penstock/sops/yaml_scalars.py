"""What a YAML scalar means, and how a value is spelled, in the YAML 1.2 dialect (with some of 1.1) that SOPS reads."""

from __future__ import annotations

import binascii
import re
from math import inf, isinf, isnan, nan

from penstock.sops.errors import LoadError
from penstock.sops.values import Scalar, Timestamp, decoded, encoded, general, is_text, timestamp
from penstock.yaml.binary import base64_lines

_CORE = "tag:yaml.org,2002:"
_KNOWN: dict[str, Scalar] = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -inf),
}
_OLD_BOOLEANS = frozenset(
    ("y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "n", "N", "no", "No", "NO", "off", "Off", "OFF")
)
_BASE_60 = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?\Z")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
_INTEGER = re.compile(r"([-+]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]*|[1-9][0-9]*)\Z")
_BASES = {"x": 16, "b": 2, "o": 8}
_PRINTABLE = r"\x20-\x7e\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd"
_UNPRINTABLE = re.compile(rf"[^\n{_PRINTABLE}]")
_ESCAPED = re.compile(rf"""[^{_PRINTABLE}]|["\\\u2028\u2029]""")
_BREAKS = "\r\n\x85\u2028\u2029"
_ESCAPES = {
    "\0": "0", "\x07": "a", "\x08": "b", "\t": "t", "\n": "n", "\v": "v", "\f": "f", "\r": "r", "\x1b": "e",
    '"': '"', "\\": "\\", "\x85": "N", "\u2028": "L", "\u2029": "P",
}  # fmt: skip


def resolve(text: str, tag: str | None, *, plain: bool) -> Scalar:
    """The value of a scalar with an optional tag; quoted ones without a tag are text."""
    short = tag.removeprefix(_CORE) if tag and tag.startswith(_CORE) else tag
    if short == "binary":
        return _binary(text)
    if (short is None and not plain) or short in ("str", "!"):
        return text
    if short is not None and short not in ("int", "float", "bool", "null", "timestamp"):
        return text
    value = _implicit(text, dates=short in (None, "timestamp"))
    if short == "float" and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if short is not None and _tag(value) != short:
        raise LoadError(f"a value tagged !!{short} is not one")
    return value


def _implicit(text: str, *, dates: bool = True) -> Scalar:
    if text in _KNOWN:
        return _KNOWN[text]
    first = text[0]
    if first == "." or first.isdigit() or first in "+-":
        found = timestamp(text) if dates and first.isdigit() else None
        return found or _number(text if first == "." else text.replace("_", ""), text)
    return text


def _number(digits: str, text: str) -> Scalar:
    whole = _INTEGER.match(digits)
    if whole:
        value = _integer(whole[1], whole[2])
        if value is not None:
            return value
    if _FLOAT.match(digits):
        number = float(digits)
        return text if isinf(number) else number
    return text


def _integer(sign: str, digits: str) -> int | None:
    base = 10 if digits[0] != "0" or digits == "0" else _BASES.get(digits[1].lower(), 8)
    body = digits[2:] if base != 10 and not digits[1].isdigit() else digits
    if not body or len(body) > 70:
        return None
    value = int(body, base) * (-1 if sign == "-" else 1)
    if 2**63 <= value < 2**64:
        raise LoadError("an integer does not fit into 64 bits with a sign; quote it")
    return value if -(2**63) <= value < 2**63 else None


def _tag(value: Scalar) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "bool"
        case int():
            return "int"
        case float():
            return "float"
        case Timestamp():
            return "timestamp"
        case str():
            return "str"


def _binary(text: str) -> str:
    try:
        return decoded(binascii.a2b_base64("".join(text.split()), strict_mode=True))
    except ValueError as error:
        raise LoadError("a value tagged !!binary is not base64") from error


def spell(value: Scalar) -> str:
    """A scalar on one line. Text of several lines that can be a block is not for this function."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return _spell_float(value)
        case Timestamp():
            return value.text
        case str():
            return _spell_text(value)


def _spell_float(value: float) -> str:
    if isnan(value):
        return ".nan"
    if isinf(value):
        return ".inf" if value > 0 else "-.inf"
    written = general(value)
    return "-0.0" if written == "-0" else written  # a bare -0 would be read as an integer, and the MAC would not fit


def _spell_text(text: str) -> str:
    if not is_text(text):
        return f"!!binary {quoted(written) if (written := base64_lines(encoded(text))).endswith(chr(10)) else written}"
    if text == "<<":
        return "!!merge <<"
    if not text or not _stays_text(text):
        return quoted(text)
    if _UNPRINTABLE.search(text) or any(mark in text for mark in _BREAKS):
        return quoted(text)
    return "'" + text.replace("'", "''") + "'" if _needs_quotes(text) else text


def _stays_text(text: str) -> bool:
    """True when a reader would take the bare word for text, even one that knows only YAML 1.1."""
    if text in _OLD_BOOLEANS or _BASE_60.match(text):
        return False
    try:
        return isinstance(_implicit(text), str)
    except LoadError:
        return False


def _needs_quotes(text: str) -> bool:
    first, last = text[0], text[-1]
    if first == " " or last == " " or text.startswith(("---", "...")):
        return True
    if first in "#,[]{}&*!|>'\"%@`" or (first in "?:-" and (len(text) == 1 or text[1] in " \t")):
        return True
    return last == ":" or ": " in text or " #" in text


def quoted(text: str) -> str:
    """Text between double quotes."""
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    if char in _ESCAPES:
        return "\\" + _ESCAPES[char]
    code = ord(char)
    if code <= 0xFF:
        return f"\\x{code:02X}"
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"


def as_block(value: Scalar) -> tuple[str, str] | None:
    """The tag and the text of a value that is written in several lines, after a `|`; None for all others."""
    if not isinstance(value, str):
        return None
    if not is_text(value):
        written = base64_lines(encoded(value))
        return ("!!binary ", written) if "\n" in written else None
    return ("", value) if "\n" in value and _can_be_block(value) else None


def _can_be_block(value: str) -> bool:
    if value[-1] == " ":
        return False
    if _UNPRINTABLE.search(value.replace("\t", "")):
        return False
    return not any(f" {mark}" in value for mark in "\n\u2028\u2029")


def block(text: str, pad: str, hint: int) -> tuple[str, str]:
    """What stands after the `|` and below it; `pad` goes before each line, `hint` columns of it are new."""
    head = str(hint) if text[0] in " \n\u2028\u2029" else ""
    if text[-1] not in _BREAKS:
        head += "-"
    elif len(text) == 1 or text[-2] in _BREAKS:
        head += "+"
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return head, "".join(f"\n{pad}{line}" if line else "\n" for line in lines)
