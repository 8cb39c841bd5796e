"""Patches: strategic merges and JSON patches, with and without a target."""

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

from penstock.kustomize import jsonpatch, manifests
from penstock.kustomize.collection import Collection
from penstock.kustomize.copying import deep_copy, holds_null
from penstock.kustomize.errors import BuildError, PatchError
from penstock.kustomize.kustomization import Patch, PatchOptions, Selector
from penstock.kustomize.merge import merge
from penstock.kustomize.place import Place
from penstock.kustomize.resource import Object, Resource, Work
from penstock.kustomize.selectors import select
from penstock.kustomize.styles import is_quoted
from penstock.schema import Schema
from penstock.yaml import YAMLError, config, plain, through_json

_NOTHING = PatchOptions()
_SHOWN = 80  # characters of an inline patch in messages


class Strategic(NamedTuple):
    """A strategic merge patch, what it may change besides the content, and how messages call it."""

    resource: Resource
    source: str
    schema: Schema
    options: PatchOptions
    key: Hashable  # all that its effect depends on


def patch(collection: Collection, entry: Patch, place: Place) -> None:
    """Apply one entry of `patches`."""
    text, source = _text(entry, place)
    found, operations = _parse(text, source, place)
    if operations is not None:
        if entry.target is None:
            raise PatchError(f"the JSON patch {source} needs a target")
        json_patch(collection, operations, entry.target, source, always=True)
        return
    options = entry.options or _NOTHING
    strategic = [_strategic(one, source, options, place) for one in found]
    if entry.target is None:
        for one in strategic:
            _merge_into_owner(collection, one, "merge")
    elif len(strategic) > 1:
        raise PatchError(f"the patch {source} holds {len(strategic)} objects; with a target it may hold one")
    elif strategic:
        _merge_into_selected(collection, entry.target, strategic[0])
    collection.drop_empty()


def strategic_merges(collection: Collection, texts: Sequence[str], place: Place) -> None:
    """Apply all of `patchesStrategicMerge`; at least one of them must hold a patch."""
    found = [one for text in texts for one in _read(text, place)]
    if not found:
        raise PatchError(f"{place.file}: the strategic merge patches are empty: {', '.join(texts)[:_SHOWN]}")
    for one in found:
        _normal(one.resource)
        _merge_into_owner(collection, one, "merge as older ones")
        collection.drop_empty()


def _read(text: str, place: Place) -> list[Strategic]:
    """The patches of one entry: a file, or the patch itself."""
    source = f"'{text[:_SHOWN]}'"
    try:
        found = manifests.load(text, place.context, patch=True)
    except (BuildError, YAMLError):
        source = place.name(text)
        try:
            found = manifests.load(place.read(text), place.context, patch=True)
        except YAMLError as error:
            raise PatchError(f"{source}: {error}") from error
    return [_strategic(one, source, _NOTHING, place) for one in found]


def _strategic(one: Resource, source: str, options: PatchOptions, place: Place) -> Strategic:
    key = (one.key, place.context.schema_key, options.allow_name_change, options.allow_kind_change)
    return Strategic(one, source, place.schema, options, key)


def json_patch(
    collection: Collection,
    operations: list[jsonpatch.Operation],
    target: Selector,
    source: str,
    *,
    always: bool,
) -> None:
    """Apply JSON operations to all selected objects.

    With `always`, identities are remembered and annotations can be added to objects that have none.
    """

    def work(resource: Resource) -> None:
        if always:
            resource.remember()
        if always or resource.previous or resource.behavior != "unspecified":
            metadata = resource.metadata()
            if not isinstance(metadata.get("annotations"), dict):
                metadata["annotations"] = {}
        try:
            result = jsonpatch.apply(through_json(resource.object), operations)
        except (PatchError, YAMLError) as error:
            raise PatchError(f"the patch {source} does not apply to {resource.id}: {error}") from error
        if not isinstance(result, dict):
            raise PatchError(f"the patch {source} leaves no object of {resource.id}")
        resource.object = result
        resource.nulls = {}
        resource.sources = ()
        resource.shared.clear()
        resource.set_texts("annotations", resource.annotations)
        resource.forget()

    step = collection.step(("operations", repr(operations), always), work)
    for resource in select(collection, target):
        step(resource)
    collection.changed()


def named_json_patch(collection: Collection, entry: Patch, place: Place) -> None:
    """Apply one entry of `patchesJson6902`, whose target must have a name."""
    if entry.target is None or not entry.target.name:
        raise PatchError(f"{place.file}: an entry of patchesJson6902 must name its target")
    if bool(entry.path) == bool(entry.patch):
        raise PatchError(f"{place.file}: an entry of patchesJson6902 needs either `path` or `patch`")
    text: str | bytes = place.read(entry.path) if entry.path else entry.patch
    source = place.name(entry.path) if entry.path else f"'{entry.patch[:_SHOWN]}'"
    try:
        operations = _operations(text)
    except YAMLError as error:
        raise PatchError(f"{source}: {error}") from error
    if not operations:
        raise PatchError(f"{source} is an empty patch")
    json_patch(collection, operations, entry.target, source, always=False)


