"""An object as it looks after the API server has read it into its Go types, filled in defaults and written it out.

Unknown fields are gone, as are nulls and what is empty and may be left out; structs and fields that Go always writes
are there; quantities, times and base64 have their one form. A value of the wrong type is a `DecodeError` in Go's words.

Defaults belong to types, not to kinds: a container gets the same ones in a Pod and in a Deployment. They are filled in
as soon as a struct has been read (see `defaults.py`).

The types come from `penstock.schema.gotypes`. A type is prepared when the first object of it arrives.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from penstock.schema.gotypes import STRUCTS, fields_of, type_of
from penstock.schema.scalars import INT_LIMITS, SCALARS, Codec, DecodeError, Mismatch, json_type, string

if TYPE_CHECKING:
    from penstock.kube.resources import Object

__all__ = ["DecodeError", "Mismatch", "codec_of", "decode", "decode_as", "defaults", "go_name"]

Default = Callable[[Any], None]
Field = tuple[Codec, bool, str]
"""How a value is read, whether an empty one is left out, and the Go struct it is embedded with, if any."""

_defaults: dict[str, Default] = {}


def defaults(*type_names: str) -> Callable[[Default], Default]:
    """Register a function that fills in, in place, what is missing in structs of these types."""

    def register(fill: Default) -> Default:
        for type_name in type_names:
            if type_name in _defaults:
                raise ValueError(f"{type_name} has defaults already")
            _defaults[type_name] = fill
        return fill

    return register


def decode(obj: Object) -> Object:
    """A new object of the same kind; kinds that are not built in come back as they are."""
    codec = _kind_codec(obj.get("apiVersion", ""), obj.get("kind", ""))
    if codec is None:
        return obj
    try:
        read: Object = codec(obj)
    except Mismatch as mismatch:
        raise DecodeError(mismatch.sentence()) from None
    return read


def decode_as(type_name: str, value: Any) -> Any:
    """The same for a part of an object, by the name of its Go type, such as `core/v1.PodTemplateSpec`."""
    return _struct(type_name)(value)


@lru_cache(None)
def _kind_codec(api_version: str, kind: str) -> Codec | None:
    type_name = type_of(api_version, kind)
    return None if type_name is None else _struct(type_name)


@lru_cache(None)
def _struct(type_name: str) -> Codec:
    """Reads one Go struct. Types can contain themselves, so the fields are prepared at first use."""
    struct = type_name.rpartition(".")[2]
    wanted = go_name(f"@{type_name}")
    fill = _defaults.get(type_name)
    fields: dict[str, Field] = {}
    always: list[tuple[str, Codec | None, Any]] = []

    def prepare() -> None:
        for field in fields_of(type_name):
            fields[field.name] = (codec_of(field.type), field.omits_empty, field.embedded)
            if field.flag == "!":
                continue
            if field.type.startswith("@"):
                always.append((field.name, _struct(field.type[1:]), None))
            elif not field.flag or field.type in STRUCTS:
                always.append((field.name, None, _zero(field.type)))

    def read(value: Any) -> Object:
        if not fields and fields_of(type_name):
            prepare()
        if type(value) is not dict:
            raise Mismatch(json_type(value), wanted)
        result: Object = {}
        for key, item in value.items():
            field = fields.get(key)
            if field is None or item is None:
                continue
            try:
                item = field[0](item)
            except Mismatch as mismatch:
                mismatch.enter(struct, key, field[2])
                raise
            if item or not field[1]:
                result[key] = item
        for key, codec, zero in always:
            if key not in result:
                result[key] = zero if codec is None else codec({})
        if fill is not None:
            fill(result)
        return result

    return read


def _zero(type_: str) -> Any:
    if type_.startswith("string"):
        return ""
    if type_ == "bool":
        return False
    if type_.partition(":")[0] in (*INT_LIMITS, "float64"):
        return 0
    return {"quantity": "0", "milliquantity": "0", "intstr": 0, "duration": "0s"}.get(type_)


@lru_cache(None)
def codec_of(type_: str) -> Codec:
    """The reader for a type expression of the table."""
    if type_[0] == "*":
        return codec_of(type_[1:])
    if type_[0] == "@":
        return _struct(type_[1:])
    if type_[0] == "[":
        return _list(type_)
    if type_[0] == "{":
        return _map(type_)
    if type_.startswith("string"):
        return string(type_.partition(":")[2] or "string")
    return SCALARS[type_.partition(":")[0]]


def _list(type_: str) -> Codec:
    element_type = type_.partition("]")[2]
    element, wanted = codec_of(element_type), go_name(type_)

    def read(value: Any) -> Any:
        if type(value) is not list:
            raise Mismatch(json_type(value), wanted)
        # An empty list is stored as none at all.
        return [element(item) if item is not None else _none(element_type) for item in value] or None

    return read


def _map(type_: str) -> Codec:
    element_type = type_.partition("}")[2]
    if type_ == "{v1.ResourceList}quantity":
        element_type = "milliquantity"
    element, wanted = codec_of(element_type), go_name(type_)

    def read(value: Any) -> Any:
        if type(value) is not dict:
            raise Mismatch(json_type(value), wanted)
        return {key: element(item) if item is not None else _none(element_type) for key, item in value.items()} or None

    return read


def _none(type_: str) -> Any:
    if type_ == "bytes":
        return ""
    return codec_of(type_)({}) if type_[0] == "@" else _zero(type_)


_GO_SCALARS = {
    "quantity": "resource.Quantity",
    "intstr": "intstr.IntOrString",
    "time": "v1.Time",
    "microtime": "v1.MicroTime",
    "duration": "v1.Duration",
    "bytes": "[]uint8",
    "raw": "interface {}",
}


def go_name(type_: str) -> str:
    """A type as Go names it in an error."""
    if type_[0] == "*":
        return go_name(type_[1:])
    if type_[0] == "@":
        return type_.rpartition("/")[2].lstrip("@")
    if type_[0] == "[":
        name, _, element = type_[1:].partition("]")
        return name or f"[]{go_name(element)}"
    if type_[0] == "{":
        name, _, element = type_[1:].partition("}")
        return name or f"map[string]{go_name(element)}"
    scalar, _, name = type_.partition(":")
    return name or _GO_SCALARS.get(scalar, scalar)
