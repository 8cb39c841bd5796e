"""Rows of custom resources: the columns that their definition asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from penstock.embedded.tables.columns import definition
from penstock.embedded.tables.durations import since
from penstock.embedded.tables.jsonpath import find

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.kube.resources import Object

_AGE: Object = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}


def columns(asked: Sequence[Object]) -> list[Object]:
    """Name, and what was asked for; Age when nothing was."""
    return [definition("Name", "string"), *(_column(each) for each in asked or (_AGE,))]


def _column(asked: Object) -> Object:
    made = definition(
        asked["name"],
        asked["type"],
        description=asked.get("description", ""),
        priority=asked.get("priority", 0),
    )
    return {**made, "format": asked.get("format", "")}


def cells(obj: Object, asked: Sequence[Object], now: float) -> list[Any]:
    return [obj["metadata"]["name"], *(_cell(obj, each, now) for each in asked or (_AGE,))]


def _cell(obj: Object, column: Object, now: float) -> Any:
    """One value in the column's type; None where there is none, or one that does not fit."""
    found = find(obj, column["jsonPath"])
    if not found or found[0] is None:
        return None
    value = found[0]
    match column["type"]:
        case "string":
            return _text(value)
        case "date":
            return since(value, now) if isinstance(value, str) else None
        case "integer":
            return int(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
        case "number":
            return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
        case "boolean":
            return value if isinstance(value, bool) else None
        case _:
            return None


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (dict, list)):
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    return str(value)
