"""Replacements: a value of one object, or a given text, written into fields of others."""

import marshal
from collections.abc import Callable, Iterable
from typing import Any

from penstock.kustomize import structured
from penstock.kustomize.collection import Collection
from penstock.kustomize.copying import deep_copy
from penstock.kustomize.errors import FieldError, KustomizationError
from penstock.kustomize.fieldpaths import Kind, Spot, lookup, matches, split_dotted
from penstock.kustomize.ids import CLUSTER, DEFAULT_NAMESPACE, Gvk
from penstock.kustomize.kustomization import FieldOptions, Replacement, Selector, Source, Target
from penstock.kustomize.place import Place
from penstock.kustomize.records import read
from penstock.kustomize.resource import Resource, Work
from penstock.kustomize.selectors import SelectorMatcher
from penstock.yaml import YAMLError, config, text_of
from penstock.yaml.scalars import Untagged, WrittenBool, resolve

_NAME = "metadata.name"


def load(entries: Iterable[Replacement], place: Place) -> list[Replacement]:
    """The replacements of a kustomization, those in files read."""
    found: list[Replacement] = []
    for entry in entries:
        if not entry.path:
            found.append(entry)
            continue
        if entry.source is not None or entry.targets:
            raise KustomizationError(f"{place.file}: a replacement has either a `path` or its own `source`")
        found.extend(_file(entry.path, place))
    return found


def _file(path: str, place: Place) -> list[Replacement]:
    try:
        value = config(place.read(path))
    except YAMLError as error:
        raise KustomizationError(f"{place.name(path)}: {error}") from error
    if not isinstance(value, (dict, list)):
        raise KustomizationError(f"{place.name(path)}: expected a replacement or a list of them")
    values = value if isinstance(value, list) else [value]
    return [read(one, Replacement, place.name(path)) for one in values]


def apply(collection: Collection, replacements: Iterable[Replacement]) -> None:
    """Carry out the replacements, one after the other."""
    for replacement in replacements:
        if (replacement.source is None and replacement.source_value is None) or replacement.targets is None:
            raise KustomizationError("a replacement needs a source and at least one target")
        value = _source_value(collection, replacement)
        for target in replacement.targets:
            _write(collection, value, target)
    collection.changed()


def _source_value(collection: Collection, replacement: Replacement) -> Any:
    source = replacement.source
    if source is None:
        return resolve(replacement.source_value or "", "resource")
    if replacement.source_value is not None:
        raise KustomizationError("a replacement has either a `source` or a `sourceValue`")
    resource = _source_object(collection, source)
    path = source.field_path or _NAME
    try:
        found, value = lookup(resource.object, split_dotted(path))
    except FieldError as error:
        raise FieldError(f"the replacement source '{path}' of {resource.id}: {error}") from error
    if not found or value is None or value in ({}, []):
        raise FieldError(f"the replacement source '{path}' is missing in {resource.id}")
    return _refined(value, source.options, path)


def _source_object(collection: Collection, source: Source) -> Resource:
    gvk = Gvk(source.group, source.version, source.kind)
    found = [resource for resource in collection if _is_source(resource, source, gvk)]
    if len(found) == 1:
        return found[0]
    wanted = f"{gvk}/{source.name or '[noName]'}.{source.namespace or '[noNs]'}"
    raise KustomizationError(f"{'several objects match' if found else 'no object matches'} the source {wanted}")


def _is_source(resource: Resource, source: Source, gvk: Gvk) -> bool:
    return any(
        (not source.name or source.name == one.name)
        and (not source.namespace or _effective(source.namespace) == _unscoped(one.namespace))
        and Gvk(one.group, one.version, one.kind).selected_by(gvk)
        for one in resource.ids
    )


def _effective(namespace: str) -> str:
    return namespace or DEFAULT_NAMESPACE


def _unscoped(namespace: str) -> str:
    return DEFAULT_NAMESPACE if namespace == CLUSTER else namespace


def _refined(value: Any, options: FieldOptions | None, path: str) -> Any:
    """The part of the value that the options choose."""
    if options is None or not options.delimiter:
        return value
    if isinstance(value, (dict, list)):
        raise FieldError(f"a delimiter needs a scalar, and '{path}' is none")
    parts = text_of(value).split(options.delimiter)
    if not 0 <= options.index < len(parts):
        raise FieldError(f"the value of '{path}' has no part {options.index}")
    part = parts[options.index]
    return part if isinstance(value, str) else resolve(part, "resource")


