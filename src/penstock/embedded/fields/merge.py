"""What a live value becomes when a configuration is applied to it: nothing is removed, the configuration wins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.embedded.fields.elements import element_of

if TYPE_CHECKING:
    from penstock.embedded.schema import Schema


def merge(live: Any, wanted: Any, schema: Schema) -> Any:
    """The merged value. It shares what it can with both, so neither may be changed afterwards."""
    if live is wanted:
        return live
    kind = schema.kind
    if kind == "scalar" or schema.atomic:
        return wanted
    if kind == "list":
        return _list(live, wanted, schema)
    if kind == "any" and not (isinstance(live, dict) and (isinstance(wanted, dict) or wanted is None)):
        return wanted
    # Null takes nothing away from a map that has entries.
    if not live or not wanted:
        return wanted if wanted or not live else live
    return _map(live, wanted, schema)


def _map(live: dict[str, Any], wanted: dict[str, Any], schema: Schema) -> dict[str, Any]:
    fields, element = schema.fields, schema.element
    result = dict(live)
    for key, value in wanted.items():
        if key in live:
            type_ = fields.get(key) or element
            result[key] = value if type_ is None else merge(live[key], value, type_)
        else:
            result[key] = value
    return result


def _list(live: Any, wanted: Any, schema: Schema) -> Any:
    if schema.list_type == "atomic" or not isinstance(live, list) or schema.element is None:
        return wanted
    if not wanted:
        return live or wanted
    return _items(live, wanted, schema, schema.element) if live else wanted


def _items(live: list[Any], wanted: list[Any], schema: Schema, element: Schema) -> list[Any]:
    """Shared items stand in the order of the configuration, the others keep their place among them."""
    left = [element_of(item, schema) for item in live]
    right = [element_of(item, schema) for item in wanted]
    before: dict[str, Any] = {}
    repeated: set[str] = set()
    for key, item in zip(left, live, strict=True):
        if key in before:
            repeated.add(key)
        before[key] = item
    after = dict(zip(right, wanted, strict=True))

    def merged(key: str) -> Any:
        # Items that stand more than once are replaced, not merged.
        return merge(before[key], after[key], element) if key in before and key not in repeated else after[key]

    return _interleaved(left, right, live, before, after, merged)


def _interleaved(
    left: list[str], right: list[str], live: list[Any], before: dict[str, Any], after: dict[str, Any], merged: Any
) -> list[Any]:
    result: list[Any] = []
    shared = [key for key in right if key in before]
    shared.reverse()
    done: set[str] = set()
    i = j = 0
    while i < len(left) or j < len(right):
        if i < len(left) and j < len(right):
            if left[i] == right[j]:
                done.add(left[i])
                result.append(merged(right[j]))
                i, j = i + 1, j + 1
                if shared:
                    shared.pop()
                continue
            if left[i] in after and shared and shared[-1] != left[i]:
                i += 1
                continue
        if i < len(left):
            if left[i] not in after:
                result.append(live[i])
                i += 1
                continue
            if left[i] in done:
                i += 1
        if j < len(right):
            done.add(right[j])
            result.append(merged(right[j]))
            if shared and shared[-1] == right[j]:
                shared.pop()
            j += 1
    return result
