"""From what was built to what is applied: flat, owned, in the form of a Go client, with the common metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.render.decryption import DecryptionFailed, require_decrypted
from penstock.render.errors import PreparationFailed
from penstock.render.normalise import is_definition, normalise, without_bad_bundle

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from penstock.api.references import CommonMetadata

Object = dict[str, Any]

OWNER_NAME = "kustomize.toolkit.fluxcd.io/name"
OWNER_NAMESPACE = "kustomize.toolkit.fluxcd.io/namespace"


def prepare(
    objects: Iterable[Object], *, name: str, namespace: str, common_metadata: CommonMetadata | None = None
) -> list[Object]:
    """The objects to apply, in the same order; those given are not changed.

    PreparationFailed for a Secret that is still encrypted, and for labels or annotations that are no text.
    """
    flat = list(_flattened(objects))
    try:
        # Before the normal form: it would drop the mark of an encrypted Secret.
        require_decrypted(flat)
    except DecryptionFailed as error:
        raise PreparationFailed(str(error)) from error
    owner = {OWNER_NAME: name, OWNER_NAMESPACE: namespace}
    return [_prepared(obj, owner, common_metadata) for obj in flat]


def owned(
    objects: Iterable[Object], *, name: str, namespace: str, common_metadata: CommonMetadata | None = None
) -> list[Object]:
    """The same objects as they were written, for people: flat, with their owner and the common metadata."""
    owner = {OWNER_NAME: name, OWNER_NAMESPACE: namespace}
    return [_common(_with(obj, "labels", owner), common_metadata, owner) for obj in _flattened(objects)]


def _prepared(obj: Object, owner: Mapping[str, str], common: CommonMetadata | None) -> Object:
    obj = _with(obj, "labels", owner)
    _require_texts(obj, "annotations")
    obj = _common(normalise(obj), common, owner)
    return without_bad_bundle(obj) if is_definition(obj) else obj


def _common(obj: Object, common: CommonMetadata | None, owner: Mapping[str, str]) -> Object:
    """With the metadata that all objects get; the owner's name stays: without it nobody would ever prune the object."""
    if common is None:
        return obj
    return _with(_with(obj, "labels", {**common.labels, **owner}), "annotations", common.annotations)


def _flattened(objects: Iterable[Object]) -> Iterator[Object]:
    for obj in objects:
        kind, items = obj.get("kind"), obj.get("items")
        if isinstance(kind, str) and kind.endswith("List") and isinstance(items, list):
            yield from _flattened(item for item in items if isinstance(item, dict))
        elif _is_object(obj):
            yield obj


def _is_object(obj: Object) -> bool:
    metadata = obj.get("metadata")
    if not (obj.get("apiVersion") and obj.get("kind") and isinstance(metadata, dict) and metadata.get("name")):
        return False
    group = str(obj["apiVersion"]).partition("/")[0]
    return not (obj["kind"] == "Kustomization" and group == "kustomize.config.k8s.io")


def _with(obj: Object, field: str, more: Mapping[str, str] | None) -> Object:
    """The object with more labels or annotations; equal keys are overridden."""
    texts = _require_texts(obj, field)
    return obj | {"metadata": obj["metadata"] | {field: {**texts, **more}}} if more else obj


def _require_texts(obj: Object, field: str) -> dict[str, str]:
    """The labels or annotations; an empty one may be null.

    Flux reads a map with a number in it as no map at all, and loses everything in it without a word.
    """
    value = obj["metadata"].get(field)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise PreparationFailed(f"{_subject(obj)}: metadata.{field} should be a mapping")
    for key, text in value.items():
        if text is not None and not isinstance(text, str):
            raise PreparationFailed(f"{_subject(obj)}: metadata.{field}.{key} is not a string; put quotes around it")
    return {key: text or "" for key, text in value.items()}


def _subject(obj: Object) -> str:
    metadata = obj["metadata"]
    return "/".join(str(part) for part in (obj["kind"], metadata.get("namespace"), metadata["name"]) if part)
