"""Brings a custom object into the form of its schema: unknown fields go, nulls go, defaults come."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from penstock.embedded.definitions.nodes import MISSING, Node
from penstock.embedded.kinds.decode import DecodeError, Mismatch, decode_as

if TYPE_CHECKING:
    from penstock.kube.resources import Object

_IDENTITY = frozenset({"apiVersion", "kind", "metadata"})
METADATA_TYPE = "apis/meta/v1.ObjectMeta"


def shape(obj: Object, node: Node) -> None:
    """All of it, in place; `DecodeError` when metadata does not fit its type."""
    read_metadata(obj)
    prune(obj, node)
    drop_nulls(obj, node)
    if node.has_defaults:
        fill(obj, node)


def shape_applied(obj: Object, node: Node) -> None:
    """The same for what an apply made, which the server does not read again: it only fills in defaults."""
    read_metadata(obj)
    if node.has_defaults:
        fill(obj, node)


def read_metadata(obj: Object) -> None:
    """Metadata as the type it is, in place; `DecodeError` when it does not fit."""
    try:
        obj["metadata"] = decode_as(METADATA_TYPE, obj.get("metadata") or {})
    except Mismatch as mismatch:
        raise DecodeError(mismatch.sentence()) from None


def prune(value: Any, node: Node) -> None:
    """Take out, in place, every field that the schema does not know."""
    if isinstance(value, list):
        if node.items is not None:
            for item in value:
                prune(item, node.items)
        return
    if not isinstance(value, dict):
        return
    if node.embedded:
        _coerce_metadata(value)
    if not node.preserve and node.additional is not True and not isinstance(node.additional, Node):
        known = node.properties
        unknown = [key for key in value if key not in known and not (node.embedded and key in _IDENTITY)]
        for key in unknown:
            del value[key]
    for key, inner in value.items():
        child = node.child(key)
        if child is not None and isinstance(inner, (dict, list)):
            prune(inner, child)


def _coerce_metadata(value: Object) -> None:
    """Metadata of embedded objects loses what is not metadata; what does not fit stays for the checks."""
    metadata = value.get("metadata")
    if not isinstance(metadata, dict):
        return
    try:
        value["metadata"] = decode_as(METADATA_TYPE, metadata)
    except (Mismatch, DecodeError):
        return


def drop_nulls(value: Any, node: Node) -> None:
    """Take out nulls where the schema allows none and has no default."""
    if isinstance(value, list):
        if node.items is not None:
            for item in value:
                drop_nulls(item, node.items)
        return
    if not isinstance(value, dict):
        return
    dropped: list[str] = []
    for key, inner in value.items():
        child = node.child(key)
        if child is None:
            continue
        if inner is None:
            if not child.nullable and child.default is MISSING:
                dropped.append(key)
        elif isinstance(inner, (dict, list)):
            drop_nulls(inner, child)
    for key in dropped:
        del value[key]


def fill(value: Any, node: Node) -> None:
    """Put in defaults, also inside of defaults; a null counts as missing where none is allowed."""
    if isinstance(value, list):
        if node.items is not None and node.items.has_defaults:
            for item in value:
                fill(item, node.items)
        return
    if not isinstance(value, dict):
        return
    for key, child in node.properties.items():
        current = value.get(key, MISSING)
        if child.default is not MISSING and (current is MISSING or (current is None and not child.nullable)):
            current = value[key] = copy.deepcopy(child.default)
        if child.has_defaults and isinstance(current, (dict, list)):
            fill(current, child)
    if isinstance(node.additional, Node) and node.additional.has_defaults:
        for key, inner in value.items():
            if key not in node.properties:
                fill(inner, node.additional)
