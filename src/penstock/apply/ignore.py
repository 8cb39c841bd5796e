"""Fields in which the cluster may differ, and what becomes of them when the object is applied anyway.

Patterns are RE2: they take time in proportion to the text, whatever the pattern.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import orjson

from penstock.apply.drift import equal
from penstock.errors import StageError
from penstock.kube.resources import group_of, version_of
from penstock.labels import BadSelector, Requirements, matches, parse_selector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from penstock.api.references import IgnoreRule, Selector
    from penstock.kube import Object

Pointer = tuple[str, ...]
"""A JSON pointer, taken apart."""

_MISSING: Any = object()


class BadIgnoreRule(StageError):
    """A rule whose selector makes no sense."""


class IgnoreRules:
    """The rules of one Kustomization, made ready for many objects."""

    def __init__(self, rules: Iterable[IgnoreRule] = ()) -> None:
        self._rules = [(_target(rule.target), [parse(path) for path in rule.paths]) for rule in rules]

    def pointers(self, obj: Object) -> list[Pointer]:
        """The paths that are ignored in this object, of all rules that mean it. Malformed ones are left out."""
        found = [pointer for means, pointers in self._rules if means(obj) for pointer in pointers if pointer]
        return list(dict.fromkeys(found))


def parse(path: str) -> Pointer:
    """Take a JSON pointer apart; one that is malformed, or means the whole object, comes out empty."""
    if not path.startswith("/"):
        return ()
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in path[1:].split("/"))


def without(obj: Object, pointers: Iterable[Pointer]) -> Object:
    """The object without these fields; the given one stays as it is."""
    for pointer in sorted(pointers, key=_place, reverse=True):  # later items first: removing one moves the others
        obj = _removed(obj, pointer)
    return obj


def resolved(payload: Object, live: Object, planned: Object, pointers: Iterable[Pointer], *, manager: str) -> Object:
    """What to send when an object with ignored fields is applied.

    A field in which the cluster differs is left out when somebody else applies it, which gives up our ownership;
    otherwise the live value is sent, which keeps both. What does not differ is sent as wished: it may be required.
    """
    others = [
        entry.get("fieldsV1") or {}
        for entry in (live.get("metadata") or {}).get("managedFields") or ()
        if entry.get("operation") == "Apply" and not entry.get("subresource") and entry.get("manager") != manager
    ]
    for pointer in sorted(pointers, key=_place, reverse=True):
        there, wished = _found(live, pointer), _found(planned, pointer)
        if (there is _MISSING) == (wished is _MISSING) and equal(
            None if there is _MISSING else there, None if wished is _MISSING else wished
        ):
            continue
        if there is _MISSING or any(owns(fields, live, pointer) for fields in others):
            payload = _removed(payload, pointer)
        else:
            payload = _replaced(payload, pointer, there)
    return payload


def owns(fields: Object, live: Any, pointer: Pointer) -> bool:
    """Whether a field set has this path; list items are found by their keys."""
    if not fields:
        return False
    node = fields
    for part in pointer:
        if not node:
            return True  # a field that is owned as a whole
        child = _child(node, live, part)
        if child is None:
            return False
        node, live = child, _step(live, part)
    return True


def _child(node: dict[str, Object], value: Any, part: str) -> Object | None:
    if not isinstance(value, list):
        return node.get(f"f:{part}")
    item = _step(value, part)
    if item is _MISSING:
        return None
    for key, child in node.items():
        if (key.startswith("k:") and _has_key(item, key[2:])) or (key.startswith("v:") and equal(_json(key[2:]), item)):
            return child
    return node.get(f"i:{part}")


def _has_key(item: Any, key: str) -> bool:
    wanted = _json(key)
    return (
        isinstance(wanted, dict)
        and isinstance(item, dict)
        and all(equal(item.get(name), value) for name, value in wanted.items())
    )


def _json(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return _MISSING


def _step(value: Any, part: str) -> Any:
    if isinstance(value, dict):
        return value.get(part, _MISSING)
    if isinstance(value, list) and (index := _index(part)) is not None and index < len(value):
        return value[index]
    return _MISSING


def _index(part: str) -> int | None:
    return int(part) if part.isascii() and part.isdecimal() and len(part) < 10 else None


def _found(value: Any, pointer: Pointer) -> Any:
    for part in pointer:
        value = _step(value, part)
        if value is _MISSING:
            return _MISSING
    return value


def _removed(value: Any, pointer: Sequence[str]) -> Any:
    part, *rest = pointer
    child = _step(value, part)
    if child is _MISSING:
        return value
    if rest:
        return _with(value, part, _removed(child, rest))
    if isinstance(value, dict):
        return {key: one for key, one in value.items() if key != part}
    index = int(part)
    return [*value[:index], *value[index + 1 :]]


def _replaced(value: Any, pointer: Sequence[str], new: Any) -> Any:
    part, *rest = pointer
    child = _step(value, part)
    if not rest:
        return _with(value, part, new) if isinstance(value, dict) or child is not _MISSING else value
    if child is _MISSING and isinstance(value, dict):
        child = {}
    return value if child is _MISSING else _with(value, part, _replaced(child, rest, new))


def _with(value: Any, part: str, new: Any) -> Any:
    if isinstance(value, dict):
        return {**value, part: new}
    index = int(part)
    return [*value[:index], new, *value[index + 1 :]]


def _place(pointer: Pointer) -> list[tuple[int, str]]:
    return [(index if (index := _index(part)) is not None else -1, part) for part in pointer]


def _target(selector: Selector | None) -> Callable[[Object], bool]:
    if selector is None:
        return lambda _obj: True
    labels = _requirements("labelSelector", selector.label_selector)
    annotations = _requirements("annotationSelector", selector.annotation_selector)
    patterns = [_anchored(getattr(selector, name)) for name in ("group", "version", "kind", "namespace", "name")]

    def means(obj: Object) -> bool:
        metadata: Object = obj.get("metadata") or {}
        api_version = obj.get("apiVersion") or ""
        names = (group_of(api_version), version_of(api_version), obj.get("kind") or "")
        place = (metadata.get("namespace") or "", metadata.get("name") or "")
        return (
            all(pattern(text) for pattern, text in zip(patterns, (*names, *place), strict=True))
            and matches(labels, metadata.get("labels") or {})
            and matches(annotations, metadata.get("annotations") or {})
        )

    return means


def _requirements(field: str, text: str) -> Requirements:
    try:
        return parse_selector(text)
    except BadSelector as error:
        example = "an example is 'app=web,tier in (a, b),!old'"
        raise BadIgnoreRule(f"spec.ignore: {field}: {text!r} is not a label selector; {example}") from error


@lru_cache(maxsize=512)
def _anchored(pattern: str) -> Callable[[str], bool]:
    """Whether a whole text matches; an empty pattern takes everything."""
    if not pattern:
        return lambda _text: True
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        compiled = re2.compile(f"^(?:{pattern})$", options)
    except re2.error as error:
        raise BadIgnoreRule(f"spec.ignore: {pattern!r} is not a regular expression: {error}") from error
    return lambda text: compiled.search(text) is not None
