"""Manifests into objects: files of YAML documents, lists of objects unfolded, each with its origin."""

import marshal
from collections.abc import Iterable
from typing import Any

from penstock.kustomize import annotations
from penstock.kustomize.cache import Cache
from penstock.kustomize.context import Context
from penstock.kustomize.errors import ResourceError
from penstock.kustomize.origin import Origin
from penstock.kustomize.resource import Object, Resource, Seed
from penstock.schema import Schema
from penstock.yaml import Document, documents, text_of

_SEED = 600  # bytes of a seed besides the content


def load(
    content: bytes | str, context: Context, *, origin: Origin | None = None, patch: bool = False
) -> list[Resource]:
    """The objects of a file; ResourceError or YAMLError if it holds something else.

    In a `patch`, an annotation may be null, to remove it.
    """
    data = content.encode() if isinstance(content, str) else content
    schema, cache = context.schema, context.cache
    if cache is None:
        return _read(data, schema, origin=origin, patch=patch)
    question = (data, context.schema_key, patch)
    seeds: tuple[Seed, ...] | None = cache.get(question)
    if seeds is None:
        found = _read(data, schema, origin=origin, patch=patch)
        seeds = tuple(_seed(data, index, one, cache, patch=patch) for index, one in enumerate(found))
        cache.put(question, seeds, weight=len(data) + sum(seed.weight for seed in seeds))
    else:
        found = [Resource.asleep(seed, schema, origin=origin) for seed in seeds]
    if context.steps is None:
        for resource in found:
            resource.release()
    return found


def _read(data: bytes, schema: Schema, *, origin: Origin | None, patch: bool) -> list[Resource]:
    found = _resources(documents(data), schema, origin)
    for resource in found:
        resource.sources = (data,)
        if not patch:
            annotations.absorb(resource)
    return found


def _seed(data: bytes, index: int, resource: Resource, cache: Cache, *, patch: bool) -> Seed:
    """An object in a form from which it is had again at a fraction of what parsing costs."""
    schema = resource.schema
    key = cache.new_state()
    summary = resource.settle(key)
    try:
        content = marshal.dumps(resource.object)
    except ValueError:  # some value remembers its text
        return Seed(key, summary, lambda: _read(data, schema, origin=None, patch=patch)[index], _SEED)
    nulls, schemas = resource.nulls, resource.schemas

    def thawed() -> Resource:
        thawed = Resource(marshal.loads(content), schema, nulls=nulls)  # noqa: S302  -- our own, from memory
        thawed.schemas, thawed.sources = schemas, (data,)
        if not patch:
            annotations.absorb(thawed)
        return thawed

    return Seed(key, summary, thawed, len(content) + _SEED)


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