def _text(entry: Patch, place: Place) -> tuple[str | bytes, str]:
    inline = entry.patch.strip()
    if bool(inline) == bool(entry.path):
        raise PatchError(f"{place.file}: an entry of `patches` needs either `patch` or `path`")
    if inline:
        return inline, f"'{inline[:_SHOWN]}'"
    return place.read(entry.path), place.name(entry.path)


def _parse(text: str | bytes, source: str, place: Place) -> tuple[list[Resource], list[jsonpatch.Operation] | None]:
    try:
        return manifests.load(text, place.context, patch=True), None
    except (BuildError, YAMLError) as error:
        reason = error
    try:
        return [], _operations(text)
    except (BuildError, YAMLError):
        raise PatchError(f"{source} is neither a strategic merge patch nor a JSON patch: {reason}") from reason


def _operations(text: str | bytes) -> list[jsonpatch.Operation]:
    """The operations of a JSON patch; one that begins with a bracket must be JSON, any other may be YAML."""
    if text[:1] in ("[", b"["):
        import json

        try:
            json.loads(text)
        except ValueError as error:
            raise PatchError(f"a JSON patch that begins with '[' must be JSON: {error}") from error
    return jsonpatch.check(plain(config(text)))


def _owner(collection: Collection, one: Strategic) -> Resource:
    identity = one.resource.original
    found = collection.ever(identity)
    if len(found) == 1:
        return found[0]
    if found:
        raise PatchError(f"the patch {one.source} for {identity} matches {len(found)} objects; give it a target")
    raise PatchError(f"no object matches the patch {one.source} for {identity}")


def _merge_into_selected(collection: Collection, target: Selector, one: Strategic) -> None:
    selected = select(collection, target)
    if not selected:
        return
    if collection.twice() is not None:  # then those with the identity of a selected one are meant too
        identities = {resource.id for resource in selected}
        selected = [resource for resource in collection if resource.id in identities]
    template = _normal(one.resource)

    def work(resource: Resource) -> None:
        _merge(resource, {**deep_copy(template.object), "apiVersion": resource.gvk.api_version}, one)

    step = collection.step(("merge into selected", one.key), work)
    for resource in selected:
        _merge_into(collection, resource, step)
    collection.drop_empty()
    if (twice := collection.twice()) is not None:
        raise PatchError(f"the patch {one.source} gives two objects the identity {twice}")


def _merge_into(collection: Collection, resource: Resource, step: Work) -> None:
    before = resource.id
    step(resource)
    if resource.is_empty or resource.id != before:
        collection.changed()


def _normal(one: Resource) -> Resource:
    """The patch as kustomize copies it: labels and annotations are strings, also those set to null."""
    metadata: dict[str, Any] = one.metadata()
    for field in ("labels", "annotations"):
        if field in metadata:
            one.set_texts(field, one.labels if field == "labels" else one.annotations)
    return one


def _merge_into_owner(collection: Collection, one: Strategic, name: str) -> None:
    """Merge a patch without a target into the object that it names."""
    step = collection.step((name, one.key), lambda resource: _merge(resource, deep_copy(one.resource.object), one))
    _merge_into(collection, _owner(collection, one), step)


def _merge(resource: Resource, patch: Object, one: Strategic) -> None:
    before = resource.id
    namespace = resource.namespace
    options = one.options
    if options.allow_name_change or options.allow_kind_change:
        resource.remember()
    if resource.nulls is None and not holds_null(resource.object):
        resource.nulls = {}
    schemas = {**one.resource.schemas, **resource.schemas}
    original = resource.original
    try:
        merged = merge(
            resource.object,
            patch,
            one.schema,
            nulls=resource.nulls,
            schemas=schemas,
            written=resource.written,
            quoted=lambda text, path: is_quoted(text, path, resource.sources, original),
        )
    except PatchError as error:
        raise PatchError(f"the patch {one.source} does not fit {before}: {error}") from error
    resource.written = resource.written or one.resource.written
    resource.sources = (*resource.sources, *one.resource.sources)
    resource.spread()
    resource.object = merged or {}
    resource.forget()
    if merged:
        if not options.allow_kind_change:
            merged["kind"] = before.kind
        if not options.allow_name_change:
            resource.set_name(before.name)
        resource.set_namespace(namespace)
