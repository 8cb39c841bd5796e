"""JSON with order and repeated keys kept, written with tabs as SOPS does; and any bytes in a JSON envelope."""

from __future__ import annotations

import json
import re
from math import isfinite
from typing import Any

from penstock.sops.errors import EmitError, LoadError
from penstock.sops.values import Branch, Comment, Timestamp, Value, encoded, json_number

_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_UNSAFE = re.compile("[<>&\u2028\u2029]|[\ud800-\udfff]")
_write_string = json.JSONEncoder(ensure_ascii=False).encode


def load(data: bytes) -> list[Branch]:
    """The one object of a JSON file; what follows it is ignored, as SOPS does."""
    text = data.decode("utf-8", "replace")
    try:
        value, _ = _DECODER.raw_decode(text.lstrip(" \t\r\n"))
    except RecursionError as error:
        raise LoadError("the JSON is nested too deeply") from error
    except json.JSONDecodeError as error:
        raise LoadError(f"line {error.lineno}, column {error.colno}: {error.msg}") from None
    except ValueError as error:
        raise LoadError(str(error)) from None
    if not isinstance(value, Branch):
        raise LoadError("a JSON file must hold an object; wrap other values in one")
    return [_without_surrogates(value) if _SURROGATE_ESCAPE.search(text) else value]


def emit(documents: list[Branch]) -> bytes:
    """The first document; comments have no place in JSON and are left out."""
    if not documents:
        raise EmitError("there is no document to write")
    parts: list[str] = []
    _write(documents[0], "\n", parts)
    parts.append("\n")
    return encoded("".join(parts))


def load_binary(data: bytes) -> list[Branch]:
    """Any bytes as one value called `data`."""
    return [Branch([("data", data.decode("utf-8", "surrogateescape"))])]


def emit_binary(documents: list[Branch]) -> bytes:
    """The bytes of the value called `data`."""
    if len(documents) != 1:
        raise EmitError("a binary file is made of exactly one document")
    value = documents[0].get("data")
    if not isinstance(value, str):
        raise EmitError("a binary file is made of text under the key 'data', and there is none")
    return encoded(value)


def _integer(text: str) -> float:
    if len(text) < 19 or (len(text) < 21 and -(2**63) <= int(text) < 2**63):
        return int(text)
    return _float(text)


def _float(text: str) -> float:
    value = float(text)
    if not isfinite(value):
        raise ValueError("a number is too large")
    return value


def _constant(text: str) -> float:
    raise ValueError(f"{text} is not JSON")


_DECODER = json.JSONDecoder(
    object_pairs_hook=Branch, parse_int=_integer, parse_float=_float, parse_constant=_constant, strict=True
)


def _without_surrogates(value: Any) -> Any:
    """Half of a surrogate pair is no text; it becomes the replacement character."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, Branch):
        return Branch((_without_surrogates(key), _without_surrogates(inner)) for key, inner in value)
    return [_without_surrogates(item) for item in value] if isinstance(value, list) else value


def _write(value: Value, newline: str, parts: list[str]) -> None:
    if isinstance(value, Branch):
        _write_object(value, newline, parts)
    elif isinstance(value, list):
        _write_list(value, newline, parts)
    else:
        parts.append(_scalar(value))


def _write_object(branch: Branch, newline: str, parts: list[str]) -> None:
    inner = newline + "\t"
    before = "{"
    for key, value in branch:
        if isinstance(key, Comment):
            continue
        parts.append(f"{before}{inner}{_string(key)}: ")
        _write(value, inner, parts)
        before = ","
    parts.append("{}" if before == "{" else newline + "}")


def _write_list(items: list[Value], newline: str, parts: list[str]) -> None:
    inner = newline + "\t"
    before = "["
    for item in items:
        if isinstance(item, Comment):
            continue
        parts.append(before + inner)
        _write(item, inner, parts)
        before = ","
    parts.append("[]" if before == "[" else newline + "]")


def _scalar(value: Value) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return _string(value)
        case int():
            return str(value)
        case float():
            return _number(value)
        case Timestamp():
            return _string(value.text)
        case _:
            raise EmitError("a comment has no place in JSON")


def _number(value: float) -> str:
    try:
        return json_number(value)
    except ValueError as error:
        raise EmitError(f"a value cannot be written: {error}") from error


def _string(text: str) -> str:
    written = _write_string(text)
    return _UNSAFE.sub(_escaped, written) if _UNSAFE.search(written) else written


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    return "\\ufffd" if 0xD800 <= code <= 0xDFFF else f"\\u{code:04x}"
