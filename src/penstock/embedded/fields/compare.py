"""What changed between two values of one type, as sets of fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from penstock.embedded.fields.elements import element_of
from penstock.embedded.fields.sets import LEAF, SELF, union

if TYPE_CHECKING:
    from penstock.embedded.fields.sets import FieldSet
    from penstock.embedded.schema import Schema


class Comparison(NamedTuple):
    """The fields that one value has less, has otherwise, and has more than another."""

    removed: FieldSet
    modified: FieldSet
    added: FieldSet

    @property
    def changed(self) -> FieldSet:
        return union(self.modified, self.added)


class _Missing:
    """No value at all, which is not null."""


_MISSING = _Missing()
_OPEN = frozenset({"int-or-string", "untyped"})
_NONE: tuple[FieldSet | None, FieldSet | None, FieldSet | None] = (None, None, None)
_REMOVED = (LEAF, None, None)
_MODIFIED = (None, LEAF, None)
_ADDED = (None, None, LEAF)

Nodes = tuple["FieldSet | None", "FieldSet | None", "FieldSet | None"]


def compare(old: Any, new: Any, schema: Schema) -> Comparison:
    """The difference between two objects of one type."""
    removed, modified, added = _NONE if equal(old, new, schema) else _children(old, new, schema)
    return Comparison(removed or {}, modified or {}, added or {})


def equal(left: Any, right: Any, schema: Schema) -> bool:
    """Whether two values of one type are equal. Only where the type is open can 1 stand for true."""
    return bool(left == right) and (not is_loose(schema) or same(left, right))


def is_loose(schema: Schema) -> bool:
    """Whether a value of the type may hold a number where another one holds a boolean."""
    if schema.kind == "scalar":
        return schema.scalar in _OPEN
    known = schema.memo.get("loose")
    if known is None:
        schema.memo["loose"] = False  # types may contain themselves
        parts = [*schema.fields.values(), *([schema.element] if schema.element is not None else [])]
        known = schema.memo["loose"] = schema.kind == "any" or any(map(is_loose, parts))
    return bool(known)


def same(left: Any, right: Any) -> bool:
    """Whether two JSON values are equal; true is not 1."""
    if left != right:
        return False
    if isinstance(left, dict):
        return all(same(left[key], right[key]) for key in left)
    if isinstance(left, list):
        return all(map(same, left, right))
    return isinstance(left, bool) == isinstance(right, bool)


def _nodes(old: Any, new: Any, schema: Schema) -> Nodes:
    """The nodes of one field; both values are there."""
    if equal(old, new, schema):
        return _NONE
    if schema.kind == "scalar" or schema.atomic:
        return _MODIFIED
    if schema.kind == "any" and (isinstance(old, dict) != isinstance(new, dict) or not isinstance(new, dict)):
        return _retyped(old, new)
    if schema.kind == "list":
        return _list_nodes(old, new, schema)
    if not old and not new:
        return _MODIFIED
    return _children(old or {}, new or {}, schema)


def _retyped(old: Any, new: Any) -> Nodes:
    """Values of unknown type, of which at most one is a map: a map's own fields come and go, the rest is a leaf."""
    if isinstance(old, dict) and old:
        removed = _entries(old)
        return (removed, LEAF, None) if new is not None else (removed, None, None)
    if isinstance(new, dict) and new:
        added = _entries(new)
        return (None, LEAF, added) if old is not None else (None, None, added)
    return _MODIFIED


def _entries(value: dict[str, Any]) -> FieldSet:
    return {f"f:{key}": _untyped(child) for key, child in value.items()}


def _untyped(value: Any) -> FieldSet:
    return {SELF: LEAF, **_entries(value)} if isinstance(value, dict) and value else LEAF


def _children(old: dict[str, Any], new: dict[str, Any], schema: Schema) -> Nodes:
    removed: FieldSet = {}
    modified: FieldSet = {}
    added: FieldSet = {}
    fields, element = schema.fields, schema.element
    for key, child in new.items():
        type_ = fields.get(key) or element
        if type_ is None:
            continue
        before = old.get(key, _MISSING)
        if before is _MISSING:
            added[f"f:{key}"] = whole(child, type_)
            continue
        if before is child:
            continue
        gone, other, fresh = _nodes(before, child, type_)
        if gone is not None:
            removed[f"f:{key}"] = gone
        if other is not None:
            modified[f"f:{key}"] = other
        if fresh is not None:
            added[f"f:{key}"] = fresh
    for key, child in old.items():
        if key not in new and (type_ := fields.get(key) or element) is not None:
            removed[f"f:{key}"] = whole(child, type_)
    return removed or None, modified or None, added or None


def whole(value: Any, schema: Schema) -> FieldSet:
    """The node of a field that came or went with all that is in it: every part of it is a member."""
    if schema.kind == "scalar" or schema.atomic or not value:
        return LEAF
    if isinstance(value, dict):
        fields, element = schema.fields, schema.element
        below = {
            f"f:{key}": whole(child, type_)
            for key, child in value.items()
            if (type_ := fields.get(key) or element) is not None
        }
    elif isinstance(value, list) and schema.kind == "list" and schema.list_type != "atomic":
        below = _whole_items(value, schema)
    else:
        return LEAF
    return {SELF: LEAF, **below} if below else LEAF


def _whole_items(items: list[Any], schema: Schema) -> FieldSet:
    below: FieldSet = {}
    for item in items:
        key = element_of(item, schema)
        below[key] = LEAF if key in below or schema.element is None else whole(item, schema.element)
    return below


def _list_nodes(old: Any, new: Any, schema: Schema) -> Nodes:
    if schema.list_type == "atomic" or (not old and not new):
        return _MODIFIED
    before, after = _grouped(old or [], schema), _grouped(new or [], schema)
    removed: FieldSet = {}
    modified: FieldSet = {}
    added: FieldSet = {}
    for key in [*before, *(key for key in after if key not in before)]:
        gone, other, fresh = _item_nodes(before.get(key, []), after.get(key, []), schema)
        if gone is not None:
            removed[key] = gone
        if other is not None:
            modified[key] = other
        if fresh is not None:
            added[key] = fresh
    return removed or None, modified or None, added or None


def _grouped(items: list[Any], schema: Schema) -> dict[str, list[Any]]:
    groups: dict[str, list[Any]] = {}
    for item in items:
        groups.setdefault(element_of(item, schema), []).append(item)
    return groups


def _item_nodes(old: list[Any], new: list[Any], schema: Schema) -> Nodes:
    """Items that share a key are compared as one leaf."""
    element = schema.element
    if element is None:
        return _NONE
    if len(old) > 1 and len(new) > 1:
        return _NONE if old == new else _MODIFIED
    if len(old) > 1:
        return LEAF, None, whole(new[0], element) if new else None
    if len(new) > 1:
        return whole(old[0], element) if old else None, None, LEAF
    if not old:
        return None, None, whole(new[0], element)
    if not new:
        return whole(old[0], element), None, None
    return _nodes(old[0], new[0], element)
