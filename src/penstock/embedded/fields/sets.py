"""Sets of fields in the form in which managedFields carries them, and the algebra on them.

A set is the trie of `fieldsV1` itself: keys are path elements (`f:spec`, `k:{"name":"web"}`, `v:"x"`), values are
the sets below them. A field is a member when its node is empty or holds `.`. The root is no field: empty means
no members. Sets are never changed in place, so they share nodes freely.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from collections.abc import Iterator

FieldSet = dict[str, Any]
Path = tuple[str, ...]

SELF = "."
LEAF: FieldSet = {}
_KIND_ORDER = {"f": 1, "k": 2, "v": 3, "i": 4}


def parsed(raw: Any) -> FieldSet:
    """A set as somebody else wrote it, in our form; `ValueError` when it cannot be read.

    Sorts of path elements that are not known are left out, as the server does.
    """
    if not isinstance(raw, dict):
        if raw is None:
            return {}
        raise ValueError(f"{raw!r} is no set of fields")
    result: FieldSet = {}
    for key, node in raw.items():
        if key == SELF:
            result[SELF] = LEAF
        elif (element := _element(key)) is not None:
            child = parsed(node)
            result[element] = LEAF if len(child) == 1 and SELF in child else child
    return result


def _element(key: str) -> str | None:
    if key[1:2] != ":":
        raise ValueError(f"{key!r} has no colon after its first letter")
    kind, value = key[0], key[2:]
    if kind == "f":
        return key
    if kind == "i":
        return f"i:{int(value)}"
    if kind == "v":
        return f"v:{orjson.dumps(orjson.loads(value)).decode()}"
    if kind != "k":
        return None
    if not value.startswith("{"):
        raise ValueError(f"{value!r} is no key of a list")
    return f"k:{orjson.dumps(orjson.loads(value), option=orjson.OPT_SORT_KEYS).decode()}"


def union(left: FieldSet, right: FieldSet) -> FieldSet:
    """All fields of both."""
    if not left:
        return right
    if not right or left is right:
        return left
    result = dict(left)
    for key, node in right.items():
        other = left.get(key)
        result[key] = node if other is None else _union_node(other, node)
    return result


def _union_node(left: FieldSet, right: FieldSet) -> FieldSet:
    if left is right:
        return left
    if not left:
        return right if not right or SELF in right else {SELF: LEAF, **right}
    if not right:
        return left if SELF in left else {SELF: LEAF, **left}
    return union(left, right)


def difference(left: FieldSet, right: FieldSet) -> FieldSet:
    """The fields of the left that the right has not. Children of a field that goes stay."""
    if not left or not right:
        return left
    result: FieldSet = {}
    for key, node in left.items():
        other = right.get(key)
        kept = node if other is None else _difference_node(node, other)
        if kept is not None:
            result[key] = kept
    return result


def _difference_node(left: FieldSet, right: FieldSet) -> FieldSet | None:
    if not left:
        return None if is_member(right) else left
    if not right:
        return {key: node for key, node in left.items() if key != SELF} or None
    # A leaf differs from a node whose children are all gone: what is left of it is a member or nothing.
    result = {key: node for key, node in difference(left, right).items() if key != SELF}
    member = SELF in left and SELF not in right
    if not result:
        return LEAF if member else None
    return {SELF: LEAF, **result} if member else result


def recursive_difference(left: FieldSet, right: FieldSet) -> FieldSet:
    """The fields of the left that are neither in the right nor below a field of the right."""
    if not left or not right:
        return left
    result: FieldSet = {}
    for key, node in left.items():
        other = right.get(key)
        if other is None:
            result[key] = node
        elif not is_member(other):
            kept = recursive_difference(node, other) if node else node
            if kept or not node:
                result[key] = LEAF if len(kept) == 1 and SELF in kept else kept
    return result


def intersection(left: FieldSet, right: FieldSet) -> FieldSet:
    """The fields that are members of both."""
    result: FieldSet = {}
    for key, node in left.items():
        other = right.get(key)
        if other is None or key == SELF:
            continue
        common = intersection(node, other) if node and other else LEAF
        if is_member(node) and is_member(other):
            result[key] = {SELF: LEAF, **common} if common else LEAF
        elif common:
            result[key] = common
    return result


def contains_all(whole: FieldSet, part: FieldSet) -> bool:
    """Whether every field of the part is in the whole."""
    if part is whole:
        return True
    for key, node in part.items():
        other = whole.get(key)
        if other is None:
            return False
        if not node:
            if other and SELF not in other:
                return False
        elif not other or (node is not other and not contains_all(other, node)):
            return False
    return True


def is_member(node: FieldSet) -> bool:
    """Whether the field of this node is itself in the set."""
    return not node or SELF in node


def has(fields: FieldSet, path: Path) -> bool:
    """Whether the field at this path is in the set."""
    node = fields
    for element in path:
        found = node.get(element)
        if found is None:
            return False
        node = found
    return bool(path) and is_member(node)


def of_paths(*paths: Path) -> FieldSet:
    """The set of these fields."""
    result: FieldSet = {}
    for path in paths:
        single: FieldSet = LEAF
        for element in reversed(path):
            single = {element: single}
        result = union(result, single)
    return result


def paths(fields: FieldSet, prefix: Path = ()) -> Iterator[Path]:
    """Every member, as the server walks them: those of a level first, then what is below each."""
    ranked = sorted((key for key in fields if key != SELF), key=rank)
    for key in ranked:
        if is_member(fields[key]):
            yield (*prefix, key)
    for key in ranked:
        if fields[key]:
            yield from paths(fields[key], (*prefix, key))


def ordered(fields: FieldSet) -> FieldSet:
    """The same set with its keys in the order in which the server writes them."""
    if len(fields) == 1:
        for key, node in fields.items():
            return {key: ordered(node)} if node else fields
    return {key: (ordered(node) if node else node) for key in sorted(fields, key=rank) for node in (fields[key],)}


@lru_cache(8192)
def rank(element: str) -> tuple[Any, ...]:
    """Where a path element stands among its siblings: the field itself, fields, keys, values, indexes."""
    if element == SELF:
        return (0,)
    order = _KIND_ORDER.get(element[0], 5)
    if order == 1:
        return (1, element[2:])
    if order == 2:
        return (2, tuple((name, *_value_rank(value)) for name, value in orjson.loads(element[2:]).items()))
    if order == 3:
        return (3, *_value_rank(orjson.loads(element[2:])))
    return (order, int(element[2:]) if order == 4 else element)


def _value_rank(value: Any) -> tuple[Any, ...]:
    """Numbers come before strings, strings before booleans; the rest is ordered by its text."""
    if isinstance(value, bool):
        return (2, value)
    if isinstance(value, int | float):
        return (0, value)
    if isinstance(value, str):
        return (1, value)
    return (3 if value is not None else 4, orjson.dumps(value, option=orjson.OPT_SORT_KEYS))


@lru_cache(8192)
def element_text(element: str) -> str:
    """A path element as the server prints it in messages: `.spec`, `[name="web"]`, `[="x"]`."""
    kind, value = element[0], element[2:]
    if kind == "f":
        return f".{value}"
    if kind == "k":
        pairs = ",".join(f"{name}={_value_text(each)}" for name, each in orjson.loads(value).items())
        return f"[{pairs}]"
    if kind == "v":
        return f"[={_value_text(orjson.loads(value))}]"
    return f"[{value}]"


def path_text(path: Path) -> str:
    """A path as the server prints it: `.spec.ports[port=80,protocol="TCP"].name`."""
    return "".join(map(element_text, path))


def _value_text(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, list):
        return f"[{','.join(map(_value_text, value))}]"
    if isinstance(value, dict):
        return "".join(f"{key}={_value_text(each)}" for key, each in value.items())
    return str(value)


def quoted(text: str) -> str:
    """A string as Go's `%q` writes it."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return f'"{"".join(map(_escaped, text))}"'


_ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\n": "\\n",
    "\t": "\\t",
    "\r": "\\r",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\v": "\\v",
}


def _escaped(letter: str) -> str:
    if letter in _ESCAPES:
        return _ESCAPES[letter]
    if letter.isprintable():
        return letter
    code = ord(letter)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
