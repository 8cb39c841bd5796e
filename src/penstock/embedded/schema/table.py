"""The table of built-in types: read once, and made into schemas type by type as they are asked for.

A type in the table is a code for a scalar (`s`, `i4`, `t` ...), the name of another type (`@core.v1.Pod`), or
a list whose first item says what it is: `["[]", element, facts]`, `["{}", element, facts]`, or
`["@", name, facts]` for a reference that adds facts of its own. The facts are those of `_FACTS`.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from penstock.embedded.schema.model import ATOMIC, DEDUCED, ResourceType, Schema, Subresource

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.embedded.schema.model import ListType, Scalar

FILE = "builtin.json"

_SCALARS: dict[str, tuple[Scalar, str]] = {
    "s": ("string", ""),
    "b": ("boolean", ""),
    "i": ("integer", "int64"),
    "i4": ("integer", "int32"),
    "i8": ("integer", "int64"),
    "n": ("number", "double"),
    "B": ("bytes", "byte"),
    "t": ("date-time", ""),
    "T": ("micro-time", ""),
    "q": ("quantity", ""),
    "x": ("int-or-string", ""),
}
CORE_DEFAULT_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")

# Options of every resource, whatever group it is asked in.
_COMMON_KINDS = frozenset({"DeleteOptions", "WatchEvent", "Status"})


@cache
def builtin_schema(api_version: str, kind: str) -> Schema | None:
    """The type of a built-in kind in one version; None when this server has no such kind."""
    kinds: Mapping[str, str] = _table()["kinds"]
    name = kinds.get(f"{api_version} {kind}") or (kinds.get(f"v1 {kind}") if kind in _COMMON_KINDS else None)
    return None if name is None else _named(name)


@cache
def builtin_resources() -> Sequence[ResourceType]:
    """All built-in resources, in the order in which discovery lists them."""
    return tuple(
        _resource(group, version, facts) for group, version, resources in _table()["resources"] for facts in resources
    )


@cache
def _table() -> Mapping[str, Any]:
    table: Mapping[str, Any] = orjson.loads(Path(__file__).with_name(FILE).read_bytes())
    return table


def _resource(group: str, version: str, facts: Mapping[str, Any]) -> ResourceType:
    return ResourceType(
        group=group,
        version=version,
        plural=facts["plural"],
        singular=facts["singular"],
        kind=facts["kind"],
        short_names=tuple(facts.get("short", ())),
        categories=tuple(facts.get("categories", ())),
        namespaced=facts["namespaced"],
        verbs=tuple(facts.get("verbs", CORE_DEFAULT_VERBS)),
        subresource_types=tuple(
            Subresource(name=name, kind=kind, verbs=tuple(verbs), group=own_group, version=own_version)
            for name, kind, verbs, own_group, own_version in facts.get("subresources", ())
        ),
        storage_version_hash=facts.get("hash", ""),
    )


@cache
def _named(name: str) -> Schema:
    return _made(f"@{name}", {})


def _made(code: Any, facts: Mapping[str, Any]) -> Schema:
    """The schema of one type of the table; its parts are made when they are asked for."""
    if isinstance(code, str):
        return _referred(code[1:], facts) if code[0] == "@" else _scalar(code, facts)
    shape, inner, own = code[0], code[1], {**code[2], **facts} if len(code) > 2 else facts
    if shape == "@":
        return _referred(inner, own)
    if shape == "[]":
        return _list(inner, own)
    if shape == "{}":
        return Schema("map", atomic=own.get("map") == "atomic", resolve=_element(inner), **_shared(own))
    scalar, form = _SCALARS[shape]
    return Schema("scalar", scalar=scalar, format=form, **_shared(own))


def _shared(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "merge_key": facts.get("key"),
        "merge_strategy": frozenset(facts["strategy"].split(",")) if "strategy" in facts else frozenset(),
        "enum": tuple(facts.get("enum", ())),
        "default": facts.get("default"),
    }


@cache
def _plain_scalar(code: str) -> Schema:
    if code == "d":
        return DEDUCED
    if code == "a":
        return ATOMIC
    scalar, form = _SCALARS[code]
    return Schema("scalar", scalar=scalar, format=form)


def _scalar(code: str, facts: Mapping[str, Any]) -> Schema:
    if not facts or code in "da":
        return _plain_scalar(code)
    scalar, form = _SCALARS[code]
    return Schema("scalar", scalar=scalar, format=form, **_shared(facts))


def _list(inner: Any, facts: Mapping[str, Any]) -> Schema:
    kind, keys = _list_type(facts)

    def resolve(schema: Schema) -> None:
        schema.element = _made(inner, {})
        schema.key_defaults = {
            key: field.default
            for key in keys
            if (field := schema.element.fields.get(key)) is not None and field.default is not None
        }

    return Schema("list", list_type=kind, map_keys=keys, resolve=resolve, **_shared(facts))


def _list_type(facts: Mapping[str, Any]) -> tuple[ListType, tuple[str, ...]]:
    """Fields older than list types say only how strategic merge treats them; apply takes that word too."""
    if "list" in facts:
        return facts["list"], tuple(facts.get("keys", ()))
    if "merge" not in facts.get("strategy", ""):
        return "atomic", ()
    return ("map", (facts["key"],)) if "key" in facts else ("set", ())


def _element(inner: Any) -> Any:
    def resolve(schema: Schema) -> None:
        schema.element = _made(inner, {})

    return resolve


def _referred(name: str, facts: Mapping[str, Any]) -> Schema:
    """A named type; without facts of its own the one that everybody shares."""
    if not facts:
        return _shared_type(name)
    return _struct(name, facts)


@cache
def _shared_type(name: str) -> Schema:
    return _struct(name, {})


def _struct(name: str, facts: Mapping[str, Any]) -> Schema:
    record: Mapping[str, Any] = _table()["types"][name]
    described: Mapping[str, Any] = record.get("f", {})

    def resolve(schema: Schema) -> None:
        schema.fields = {field: _made(code, {}) for field, code in described.items()}

    return Schema(
        "struct",
        atomic=facts.get("map", record.get("map")) == "atomic",
        name=name.rpartition(".")[2],
        required=tuple(record.get("r", ())),
        written=record.get("z", {}),
        resolve=resolve,
        **_shared(facts),
    )
