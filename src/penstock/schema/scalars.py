"""Values of single fields: how Go reads them from JSON, writes them back, and what it says when they do not fit."""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from penstock.errors import PenstockError
from penstock.schema.quantity import QuantityError, as_read, canonical, parse

Codec = Callable[[Any], Any]


INT_LIMITS = {"int32": 2**31, "int64": 2**63, "int": 2**63}
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_MICRO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
_DURATION = re.compile(r"-?(?:0|(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h))+)")


_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")


class DecodeError(PenstockError):
    """The object does not fit its type; the sentence is what Go's decoder says, without the kind."""


class Mismatch(Exception):
    """A value of the wrong JSON type; the structs on the way up add where."""

    def __init__(self, found: str, wanted: str) -> None:
        super().__init__(found, wanted)
        self.found = found
        self.wanted = wanted
        self.struct = ""
        self.path: list[str] = []

    def enter(self, struct: str, field: str, embedded: str) -> None:
        self.struct = self.struct or struct
        self.path.append(f"{embedded}.{field}" if embedded else field)

    def sentence(self) -> str:
        where = f"struct field {self.struct}.{'.'.join(reversed(self.path))}" if self.path else "value"
        return f"json: cannot unmarshal {self.found} into Go {where} of type {self.wanted}"


def string(wanted: str) -> Codec:
    def read(value: Any) -> str:
        if type(value) is str:
            return value
        raise Mismatch(json_type(value), wanted)

    return read


def _integer(wanted: str) -> Codec:
    limit = INT_LIMITS[wanted]

    def read(value: Any) -> int:
        if type(value) is int:
            if -limit <= value < limit:
                return value
            raise Mismatch(f"number {value}", wanted)
        raise Mismatch(f"number {value}" if type(value) is float else json_type(value), wanted)

    return read


def _boolean(value: Any) -> bool:
    if type(value) is bool:
        return value
    raise Mismatch(json_type(value), "bool")


def _float(value: Any) -> float:
    if type(value) is float or type(value) is int:
        return value
    raise Mismatch(json_type(value), "float64")


def _quantity(value: Any) -> str:
    text = value if type(value) is str else _number_text(value)
    try:
        return as_read(text.strip())
    except QuantityError as error:
        raise DecodeError(str(error)) from None


def _milli_quantity(value: Any) -> str:
    """Amounts of resources are rounded up to thousandths."""
    text = canonical(_quantity(value))
    return text if text[-1] not in "nu" else str(parse(text).rounded_to_milli())


def _number_text(value: Any) -> str:
    if type(value) is float:
        return f"{value:.15g}"
    return str(value) if type(value) is int else "?"


def _int_or_string(value: Any) -> int | str:
    return value if type(value) is str else SCALARS["int32"](value)


def _time(value: Any) -> str:
    if type(value) is str and _TIME.fullmatch(value):
        return value
    return _moment(value).strftime("%Y-%m-%dT%H:%M:%SZ")


def _micro_time(value: Any) -> str:
    if type(value) is str and _MICRO_TIME.fullmatch(value):
        return value
    return _moment(value, "05.000000").strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _moment(value: Any, seconds: str = "05") -> datetime:
    if type(value) is not str:
        raise Mismatch(json_type(value), "string")
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None or "T" not in value:
        raise DecodeError(
            f'parsing time "{value}" as "2006-01-02T15:04:{seconds}Z07:00": cannot parse "{value}" as "2006"'
        )
    return moment.astimezone(UTC)


def _duration(value: Any) -> str:
    if type(value) is not str:
        raise Mismatch(json_type(value), "string")
    if not _DURATION.fullmatch(value):
        raise DecodeError(f'time: invalid duration "{value}"')
    return value


def _bytes(value: Any) -> str:
    if type(value) is list:
        return binascii.b2a_base64(bytes(map(_byte, value)), newline=False).decode()
    if type(value) is not str:
        raise Mismatch(json_type(value), "[]uint8")
    if _BASE64.fullmatch(value):
        return value
    text = value.replace("\n", "").replace("\r", "")
    try:
        return binascii.b2a_base64(binascii.a2b_base64(text, strict_mode=True), newline=False).decode()
    except (binascii.Error, ValueError):
        raise DecodeError(f"illegal base64 data at input byte {_first_illegal(text)}") from None


def _byte(value: Any) -> int:
    if value is None:
        return 0
    if type(value) is int and 0 <= value < 256:
        return value
    raise Mismatch(f"number {value}" if type(value) in (int, float) else json_type(value), "uint8")


def _first_illegal(text: str) -> int:
    match = re.match(r"(?:[A-Za-z0-9+/]{4})*", text)
    start = match.end() if match else 0
    rest = re.match("[A-Za-z0-9+/]*", text[start:])
    position = start + (rest.end() if rest else 0)
    # Go counts to the end of the last group of four where the text merely stops too early.
    return position if position < len(text) else start if position > start else len(text)


def _raw(value: Any) -> Any:
    return value


SCALARS: dict[str, Codec] = {
    "int32": _integer("int32"),
    "int64": _integer("int64"),
    "int": _integer("int"),
    "bool": _boolean,
    "float64": _float,
    "quantity": _quantity,
    "milliquantity": _milli_quantity,
    "intstr": _int_or_string,
    "time": _time,
    "microtime": _micro_time,
    "duration": _duration,
    "bytes": _bytes,
    "raw": _raw,
}


def json_type(value: Any) -> str:
    """What Go calls a JSON value of the wrong type."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, (int, float)):
        return "number"
    return "array" if isinstance(value, list) else "object"
