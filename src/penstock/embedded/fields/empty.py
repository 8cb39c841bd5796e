"""The object that stands for 'nothing there yet': what the server compares a new object with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.embedded.schema import Schema
    from penstock.kube.resources import Object


def empty_object(api_version: str, kind: str, schema: Schema) -> Object:
    """An object with nothing set, but with what Go always writes; nobody may change it.

    What it contains is why a new Deployment's manager does not own `spec` or `spec.strategy` themselves.
    """
    made: Object | None = schema.memo.get("empty")
    if made is None:
        made = schema.memo["empty"] = {**_zero(schema), "apiVersion": api_version, "kind": kind}
    return made


def _zero(schema: Schema) -> dict[str, Any]:
    return {
        name: _zero(schema.fields[name]) if value == {} and schema.fields[name].kind == "struct" else value
        for name, value in schema.written.items()
        if value != {} or schema.fields[name].kind == "struct"
    }
