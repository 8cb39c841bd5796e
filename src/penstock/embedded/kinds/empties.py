"""Empty lists and maps that a request spelt out.

They are not stored: what is empty is not there. But Go keeps apart what is empty and what is missing as long as the
object is in memory, and some messages, generations and managed fields tell the difference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.embedded.kinds.goform import is_collection

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.embedded.schema import Schema
    from penstock.kube.resources import Object

Empties = tuple[tuple[tuple[str | int, ...], Any], ...]
"""Where something empty was, and what it was."""


def empties(obj: Object) -> Empties:
    """Every empty list and map of an object as it was sent, in fields that its kind has."""
    return tuple(each for each in _found(obj, ()) if is_collection(obj, each[0]))


def _found(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    if not value:
        yield path, value
        return
    for key, child in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(child, (dict, list)):
            yield from _found(child, (*path, key))


def with_empties(obj: Object, found: Empties) -> Object:
    """A copy of the object with the empty ones back in their places."""
    for path, value in found:
        obj = _put(obj, path, value)
    return obj


def compared(obj: Object, found: Empties, schema: Schema) -> Object:
    """The object with those empties that count when it is compared with the stored one to see who manages what.

    Go leaves out what is empty and may be left out, but lists that have one owner it compares as they lie in memory.
    """
    return with_empties(obj, tuple(each for each in found if _counts(obj, each[0], schema)))


def _counts(value: Any, path: tuple[str | int, ...], schema: Schema) -> bool:
    atomic = False
    for step in path:
        if schema.kind == "list" and (atomic or schema.list_type == "atomic"):
            return True
        atomic = atomic or schema.atomic
        inner = schema.fields.get(str(step)) or schema.element
        try:
            value = value[step]
        except (LookupError, TypeError):
            return False
        if inner is None:
            return False
        schema = inner
    return value is None


def _put(value: Any, path: tuple[str | int, ...], empty: Any) -> Any:
    if not path:
        return empty if value is None else value
    first, rest = path[0], path[1:]
    if isinstance(value, dict):
        # The way to the place must be there still.
        return {**value, first: _put(value.get(first), rest, empty)} if first in value or not rest else value
    if isinstance(value, list) and isinstance(first, int) and first < len(value):
        return [*value[:first], _put(value[first], rest, empty), *value[first + 1 :]]
    return value
