"""Rules beside the schema: items of sets and maps are unique, and embedded objects have proper metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from penstock.embedded.definitions.nodes import Node
from penstock.embedded.kinds.metadata import check_annotations, check_finalizers, check_labels, check_owners
from penstock.embedded.kinds.names import path_segment
from penstock.embedded.kinds.problems import FieldProblem, Problems, each_invalid, invalid

if TYPE_CHECKING:
    from collections.abc import Iterator


def check_lists(problems: Problems, value: Any, node: Node, path: str = "") -> None:
    """Find items that are there twice."""
    if not node.has_lists:
        return
    if isinstance(value, list):
        problems += _duplicates(value, node, path)
        if node.items is not None:
            for index, item in enumerate(value):
                check_lists(problems, item, node.items, f"{path}[{index}]")
        return
    for inner, child, where in _fields(value, node, path):
        check_lists(problems, inner, child, where)


def check_embedded(problems: Problems, value: Any, node: Node, path: str = "") -> None:
    """Metadata of the objects inside of an object; those of the object itself are checked elsewhere."""
    if isinstance(value, list):
        if node.items is not None:
            for index, item in enumerate(value):
                check_embedded(problems, item, node.items, f"{path}[{index}]")
        return
    if path and node.embedded and isinstance(value, dict):
        metadata = value.get("metadata")
        if isinstance(metadata, dict):
            _check_metadata(problems, metadata, f"{path}.metadata")
    for inner, child, where in _fields(value, node, path):
        check_embedded(problems, inner, child, where)


def _fields(value: Any, node: Node, path: str) -> Iterator[tuple[Any, Node, str]]:
    if not isinstance(value, dict) or (not node.properties and not isinstance(node.additional, Node)):
        return
    for key, inner in value.items():
        child = node.child(key)
        if child is not None and isinstance(inner, (dict, list)):
            where = f"{path}.{key}" if path else key
            yield inner, child, where if key in node.properties else f"{path}[{key}]"


def _duplicates(value: list[Any], node: Node, path: str) -> Iterator[FieldProblem]:
    if node.list_type not in ("set", "map"):
        return
    if node.list_type == "map":
        stray = next((i for i, item in enumerate(value) if item is not None and not isinstance(item, dict)), None)
        if stray is not None:
            yield invalid(f"{path}[{stray}]", value[stray], "must be an object for an array of list-type map")
            return
    seen: set[bytes] = set()
    for index, item in enumerate(value):
        key: Any = item
        if node.list_type == "map":
            if not isinstance(item, dict):
                continue
            key = {name: item[name] for name in node.map_keys if name in item}
        encoded = orjson.dumps(key, option=orjson.OPT_SORT_KEYS)
        if encoded in seen:
            told = encoded.decode()
            yield FieldProblem("FieldValueDuplicate", f"{path}[{index}]", f"Duplicate value: {told}")
        seen.add(encoded)


def _check_metadata(problems: Problems, metadata: dict[str, Any], field: str) -> None:
    if prefix := metadata.get("generateName"):
        problems += each_invalid(f"{field}.generateName", prefix, path_segment(prefix))
    if name := metadata.get("name"):
        problems += each_invalid(f"{field}.name", name, path_segment(name))
    if labels := metadata.get("labels"):
        check_labels(problems, labels, f"{field}.labels")
    if annotations := metadata.get("annotations"):
        check_annotations(problems, annotations, f"{field}.annotations")
    if owners := metadata.get("ownerReferences"):
        check_owners(problems, owners, f"{field}.ownerReferences")
    if finalizers := metadata.get("finalizers"):
        check_finalizers(problems, finalizers, f"{field}.finalizers")
