"""An object of a built-in kind as it looks after a Go program has read it into its type and written it out again.

Unknown fields are gone, as are nulls and what is empty and may be left out; structs and fields that Go always writes
are there; quantities, times and base64 have their one form. A value of the wrong type is a `DecodeError` in Go's words.

`typed` is a client, which gives nothing a default. A server stores what it has read, and gets a `Reader` of its own.
The types come from `penstock.schema.gotypes`. A type is prepared when the first object of it arrives.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.schema.gotypes import STRUCTS, fields_of, go_name, type_of
from penstock.schema.mistakes import told
from penstock.schema.scalars import INT_LIMITS, SCALARS, Codec, DecodeError, Mismatch, json_type, string

Object = dict[str, Any]
Default = Callable[[Object], None]
Field = tuple[Codec, bool, str]
"""How a value is read, whether an empty one is left out, and the Go struct it is embedded with, if any."""

__all__ = ["DecodeError", "Default", "Reader", "typed"]


class Reader:
    """Reads JSON values into Go types.

    `stores` is how a server reads: what is empty has become none at all in the store, and amounts of resources are
    rounded up to thousandths.
    """

    def __init__(self, *, stores: bool = False) -> None:
        self._stores = stores
        self._defaults: dict[str, Default] = {}
        self._structs: dict[str, Codec] = {}
        self._codecs: dict[str, Codec] = {}

    def fill(self, type_name: str, default: Default) -> None:
        """Have `default` fill in, in place, what is missing in structs of this type, as soon as one has been read."""
        if type_name in self._defaults:
            raise ValueError(f"{type_name} has defaults already")
        self._defaults[type_name] = default

    def read(self, obj: Object) -> Object | None:
        """A new object of the same kind; None for a kind that is not built in."""
        type_name = type_of(str(obj.get("apiVersion", "")), str(obj.get("kind", "")))
        if type_name is None:
            return None
        try:
            made: Object = self.struct(type_name)(obj)
        except (Mismatch, DecodeError) as error:
            raise told(f"@{type_name}", obj, error, codec=self._codec) from None
        return made

    def struct(self, type_name: str) -> Codec:
        """How a Go struct is read, by the name of its type, such as `core/v1.PodTemplateSpec`."""
        codec = self._structs.get(type_name)
        if codec is None:
            codec = self._structs[type_name] = self._make_struct(type_name)
        return codec

    def _make_struct(self, type_name: str) -> Codec:
        struct = type_name.rpartition(".")[2]
        wanted = go_name(f"@{type_name}")
        fill = self._defaults.get(type_name)
        fields: dict[str, Field] = {}
        always: list[tuple[str, Codec | None, Any]] = []

        def prepare() -> None:
            for field in fields_of(type_name):
                fields[field.name] = (self._codec(field.type), field.omits_empty, field.embedded)
                if field.flag == "!":
                    continue
                if field.type.startswith("@"):
                    always.append((field.name, self.struct(field.type[1:]), None))
                elif not field.flag or field.type in STRUCTS:
                    always.append((field.name, None, _zero(field.type)))

        def read(value: Any) -> Object:
            # Types can contain themselves, so the fields are prepared at first use.
            if not fields:
                prepare()
            if type(value) is not dict:
                raise Mismatch(json_type(value), wanted)
            result: Object = {}
            for key, item in value.items():
                field = fields.get(key)
                if field is None or item is None:
                    continue
                codec, omits_empty, embedded = field
                try:
                    item = codec(item)
                except Mismatch as mismatch:
                    mismatch.enter(struct, key, embedded)
                    raise
                if item or not omits_empty:
                    result[key] = item
            for key, inner, zero in always:
                if key not in result:
                    result[key] = zero if inner is None else inner({})
            if fill is not None:
                fill(result)
            return result

        return read

    def _codec(self, type_: str) -> Codec:
        """The reader for a type expression of the table."""
        codec = self._codecs.get(type_)
        if codec is None:
            codec = self._codecs[type_] = self._make_codec(type_)
        return codec

    def _make_codec(self, type_: str) -> Codec:
        if type_[0] == "*":
            return self._codec(type_[1:])
        if type_[0] == "@":
            return self.struct(type_[1:])
        if type_[0] == "[":
            return self._list(type_)
        if type_[0] == "{":
            return self._map(type_)
        if type_.startswith("string"):
            return string(type_.partition(":")[2] or "string")
        return SCALARS[type_.partition(":")[0]]

    def _list(self, type_: str) -> Codec:
        element_type = type_.partition("]")[2]
        element, wanted = self._codec(element_type), go_name(type_)
        keeps_empty = not self._stores

        def read(value: Any) -> Any:
            if type(value) is not list:
                raise Mismatch(json_type(value), wanted)
            items = [element(item) if item is not None else self._none(element_type) for item in value]
            return items if items or keeps_empty else None

        return read

    def _map(self, type_: str) -> Codec:
        element_type = type_.partition("}")[2]
        if self._stores and type_ == "{v1.ResourceList}quantity":
            element_type = "milliquantity"
        element, wanted = self._codec(element_type), go_name(type_)
        keeps_empty = not self._stores

        def read(value: Any) -> Any:
            if type(value) is not dict:
                raise Mismatch(json_type(value), wanted)
            items = {
                key: element(item) if item is not None else self._none(element_type) for key, item in value.items()
            }
            return items if items or keeps_empty else None

        return read

    def _none(self, type_: str) -> Any:
        """What a null among elements becomes."""
        if self._stores and type_ == "bytes":
            return ""
        return self.struct(type_[1:])({}) if type_[0] == "@" else _zero(type_)


def _zero(type_: str) -> Any:
    if type_.startswith("string"):
        return ""
    if type_ == "bool":
        return False
    if type_.partition(":")[0] in (*INT_LIMITS, "float64"):
        return 0
    return {"quantity": "0", "milliquantity": "0", "intstr": 0, "duration": "0s"}.get(type_)


_client = Reader()


def typed(obj: Object) -> Object | None:
    """A new object of the same kind; None for a kind that is not built in.

    DecodeError when a value does not fit its type; the sentence is Go's.
    """
    return _client.read(obj)