def _write(collection: Collection, value: Any, target: Target) -> None:
    if target.select is None:
        raise KustomizationError("a replacement target must `select` objects")
    value = deep_copy(value)  # it may be written after its source has changed
    selected = SelectorMatcher(target.select)
    rejected = [SelectorMatcher(one) for one in target.reject]
    paths = [(path, split_dotted(path)) for path in target.field_paths or [_NAME]]
    is_target = _targets(collection, selected, rejected)

    def work(resource: Resource) -> None:
        for path, parts in paths:
            _write_field(resource, value, path, parts, target.options)

    try:
        content = marshal.dumps(value)
    except ValueError:  # it remembers its text
        step = _unremembered(work)
    else:
        options = target.options and (target.options.delimiter, target.options.index, target.options.create)
        step = collection.step(("replacement", content, target.field_paths, options), work)
    for resource in collection:
        if is_target(resource):
            step(resource)


def _unremembered(work: Work) -> Work:
    def run(resource: Resource) -> None:
        resource.release()
        work(resource)

    return run


def _targets(
    collection: Collection, selected: SelectorMatcher, rejected: list[SelectorMatcher]
) -> Callable[[Resource], bool]:
    chosen = selected.asked(collection)
    refused = [(one, one.asked(collection)) for one in rejected]

    def is_target(resource: Resource) -> bool:
        if not chosen(resource):
            return False
        for one, matches_metadata in refused:
            selector = one.selector
            if (selector.label_selector or selector.annotation_selector) and matches_metadata(resource):
                return False
            if _names_something(selector) and _matches_any(resource, one):
                return False
        return _matches_any(resource, selected)

    return is_target


def _names_something(selector: Selector) -> bool:
    return bool(selector.group or selector.version or selector.kind or selector.name or selector.namespace)


def _matches_any(resource: Resource, matcher: SelectorMatcher) -> bool:
    gvk = resource.gvk
    found = [(gvk, resource.name, resource.namespace)]
    found += [(Gvk(gvk.group, gvk.version, one.kind), one.name, one.namespace) for one in resource.previous]
    return any(
        matcher.type_matches(one) and matcher.name(name) and matcher.namespace(namespace)
        for one, name, namespace in found
    )


def _write_field(resource: Resource, value: Any, path: str, parts: list[str], options: FieldOptions | None) -> None:
    create: Kind | None = None
    if options and options.create:
        create = "mapping" if isinstance(value, dict) else "list" if isinstance(value, list) else "scalar"
    if structured.write(resource.object, value, parts, create):
        resource.forget()
        return
    try:
        spots = matches(resource.object, parts, create)
        for spot in spots:
            _set(spot, value, options)
    except FieldError as error:
        raise FieldError(f"the replacement target '{path}' of {resource.id}: {error}") from error
    if not spots:
        verb = "find or create" if create else "find"
        raise FieldError(f"cannot {verb} the replacement target '{path}' in {resource.id}")
    resource.written = True
    resource.spread()
    resource.forget()


def _set(spot: Spot, value: Any, options: FieldOptions | None) -> None:
    container, key = spot
    old = container[key]
    is_collection = isinstance(old, (dict, list))
    if options and options.delimiter:
        if is_collection:
            raise FieldError("a delimiter needs a scalar")
        value = _spliced(text_of(old), text_of(value), options)
        container[key] = retyped(old, value)
    elif is_collection:
        container[key] = deep_copy(value)
    else:
        container[key] = retyped(old, text_of(value))


def _spliced(old: str, text: str, options: FieldOptions) -> str:
    parts = old.split(options.delimiter)
    if options.index < 0:
        parts.insert(0, text)
    elif options.index >= len(parts):
        parts.append(text)
    else:
        parts[options.index] = text
    return options.delimiter.join(parts)


def retyped(old: Any, text: str) -> Any:
    """The text as a scalar of the type that was there before; FieldError if it is none."""
    if isinstance(old, Untagged):
        return Untagged(text)
    if isinstance(old, str):
        return text
    if old is None and not text:
        return ""
    new = resolve(text, "resource")
    if isinstance(old, float) and isinstance(new, int) and not isinstance(new, (bool, WrittenBool)):
        return float(new)
    if _scalar_kind(new) is not _scalar_kind(old):
        raise FieldError(f"cannot put {text!r} where a value of type {_scalar_kind(old).__name__} stands")
    return new


def _scalar_kind(value: Any) -> type:
    for kind in (WrittenBool, bool, int, float, str):
        if isinstance(value, kind):
            return bool if kind is WrittenBool else kind
    return type(None)
