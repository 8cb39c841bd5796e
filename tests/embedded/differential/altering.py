"""Random changes of objects: mistakes, parts of them, directives of a strategic merge, and pointers into them."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from tests.embedded.differential.making import LETTERS

if TYPE_CHECKING:
    from random import Random

    from penstock.kube.resources import Object


def spoilt(random: Random, made: Object) -> Object:
    """The object with a field of the wrong type, an unknown field or a wrong name in it."""
    spots = [(parent, key) for parent, key in _spots(made) if key not in {"apiVersion", "kind", "name"}]
    parent, key = random.choice(spots)
    random.choice(
        (
            lambda: parent.__setitem__(key, random.choice(("wrong", 7, True, [], {}, None, ["x"], {"x": 1}))),
            lambda: parent.__setitem__("unknown", 1) if isinstance(parent, dict) else None,
            lambda: made["metadata"].__setitem__("labels", {"-bad-": "x"}),
        )
    )()
    return made


def _entry(**more: Any) -> Object:
    known = {"manager": "other", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1"}
    return {**known, "fieldsV1": {"f:metadata": {"f:labels": {"f:a": {}}}}, **more}


_OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "uid-a", "controller": True}
_ODD: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("uid", ("other", "", None)),
    ("generation", (7, -7, 0)),
    ("creationTimestamp", ("2020-01-02T03:04:05Z", None)),
    ("deletionTimestamp", ("2020-01-02T03:04:05Z",)),
    ("deletionGracePeriodSeconds", (0, 7)),
    ("selfLink", ("/x",)),
    ("generateName", ("web-", "-Bad")),
    ("namespace", ("other", "", None)),
    ("resourceVersion", ("0", "", "-1", 7)),
    ("finalizers", (["a"], ["example.com/a"] * 2, ["orphan", "foregroundDeletion"], [""], [], ["kubernetes"])),
    (
        "ownerReferences",
        (
            [_OWNER, {**_OWNER, "name": "b", "uid": "uid-b"}],
            [_OWNER, {**_OWNER, "name": "b"}],
            [{**_OWNER, "apiVersion": "a/b/c"}],
            [{}],
        ),
    ),
    (
        "managedFields",
        (
            [_entry()],
            [_entry(apiVersion="v9")],
            [_entry(fieldsV1={"strange": {}})],
            [_entry(operation="Wrong")],
            [_entry(fieldsType="FieldsV2")],
            [_entry(operation="Apply", time="2020-01-02T03:04:05Z")],
        ),
    ),
    ("labels", ({"a": "-b"}, {"": ""}, {"a/b/c": "x"}, {"a": None})),
    ("annotations", ({"A B": "x"}, {"A/b": "x"}, {"a": 7})),
)


def odd_metadata(random: Random, metadata: Object) -> None:
    """Put something into metadata that hardly anybody sends."""
    field, values = random.choice(_ODD)
    metadata[field] = copy.deepcopy(random.choice(values))


def _spots(value: Any) -> list[tuple[Any, Any]]:
    children: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        children = list(value.items())
    elif isinstance(value, list):
        children = list(enumerate(value))
    return [(value, key) for key, _ in children] + [spot for _, child in children for spot in _spots(child)]


def thinned(random: Random, value: Object, depth: int = 0) -> Object:
    """A random part of an object, with nulls here and there."""
    result: Object = {}
    for key, child in value.items():
        chance = random.random()
        if chance < 0.25 and depth:
            continue
        if chance < 0.32 and depth:
            result[key] = None
        elif isinstance(child, dict):
            result[key] = thinned(random, child, depth + 1)
        else:
            result[key] = child
    return result


def directed(random: Random, value: Any, depth: int = 0) -> Any:
    """A patch with directives of strategic merge in it."""
    if isinstance(value, list):
        return [directed(random, item, depth + 1) for item in value]
    if not isinstance(value, dict):
        return value
    result = {key: directed(random, child, depth + 1) for key, child in value.items()}
    if depth and random.random() < 0.06:
        result["$patch"] = random.choice(("delete", "replace", "merge"))
    if depth and random.random() < 0.05:
        result["$retainKeys"] = list(value)
    for key, child in value.items():
        if isinstance(child, list) and child and random.random() < 0.25:
            _direct_list(random, result, key, child)
    return result


# The real server falls over an element order for a list that does not merge by that key.
_NAMED_LISTS = frozenset({"containers", "initContainers", "env", "volumes"})


def _direct_list(random: Random, result: Object, key: str, items: list[Any]) -> None:
    if key in _NAMED_LISTS and all(isinstance(item, dict) and "name" in item for item in items):
        order = [{"name": item["name"]} for item in items]
        random.shuffle(order)
        result[f"$setElementOrder/{key}"] = order
        if random.random() < 0.5:
            result[key] = [*result[key], {"name": random.choice(LETTERS), "$patch": "delete"}]
    elif all(isinstance(item, str) for item in items):
        if random.random() < 0.5:
            result[f"$setElementOrder/{key}"] = items
        else:
            # Which of the two comes first when both are there is a matter of luck.
            result[f"$deleteFromPrimitiveList/{key}"] = result.pop(key)


# What differs from server to server must not get elsewhere.
_IDENTITY = frozenset({"/metadata/name", "/metadata/resourceVersion", "/metadata/uid"})


def pointers(value: Any, prefix: str = "") -> list[tuple[str, Any]]:
    """Every place in a value as a JSON pointer, with what is there; but for what names the object."""
    pairs: list[tuple[str, Any]] = []
    if isinstance(value, dict):
        pairs = [(str(key).replace("~", "~0").replace("/", "~1"), child) for key, child in value.items()]
    elif isinstance(value, list):
        pairs = [(str(index), child) for index, child in enumerate(value)]
    found = [(f"{prefix}/{key}", child) for key, child in pairs if prefix or key not in {"apiVersion", "kind"}]
    below = [pointer for key, child in pairs for pointer in pointers(child, f"{prefix}/{key}")]
    return [(path, child) for path, child in found + below if path not in _IDENTITY] or [("/metadata/labels", {})]
