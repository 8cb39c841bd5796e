"""What a take-over leaves of an object, worked out without writing: a dry-run cannot show it.

The controller first makes the fields of rivals its own and then applies, which drops what it does not wish for. No
server does both in one dry-run, so the fields to be dropped are read from the owners that the server names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from penstock.apply.drift import equal
from penstock.apply.managers import ANNOTATIONS, LABELS, united

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from penstock.apply.managers import Rival
    from penstock.kube import Object


def after_takeover(live: Object, planned: Object, against: Sequence[Rival]) -> Object:
    """The answer to a dry-run without what only rivals own. A field that the server then defaults is missing too."""
    before, after = _entries(live), _entries(planned)
    taken = _union(entry for entry in before if any(rival.matches(entry) for rival in against))
    kept = _union(entry for entry in after if not any(rival.matches(entry) for rival in against))
    left = _without_fields(planned, taken, kept)
    metadata = dict(left.get("metadata") or {})
    for place, keys in (("annotations", ANNOTATIONS), ("labels", LABELS)):
        if place in metadata:
            metadata[place] = {key: value for key, value in metadata[place].items() if key not in keys}
    return {**left, "metadata": metadata}


def _entries(obj: Object) -> list[Object]:
    return list((obj.get("metadata") or {}).get("managedFields") or ())


def _union(entries: Iterable[Object]) -> Object:
    fields: Object = {}
    for entry in entries:
        fields = united(fields, entry.get("fieldsV1") or {})
    return fields


def _without_fields(obj: Object, taken: Object, kept: Object) -> Object:
    result = dict(obj)
    for key, node in taken.items():
        name = key[2:]
        if not key.startswith("f:") or name not in result:
            continue
        other = kept.get(key)
        if other is None and (not node or "." in node):
            del result[name]
        elif other != {}:  # an empty node is a field that somebody else owns as a whole
            left = _without(result[name], node, other or {})
            if other is None and left in ({}, []):
                del result[name]
            else:
                result[name] = left
    return result


def _without(value: Any, taken: Object, kept: Object) -> Any:
    if isinstance(value, dict):
        return _without_fields(value, taken, kept)
    return _without_items(value, taken, kept) if isinstance(value, list) else value


def _without_items(items: list[Any], taken: Object, kept: Object) -> list[Any]:
    """A list by its keys or values; what a list has by position is owned as a whole and never comes here."""
    result = list(items)
    for key, node in taken.items():
        index = next((number for number, item in enumerate(result) if _is_meant(item, key)), None)
        if index is None:
            continue
        other = kept.get(key)
        if other is None and (not node or "." in node):
            del result[index]
        elif other != {}:
            result[index] = _without(result[index], node, other or {})
    return result


def _is_meant(item: Any, key: str) -> bool:
    if key.startswith("v:"):
        return equal(orjson.loads(key[2:]), item)
    if not key.startswith("k:") or not isinstance(item, dict):
        return False
    return all(name in item and equal(item[name], value) for name, value in orjson.loads(key[2:]).items())
