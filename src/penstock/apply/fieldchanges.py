"""Two states of an object, field by field."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from penstock.apply.drift import equal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.kube import Object

HIDDEN = "*****"
"""What is shown of a value that is nobody's business."""

_MISSING: Any = object()
_NOT_COMPARED = frozenset({"apiVersion", "kind", "metadata", "status"})
_COMPARED_METADATA = ("labels", "annotations")


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field that would be added, removed or changed."""

    path: tuple[str, ...]
    """The names on the way to it; an item of a list is `[name]`, or `[3]` where items have no names."""
    kind: Literal["added", "removed", "changed"]
    before: Any = None
    after: Any = None

    def __str__(self) -> str:
        shown = ""
        for part in self.path:
            if part.startswith("["):
                shown += part
            elif "." in part or "/" in part:
                shown += f"[{part}]"
            else:
                shown += f".{part}" if shown else part
        return shown

    def hidden(self) -> FieldChange:
        """The same without its values; that it changed is still told."""
        before = None if self.kind == "added" else HIDDEN
        return FieldChange(self.path, self.kind, before, None if self.kind == "removed" else HIDDEN)


def field_changes(before: Object, after: Object) -> list[FieldChange]:
    """What differs in anything but status, and in no more of the metadata than labels and annotations."""
    return list(_mapping((), _compared(before), _compared(after)))


def _compared(obj: Object) -> Object:
    metadata = obj.get("metadata") or {}
    content = {key: value for key, value in obj.items() if key not in _NOT_COMPARED}
    return {"metadata": {place: metadata.get(place) for place in _COMPARED_METADATA}, **content}


def _mapping(path: tuple[str, ...], before: Object, after: Object) -> Iterator[FieldChange]:
    for key in dict.fromkeys((*before, *after)):
        yield from _value((*path, str(key)), before.get(key, _MISSING), after.get(key, _MISSING))


def _value(path: tuple[str, ...], before: Any, after: Any) -> Iterator[FieldChange]:
    before, after = _if_full(before), _if_full(after)
    if before is _MISSING and after is _MISSING:
        return
    if before is _MISSING or after is _MISSING:
        # A map is taken apart, so that each of its fields can be told, and hidden, by itself.
        if isinstance(before, dict) or isinstance(after, dict):
            yield from _mapping(path, {} if before is _MISSING else before, {} if after is _MISSING else after)
        elif before is _MISSING:
            yield FieldChange(path, "added", after=after)
        else:
            yield FieldChange(path, "removed", before=before)
    elif isinstance(before, dict) and isinstance(after, dict):
        yield from _mapping(path, before, after)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _listing(path, before, after)
    elif not equal(before, after):
        yield FieldChange(path, "changed", before, after)


def _listing(path: tuple[str, ...], before: list[Any], after: list[Any]) -> Iterator[FieldChange]:
    """Items with names are compared by name, all others by their place."""
    if equal(before, after):
        return
    names = _names(before), _names(after)
    if names[0] is None or names[1] is None:
        for index in range(max(len(before), len(after))):
            old = before[index] if index < len(before) else _MISSING
            new = after[index] if index < len(after) else _MISSING
            yield from _item((*path, f"[{index}]"), old, new)
        return
    for name in dict.fromkeys((*names[0], *names[1])):
        yield from _item((*path, f"[{name}]"), names[0].get(name, _MISSING), names[1].get(name, _MISSING))
    if list(names[0]) != list(names[1]) and names[0].keys() == names[1].keys():
        yield FieldChange(path, "changed", list(names[0]), list(names[1]))  # only their order differs, or that too


def _item(path: tuple[str, ...], before: Any, after: Any) -> Iterator[FieldChange]:
    """A whole item comes or goes as one."""
    if before is _MISSING:
        yield FieldChange(path, "added", after=after)
    elif after is _MISSING:
        yield FieldChange(path, "removed", before=before)
    else:
        yield from _value(path, before, after)


def _names(items: list[Any]) -> dict[str, Any] | None:
    found = {item["name"]: item for item in items if isinstance(item, dict) and isinstance(item.get("name"), str)}
    return found if len(found) == len(items) else None


def _if_full(value: Any) -> Any:
    """Null and nothing in a map or list count as missing, as they do when drift is looked for."""
    return _MISSING if value is None or (isinstance(value, dict | list) and not value) else value
