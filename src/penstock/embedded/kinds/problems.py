"""What is wrong with a field, worded as the API server words it in the causes of a Status."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

IMMUTABLE = "field is immutable"
NOT_NEGATIVE = "must be greater than or equal to 0"


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """One cause of a 422; the Status message joins `field: message` of all of them."""

    reason: str
    field: str
    message: str


Problems = list[FieldProblem]
"""What a check adds to; most objects have none."""


def required(field: str, detail: str = "") -> FieldProblem:
    return FieldProblem("FieldValueRequired", field, _with("Required value", detail))


def invalid(field: str, value: Any, detail: str) -> FieldProblem:
    return FieldProblem("FieldValueInvalid", field, _with(f"Invalid value: {quoted(value)}", detail))


def forbidden(field: str, detail: str) -> FieldProblem:
    return FieldProblem("FieldValueForbidden", field, _with("Forbidden", detail))


def duplicate(field: str, value: Any) -> FieldProblem:
    return FieldProblem("FieldValueDuplicate", field, f"Duplicate value: {quoted(value)}")


def not_found(field: str, value: Any) -> FieldProblem:
    return FieldProblem("FieldValueNotFound", field, f"Not found: {quoted(value)}")


def unsupported(field: str, value: Any, supported: Iterable[str]) -> FieldProblem:
    """The values are listed in the order given: the API server sorts where it keeps a set."""
    listed = ", ".join(quoted(one) for one in supported)
    detail = f"supported values: {listed}" if listed else ""
    return FieldProblem("FieldValueNotSupported", field, _with(f"Unsupported value: {quoted(value)}", detail))


def too_long(field: str, limit: int, unit: str = "byte") -> FieldProblem:
    words = f"may not be more than {limit} {unit}{'' if limit == 1 else 's'}"
    return FieldProblem("FieldValueTooLong", field, f"Too long: {words}")


def too_many(field: str, actual: int, limit: int) -> FieldProblem:
    words = f"must have at most {limit} item{'' if limit == 1 else 's'}"
    return FieldProblem("FieldValueTooMany", field, f"Too many: {actual}: {words}")


def internal(field: str, detail: str) -> FieldProblem:
    return FieldProblem("InternalError", field, f"Internal error: {detail}")


def each_invalid(field: str, value: Any, details: Sequence[str]) -> Problems:
    """One problem for each thing that is wrong with the same value."""
    return [invalid(field, value, detail) for detail in details]


def non_negative(problems: Problems, value: int, field: str) -> None:
    if value < 0:
        problems.append(invalid(field, value, NOT_NEGATIVE))


def one_of(problems: Problems, value: str, allowed: Sequence[str], field: str) -> None:
    """An empty value is missing; any other outside of `allowed` is not supported."""
    if value in allowed:
        return
    problems.append(unsupported(field, value, allowed) if value else required(field))


def same(problems: Problems, new: Any, old: Any, field: str, detail: str = IMMUTABLE) -> None:
    """A field that may not change after creation; absent and empty are equal."""
    if new != old and (new or old):
        problems.append(invalid(field, new, detail))


def quoted(value: Any) -> str:
    """A value as Go prints it in an error: quoted text, a plain number, or JSON."""
    if isinstance(value, str):
        return go_quote(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    return go_json(value)


def go_json(value: Any) -> str:
    """JSON as Go's encoder writes it: keys of maps in order, and no angle brackets or ampersands."""
    text = orjson.dumps(value).decode()
    if "<" in text or ">" in text or "&" in text:
        text = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return text


_ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
}


def go_quote(text: str) -> str:
    """Text between double quotes as Go's %q has it."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(_escaped(char) for char in text) + '"'


def _escaped(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _with(text: str, detail: str) -> str:
    return f"{text}: {detail}" if detail else text
