"""Which of several mistakes in an object Go tells.

It goes on after a value of the wrong type and remembers only the first one; but types that read themselves, such as
quantities, end the reading, so that what they say is told before anything else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.schema.gotypes import fields_of
from penstock.schema.scalars import DecodeError, Mismatch

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.schema.scalars import Codec

_OWN_READERS = frozenset(("quantity", "milliquantity", "intstr", "time", "microtime", "duration"))


def told(type_: str, value: Any, error: Mismatch | DecodeError, *, codec: Callable[[str], Codec]) -> DecodeError:
    """The mistake that Go tells of a value that has at least this one; `codec` gives the reader of a type."""
    try:
        _read_themselves(type_, value, codec)
    except (Mismatch, DecodeError) as other:
        error = other
    return DecodeError(error.sentence()) if isinstance(error, Mismatch) else error


def _read_themselves(type_: str, value: Any, codec: Callable[[str], Codec]) -> None:
    """Read nothing but the values of types with readers of their own, as far as one gets to them."""
    type_ = type_.lstrip("*")
    if type_[0] == "@" and isinstance(value, dict):
        fields = {field.name: field for field in fields_of(type_[1:])}
        for key, item in value.items():
            field = fields.get(key)
            if field is None or item is None:
                continue
            try:
                _read_themselves(field.type, item, codec)
            except Mismatch as mismatch:
                mismatch.enter(type_.rpartition(".")[2], key, field.embedded)
                raise
    elif type_[0] == "[" and isinstance(value, list):
        for item in value:
            if item is not None:
                _read_themselves(type_.partition("]")[2], item, codec)
    elif type_[0] == "{" and isinstance(value, dict):
        for item in value.values():
            if item is not None:
                _read_themselves(type_.partition("}")[2], item, codec)
    elif type_.partition(":")[0] in _OWN_READERS:
        codec(type_)(value)
