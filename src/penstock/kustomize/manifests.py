"""Manifests into objects: files of YAML documents, lists of objects unfolded, each with its origin."""

from collections.abc import Iterable
from typing import Any

from penstock.kustomize import annotations
from penstock.kustomize.context import Context
from penstock.kustomize.errors import ResourceError
from penstock.kustomize.origin import Origin
from penstock.kustomize.resource import Object, Resource
from penstock.schema import Schema
from penstock.yaml import Document, text_of


def load(
    content: bytes | str, context: Context, *, origin: Origin | None = None, patch: bool = False
) -> list[Resource]:
    """The objects of a file; ResourceError or YAMLError if it holds something else.

    In a `patch`, an annotation may be null, to remove it.
    """
    data = content.encode() if isinstance(content, str) else content
    found = _resources(context.cache.documents(data), context.schema, origin)
    if not patch:
        for resource in found:
            annotations.absorb(resource)
    return found


def _resources(found: Iterable[Document], schema: Schema, origin: Origin | None) -> list[Resource]:
    result: list[Resource] = []
    queue = list(_unwrapped(list(found)))
    for document in queue:
        value = document.value
        if not value and isinstance(value, (dict, list)):
            continue
        _check(value)
        items = _items(value)
        if items is not None:
            queue.extend(Document(item, document.nulls, document.written) for item in items)
            continue
        resource = Resource(value, schema, origin=origin, nulls=document.nulls)
        resource.written = document.written
        resource.schemas = document.schemas
        result.append(resource)
    return result


def _unwrapped(found: list[Document]) -> Iterable[Document]:
    if len(found) != 1:
        return found
    document = found[0]
    value = document.value
    if not isinstance(value, dict) or value.get("kind") not in ("List", "ResourceList"):
        return found
    if "items" not in value and "functionConfig" not in value:
        return found
    return [Document(item, document.nulls, document.written) for item in value.get("items") or ()]


def _items(value: Object) -> list[Any] | None:
    """The objects inside a list of them, None for any other object."""
    kind = text_of(value["kind"])
    if not kind.endswith("List") or "items" not in value:
        return None
    items = value["items"]
    if items is None:
        return []
    if not isinstance(items, list):
        raise ResourceError(f"{kind}: `items` should be a list")
    return items


def _check(value: Any) -> None:
    if not isinstance(value, dict):
        raise ResourceError(f"expected a Kubernetes object, found {_brief(value)}")
    kind = text_of(value.get("kind"))
    if not kind:
        raise ResourceError(f"`kind` is missing in {_brief(value)}")
    if kind.endswith("List"):
        return
    metadata = value.get("metadata")
    if not isinstance(metadata, dict) or not text_of(metadata.get("name")):
        raise ResourceError(f"`metadata.name` is missing in an object of kind {kind}")


def _brief(value: Any) -> str:
    if isinstance(value, dict):
        return f"an object with the fields {', '.join(sorted(value)[:5])}"
    return f"a {'list' if isinstance(value, list) else type(value).__name__}"
