"""Objects as text, byte for byte as kustomize prints them.

The shape is that of a YAML 1.1 emitter with a width of 80: keys in natural order, sequences not indented
under their key, strings plain when any reader would take them for strings, text of several lines as `|`.

Most strings of a build repeat (image names, labels, field names), so how a short one is written is
remembered.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any

from penstock.yaml.order import ordered
from penstock.yaml.scalars import format_float, is_string, plain

WIDTH = 80
_LONGEST_KEY = 128  # bytes; a longer key is written with `? `
_REMEMBERED = 64
_MANY = 20_000

_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_./-]*(?::[A-Za-z0-9_./-]+)*\Z")
_BREAKS = "\n\r\x85\u2028\u2029"
_ESCAPES = {
    "\0": "0", "\x07": "a", "\x08": "b", "\t": "t", "\n": "n", "\x0b": "v", "\x0c": "f", "\r": "r",
    "\x1b": "e", '"': '"', "\\": "\\", "\x85": "N", "\xa0": "_", "\u2028": "L", "\u2029": "P",
}  # fmt: skip
_INDICATOR = re.compile(r"""[#,\[\]{}&*!|>'"%@`]|[?:-](?:[ \t]|\Z)|---|\.\.\.""")
_INNER_INDICATOR = re.compile(r":(?:[ \t]|\Z)|[ \t\n\r]#")
_SEXAGESIMAL = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?\Z")
_known: dict[str, str] = {}

Write = Callable[[str], None]


def dump(value: Any) -> str:
    """One document, with its final newline."""
    lines: list[str] = []
    if isinstance(value, dict) and value:
        _mapping(value, "", "", lines.append)
    elif isinstance(value, list) and value:
        _sequence(value, "", "", lines.append)
    else:
        lines.append(_scalar(value, "", 0))
    lines.append("")
    return "\n".join(lines)


def dump_all(values: Iterable[Any]) -> str:
    """A stream of documents with `---` between them."""
    return "---\n".join([dump(value) for value in values])


def _mapping(mapping: dict[str, Any], lead: str, pad: str, write: Write) -> None:
    """Write the entries; `lead` goes before the first key (`- ` of a sequence), `pad` before the others."""
    for key in ordered(mapping):
        value = mapping[key]
        name = _known.get(key) or _inline(key)
        if len(key) > 32 and (len(key.encode()) > _LONGEST_KEY or "\n" in key):
            _long_entry(key, value, lead, pad, write)
        else:
            kind = type(value)
            if kind is str:
                written = _known.get(value)
                if written is None or len(pad) + len(name) + len(written) > WIDTH - 2:
                    written = _string(value, pad, len(pad) + len(name) + 2)
                write(f"{lead}{name}: {written}")
            elif kind is dict and value:
                write(f"{lead}{name}:")
                inner = pad + "  "
                _mapping(value, inner, inner, write)
            elif kind is list and value:
                write(f"{lead}{name}:")
                _sequence(value, pad, pad, write)
            else:
                write(f"{lead}{name}: {_scalar(value, pad, 0)}")
        lead = pad


def _long_entry(key: str, value: Any, lead: str, pad: str, write: Write) -> None:
    inner = pad + "  "
    write(f"{lead}? {_string(key, pad, len(pad) + 2)}")
    if isinstance(value, dict) and value:
        _mapping(value, pad + ": ", inner, write)
    elif isinstance(value, list) and value:
        _sequence(value, pad + ": ", inner, write)
    else:
        write(f"{pad}: {_scalar(value, pad, len(pad) + 2)}")


def _sequence(items: list[Any], lead: str, pad: str, write: Write) -> None:
    inner = pad + "  "
    for item in items:
        kind = type(item)
        if kind is dict and item:
            _mapping(item, lead + "- ", inner, write)
        elif kind is str:
            written = _known.get(item)
            if written is None or len(inner) + len(written) > WIDTH:
                written = _string(item, pad, len(inner))
            write(f"{lead}- {written}")
        elif kind is list and item:
            _sequence(item, lead + "- ", inner, write)
        else:
            write(f"{lead}- {_scalar(item, pad, len(inner))}")
        lead = pad


def _scalar(value: Any, pad: str, column: int) -> str:
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, dict):
        return "{}"
    if isinstance(value, list):
        return "[]"
    value = plain(value)
    if isinstance(value, str):
        return _string(value, pad, column)
    if isinstance(value, float):
        return format_float(value)
    return "true" if value is True else "false" if value is False else str(value)


