"""From a Struct to the structural schema that a CRD wants."""

import types
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec

from penstock.api.durations import Duration
from penstock.api.wire import DEFAULTED, REQUIRED, Object, Wire, encode

_SCALARS: dict[Any, Object] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    datetime: {"type": "string", "format": "date-time"},
    Any: {"x-kubernetes-preserve-unknown-fields": True},
}


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a Struct, as the wire sees it."""

    name: str
    schema: Object
    required: bool
    default: Any
    """What Python assumes when the field is left out, in its wire form; None for nothing."""
    struct: type[Wire] | None
    """The Struct of the value, of its entries if it is a list or map; None when there is no Struct."""


def schema_of(hint: Any) -> Object:
    """The structural schema of a type. Fields and required names are in the order of the alphabet."""
    base, notes = _unwrap(hint)
    schema = _bare(base)
    for note in notes:
        if isinstance(note, msgspec.Meta):
            schema |= _words(note, array=schema.get("type") == "array")
    return schema


def fields_of(struct: type[Wire]) -> Iterator[Field]:
    """The fields of a Struct, in the order in which they are written down."""
    for field in msgspec.structs.fields(struct):
        schema = schema_of(field.type)
        base, notes = _unwrap(field.type)
        default = _default(field)
        if DEFAULTED in notes:
            schema["default"] = default
        required = field.required or REQUIRED in notes
        yield Field(field.encode_name, schema, required, default, _struct(base))


def summary(struct: type[Wire]) -> str:
    """The first sentence of a Struct's docstring."""
    return (struct.__doc__ or "").strip().split("\n", 1)[0]


def _bare(base: Any) -> Object:
    if base in _SCALARS:
        return dict(_SCALARS[base])
    if get_origin(base) is Literal:
        return {"type": "string", "enum": list(get_args(base))}
    if get_origin(base) is tuple:
        return {"type": "array", "items": schema_of(get_args(base)[0])}
    if get_origin(base) is dict:
        return {"type": "object", "additionalProperties": schema_of(get_args(base)[1])}
    if isinstance(base, type) and issubclass(base, Duration):
        return {"type": "string", "pattern": base.pattern}
    if isinstance(base, type) and issubclass(base, Wire):
        return _object(base)
    raise TypeError(f"{base!r} has no structural schema; give the field a type that penstock.api.structural knows")


def _object(struct: type[Wire]) -> Object:
    fields = sorted(fields_of(struct), key=lambda field: field.name)
    schema: Object = {
        "description": summary(struct),
        "type": "object",
        "properties": {field.name: field.schema for field in fields},
    }
    if required := [field.name for field in fields if field.required]:
        schema["required"] = required
    if struct.RULES:
        schema["x-kubernetes-validations"] = [{"message": r.message, "rule": r.rule} for r in struct.RULES]
    return schema


def _words(meta: msgspec.Meta, *, array: bool) -> Object:
    shortest, longest = ("minItems", "maxItems") if array else ("minLength", "maxLength")
    words = {
        "description": meta.description,
        "pattern": meta.pattern,
        shortest: meta.min_length,
        longest: meta.max_length,
        "minimum": meta.ge,
    }
    return {word: value for word, value in words.items() if value is not None} | (meta.extra_json_schema or {})


def _unwrap(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """The type below `Annotated` and `| None`, and every note on the way, the outermost last."""
    if get_origin(hint) is Annotated:
        inner, *outer = get_args(hint)
        base, notes = _unwrap(inner)
        return base, (*notes, *outer)
    if get_origin(hint) in (Union, types.UnionType):
        (inner,) = (arg for arg in get_args(hint) if arg is not types.NoneType)
        return _unwrap(inner)
    return hint, ()


def _struct(base: Any) -> type[Wire] | None:
    if get_origin(base) is tuple:
        return _struct(_unwrap(get_args(base)[0])[0])
    if get_origin(base) is dict:
        return _struct(_unwrap(get_args(base)[1])[0])
    return base if isinstance(base, type) and issubclass(base, Wire) else None


def _default(field: msgspec.structs.FieldInfo) -> Any:
    return None if field.default is msgspec.NODEFAULT else encode(field.default)
