"""The annotation of client-side apply, which the server keeps in step for the manager `kubectl` only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from penstock.embedded.fields.compare import compare
from penstock.embedded.fields.elements import go_safe
from penstock.embedded.fields.errors import TypedError
from penstock.embedded.fields.sets import difference
from penstock.embedded.fields.typed import checked

if TYPE_CHECKING:
    from penstock.embedded.fields.sets import FieldSet
    from penstock.embedded.schema import Schema
    from penstock.kube.resources import Object

MANAGER = "kubectl"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_ANNOTATIONS_LIMIT = 256 * 1024


def client_side_applied(live: Object, api_version: str, schema: Schema) -> FieldSet:
    """The fields that client-side apply set and that are still as it set them: kubectl may take them over."""
    text = _annotations(live).get(LAST_APPLIED)
    if not text:
        return {}
    try:
        last = orjson.loads(text)
        if not isinstance(last, dict) or last.get("apiVersion") != api_version:
            return {}
        fields = checked(last, schema)
    except (orjson.JSONDecodeError, TypedError):
        return {}
    for changed in compare(last, live, schema):
        fields = difference(fields, changed)
    return fields


def with_last_applied(obj: Object, wanted: Object) -> Object:
    """The object with the annotation brought up to date; one that has none does not get one."""
    annotations = _annotations(obj)
    if not annotations.get(LAST_APPLIED):
        return obj
    annotations = {**annotations, LAST_APPLIED: _text(wanted)}
    if sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items()) > _ANNOTATIONS_LIMIT:
        del annotations[LAST_APPLIED]
    return {**obj, "metadata": {**obj["metadata"], "annotations": annotations}}


def _text(wanted: Object) -> str:
    metadata = dict(wanted.get("metadata") or {})
    annotations = {key: value for key, value in _annotations(wanted).items() if key != LAST_APPLIED}
    metadata.pop("annotations", None)
    if annotations:
        metadata["annotations"] = annotations
    ordered = orjson.dumps({**wanted, "metadata": metadata}, option=orjson.OPT_SORT_KEYS)
    return go_safe(ordered.decode()) + "\n"


def _annotations(obj: Object) -> dict[str, str]:
    return (obj.get("metadata") or {}).get("annotations") or {}