def _string(text: str, pad: str, column: int) -> str:
    """A string that starts at `column`; the lines it continues on are indented two beyond `pad`."""
    if "\n" in text:
        return _block(text, pad) if _block_allowed(text) else _double_quoted(text, pad, column)
    written = _known.get(text) or _inline(text)
    if column + len(written) <= WIDTH or " " not in text:
        return written
    if written[0] == '"':
        return _double_quoted(text, pad, column)
    if written[0] == "'":
        return _single_quoted(text, pad, column)
    return _folded(text, pad, column)


def _inline(text: str) -> str:
    """The string on one line, however long."""
    written = text if _PLAIN.match(text) and is_string(text) else _quoted(text)
    if len(text) <= _REMEMBERED:
        if len(_known) >= _MANY:
            _known.clear()
        _known[text] = written
    return written


def _quoted(text: str) -> str:
    if not text:
        return '""'
    if not (text.isascii() and text.isprintable()) and not all(map(_is_printable, text)):
        return _double_quoted(text, "", 0, fold=False)
    if not is_string(text) or _SEXAGESIMAL.match(text):
        return _double_quoted(text, "", 0, fold=False)
    if text[0] == " " or text[-1] == " " or _INDICATOR.match(text) or _INNER_INDICATOR.search(text):
        return "'" + text.replace("'", "''") + "'"
    return text


def _block_allowed(text: str) -> bool:
    if text[-1] == " " or " \n" in text or _space_before_break(text):
        return False
    return all((line.isascii() and line.isprintable()) or all(map(_is_printable, line)) for line in text.split("\n"))


def _space_before_break(text: str) -> bool:
    return any(f" {mark}" in text for mark in _BREAKS[3:])


def _block(text: str, pad: str) -> str:
    """Text of several lines, as `|`."""
    head = "|"
    if text[0] in " \n\u2028\u2029":
        head += "2"
    if text[-1] not in _BREAKS:
        head += "-"
    elif len(text) == 1 or text[-2] in _BREAKS:
        head += "+"
    indent = pad + "  "
    body = "\n".join([indent + line if line else "" for line in text.split("\n")])
    return f"{head}\n{body[:-1] if text[-1] == chr(10) else body}"


def _folded(text: str, pad: str, column: int) -> str:
    return _fold(text, pad, column, lambda _: True)


def _single_quoted(text: str, pad: str, column: int) -> str:
    last = len(text) - 1
    written = _fold(text, pad, column + 1, lambda at: 0 < at < last, double="'")
    return f"'{written}'"


def _fold(text: str, pad: str, column: int, foldable: Callable[[int], bool], double: str = "") -> str:
    """Break at a single space once the line is beyond the width."""
    parts: list[str] = []
    indent = "\n" + pad + "  "
    spaces = False
    for at, char in enumerate(text):
        if char == " ":
            if not spaces and column > WIDTH and foldable(at) and text[at + 1 : at + 2] != " ":
                parts.append(indent)
                column = len(indent) - 1
            else:
                parts.append(char)
                column += 1
            spaces = True
        else:
            if char == double:
                parts.append(char)
                column += 1
            parts.append(char)
            column += 1
            spaces = False
    return "".join(parts)


def _double_quoted(text: str, pad: str, column: int, *, fold: bool = True) -> str:
    parts: list[str] = ['"']
    indent = "\n" + pad + "  "
    column += 1
    spaces = False
    last = len(text) - 1
    for at, char in enumerate(text):
        if char == " ":
            if fold and not spaces and column > WIDTH and 0 < at < last:
                parts.append(indent)
                column = len(indent) - 1
                if text[at + 1] == " ":
                    parts.append("\\")
                    column += 1
            else:
                parts.append(char)
                column += 1
            spaces = True
            continue
        written = _escaped(char)
        parts.append(written)
        column += len(written)
        spaces = False
    parts.append('"')
    return "".join(parts)


def _escaped(char: str) -> str:
    if char not in '"\\' and _is_printable(char):
        return char
    if char in _ESCAPES:
        return "\\" + _ESCAPES[char]
    code = ord(char)
    if code <= 0xFF:
        return f"\\x{code:02X}"
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"


def _is_printable(char: str) -> bool:
    """Whether kustomize's emitter writes the character as it is; not those beyond the basic plane."""
    code = ord(char)
    if code < 0xA0:
        return 0x20 <= code <= 0x7E
    return char not in "\u2028\u2029\ufeff" and (code < 0xD800 or 0xE000 <= code <= 0xFFFD)
