"""The Go types of the built-in kinds: which fields each has, how they look in JSON, and which are left out when empty.

`types.txt` holds them, one line a type; `tests/embedded/kinds/generate.py` writes it. A field is
`<name><flag>^<embedded struct>=<type>`: the flag `?` says omitempty, `!` omitzero. A type is a scalar (`string`,
`int32`, `quantity` ...), `@` with the name of a struct, `*` before what may be nil, `[]` and `{}` before elements.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import resources
from typing import NamedTuple

STRUCTS = ("quantity", "intstr", "time", "microtime", "duration", "raw")
"""Scalars in JSON that are structs in Go, so that omitempty does not leave them out."""

_GO_SCALARS = {
    "quantity": "resource.Quantity",
    "intstr": "intstr.IntOrString",
    "time": "v1.Time",
    "microtime": "v1.MicroTime",
    "duration": "v1.Duration",
    "bytes": "[]uint8",
    "raw": "interface {}",
}

# Read when the module is: whoever asks first may be in an event loop, which is not to wait for a file.
_TEXT = resources.files("penstock.schema").joinpath("types.txt").read_text()


class Field(NamedTuple):
    """One field of a struct as JSON shows it."""

    name: str
    flag: str  # `?`, `!` or nothing
    embedded: str  # the Go struct it is embedded with, if any
    type: str

    @property
    def omits_empty(self) -> bool:
        """Whether an empty value is left out: not behind pointers, not of structs."""
        return self.flag != "" and self.type[0] not in "*@" and self.type not in STRUCTS


def type_of(api_version: str, kind: str) -> str | None:
    """The name of the Go type of a kind; None when it is not built in."""
    group, _, version = api_version.rpartition("/")
    return _table()[0].get(f"{group}/{version}/{kind}")


@lru_cache(None)
def fields_of(type_name: str) -> tuple[Field, ...]:
    """The fields of a struct, embedded ones spread out."""
    line = _table()[1][type_name]
    return tuple(_field(part) for part in line.split(" ")) if line else ()


def below(type_: str, step: str | int) -> str:
    """The type of a field, an item or a value of a type expression; empty when there is none."""
    type_ = type_.lstrip("*")
    if type_[:1] in ("[", "{"):
        return type_.partition("]" if type_[0] == "[" else "}")[2]
    if type_[:1] != "@" or len(type_) == 1:
        return ""
    return next((field.type for field in fields_of(type_[1:]) if field.name == step), "")


def go_name(type_: str) -> str:
    """A type expression as Go names it in an error."""
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


def _field(part: str) -> Field:
    name, _, type_ = part.partition("=")
    name, _, embedded = name.partition("^")
    flag = name[-1:] if name[-1:] in "?!" else ""
    return Field(name.rstrip("?!"), flag, embedded, type_)


@lru_cache(1)
def _table() -> tuple[dict[str, str], dict[str, str]]:
    """Kind -> type, and type -> its line of fields, not yet read."""
    kinds: dict[str, str] = {}
    types: dict[str, str] = {}
    for line in _TEXT.splitlines():
        name, _, rest = line.partition(" ")
        if name == "kind":
            kind, _, type_name = rest.partition(" ")
            kinds[kind] = type_name
        else:
            types[name] = rest
    return kinds, types
