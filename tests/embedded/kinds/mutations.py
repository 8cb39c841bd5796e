"""Objects that are almost right: every field of a sample taken away, or replaced by something that does not belong."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

    from penstock.kube.resources import Object

Path = tuple[str | int, ...]
_ABSENT = object()

_TEXTS: tuple[Any, ...] = ("", "Bad_Value!", "x" * 70, "a/b", None, 1, [], {}, "-1")
_NUMBERS: tuple[Any, ...] = (-1, 0, 70000, 3000000000, "x", None, 1.5, {})
_FLAGS: tuple[Any, ...] = (None, "x", True, False)


def samples() -> list[Object]:
    """Rich objects of every kind, some kinds more than once."""
    return [*_objects("samples.yaml"), *_objects("ordinary.yaml")]


def sparse() -> list[Object]:
    """Objects of kinds with few rules, good enough to be compared as they are."""
    return _objects("sparse.yaml")


def _objects(name: str) -> list[Object]:
    return list(yaml.safe_load_all((FilePath(__file__).parent / name).read_text()))


@dataclass(frozen=True, slots=True)
class Mutation:
    """One change of an object: the value at a path is replaced, or taken away."""

    path: Path
    value: Any = _ABSENT

    @property
    def removes(self) -> bool:
        return self.value is _ABSENT

    def fits(self, obj: Object) -> bool:
        """Whether the object has what is replaced or taken away."""
        return any(path == self.path for path, _ in _fields(obj))

    def __call__(self, obj: Object) -> Object:
        changed = copy.deepcopy(obj)
        parent: Any = changed
        for step in self.path[:-1]:
            parent = parent[step]
        if self.removes:
            del parent[self.path[-1]]
        else:
            parent[self.path[-1]] = copy.deepcopy(self.value)
        return changed

    def __str__(self) -> str:
        where = ".".join(str(step) for step in self.path)
        return f"without {where}" if self.removes else f"{where} = {self.value!r}"


_EXPRESSIONS = ("expression", "messageExpression", "valueExpression")


def mutations(obj: Object, skip: frozenset[Path] = frozenset()) -> Iterator[Mutation]:
    """Every single change worth trying; what names the object and its kind stays.

    So do the expressions of admission policies: the API server compiles them, and ours stores what it gets.
    """
    for path, value in _fields(obj):
        if not path or path[0] in ("apiVersion", "kind") or path in skip or path == ("metadata",):
            continue
        if path in (("metadata", "namespace"), ("metadata", "creationTimestamp")):
            continue
        yield Mutation(path)
        for other in _others(value):
            if path[-1] in _EXPRESSIONS and isinstance(other, str) and other:
                continue
            if other != value or type(other) is not type(value):
                yield Mutation(path, other)


def pairs(obj: Object, choose: random.Random, count: int) -> Iterator[tuple[str, Object]]:
    """Objects with two changes in different places, and what was changed."""
    found = list(mutations(obj))
    while count:
        one, other = choose.sample(found, 2)
        length = min(len(one.path), len(other.path))
        if one.path[:length] == other.path[:length] or _moves(one, other):
            continue
        count -= 1
        yield f"{one} and {other}", other(one(obj))


def _moves(one: Mutation, other: Mutation) -> bool:
    """Whether the first takes an item out of a list in which the second one counts."""
    last = len(one.path) - 1
    return one.removes and isinstance(one.path[last], int) and one.path[:last] == other.path[:last]


def _others(value: Any) -> tuple[Any, ...]:
    if isinstance(value, str):
        return _TEXTS
    if isinstance(value, bool):
        return _FLAGS
    if isinstance(value, int):
        return _NUMBERS
    if isinstance(value, list):
        again = [*value, copy.deepcopy(value[0])] if value else [{}]
        return ([], None, "x", {}, again, [None])
    if isinstance(value, dict):
        return ({}, None, "x", [], {**value, "unknownField": 1})
    return (None,)


def _fields(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    yield path, value
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _fields(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _fields(item, (*path, index))
