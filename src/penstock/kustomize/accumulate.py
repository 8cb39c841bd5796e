"""One kustomization and everything below it, as a collection of objects.

The order is fixed: resources, generators, components, transformers, validators, variables. A base is
accumulated on its own and then added; a component works on what its parent has so far.
"""

from collections.abc import Sequence
from types import ModuleType

from penstock.kustomize import (
    kustomization as kustomizations,
)
from penstock.kustomize import manifests, transform
from penstock.kustomize.cache import Cache
from penstock.kustomize.collection import Collection
from penstock.kustomize.config import EMPTY, TransformerConfig, default
from penstock.kustomize.context import Context
from penstock.kustomize.errors import BuildError, KustomizationError, LoadError, ResourceError
from penstock.kustomize.kustomization import Kustomization, Variable
from penstock.kustomize.loader import Loader
from penstock.kustomize.origin import Origin
from penstock.kustomize.place import Place
from penstock.yaml import YAMLError, config


class Accumulated:
    """What a kustomization comes to."""

    def __init__(self, cache: Cache | None) -> None:
        self.collection = Collection(cache=cache)
        self.config: TransformerConfig = EMPTY
        self.variables: dict[str, Variable] = {}

    def join(self, other: "Accumulated") -> None:
        """Add what a base comes to."""
        self.collection.extend(other.collection)
        self.config = self.config.merged(other.config)
        if other.variables:
            _variables().join(self.variables, other.variables.values())


def read(loader: Loader, origin: Origin, context: Context) -> tuple[Kustomization, Place]:
    """The kustomization file of a directory."""
    context.enter(loader.root, loader.depth)
    found: list[tuple[str, bytes]] = []
    for name in kustomizations.NAMES:
        try:
            found.append((name, loader.read(name)))
        except LoadError:
            continue
    where = origin.path or loader.root
    if not found:
        names = ", ".join(f"'{name}'" for name in kustomizations.NAMES)
        raise LoadError(f"there is no kustomization file in '{where}'; it should be called one of {names}")
    if len(found) > 1:
        raise LoadError(f"'{where}' has several kustomization files: {', '.join(name for name, _ in found)}")
    name, content = found[0]
    place = Place(loader, name, origin, context)
    kustomization = _parsed(content, place)
    context.warnings.extend(kustomizations.warnings(kustomization))
    if kustomization.replacements or kustomization.transformers or kustomization.components:
        context.replaces = True
    return kustomization, place


def _parsed(content: bytes, place: Place) -> Kustomization:
    cache = place.context.cache
    known: Kustomization | None = None if cache is None else cache.get(("kustomization", content))
    if known is not None:
        return known
    found = kustomizations.parse(content, place.file)
    if cache is not None:
        cache.put(("kustomization", content), found, weight=5 * len(content))
    return found


def choose_schema(kustomization: Kustomization, place: Place, *, root: bool) -> None:
    """Honour the `openapi` field."""
    path = kustomization.openapi.get("path")
    content, document = None, None
    if path is not None:
        content = place.read(path)
        try:
            document = config(content)
        except YAMLError as error:
            raise KustomizationError(f"{place.name(path)}: {error}") from error
    place.context.choose_schema(kustomization.openapi.get("version"), content, document, root=root)


def accumulate(kustomization: Kustomization, place: Place, into: Accumulated) -> Accumulated:
    """Everything that the kustomization makes, added to `into`."""
    for path in kustomization.all_resources:
        _resource(path, place, into)
    into.config = into.config.merged(_configured(kustomization, place))
    if kustomization.generates:
        _generators().add(kustomization, place, into.collection)
    if kustomization.generators:
        _plugins().generate(_configs(kustomization.generators, place), place, into.collection)
    for path in kustomization.components:
        _component(path, place, into)
    transform.run(kustomization, place, into.collection, into.config)
    if kustomization.transformers:
        _plugins().transform(_configs(kustomization.transformers, place), place, into.collection)
    if kustomization.validators:
        _plugins().validate(_configs(kustomization.validators, place), place, into.collection)
    if kustomization.vars:
        _variables().declare(into.variables, kustomization.vars, into.collection)
    return into


# What few builds need is imported when it is needed: all of them should start fast.


def _generators() -> ModuleType:
    from penstock.kustomize import generators

    return generators


def _plugins() -> ModuleType:
    from penstock.kustomize import plugins

    return plugins


def _variables() -> ModuleType:
    from penstock.kustomize import variables

    return variables


def _configured(kustomization: Kustomization, place: Place) -> TransformerConfig:
    found = default()
    if not kustomization.configurations and not kustomization.crds:
        return found
    from penstock.kustomize.configurations import from_crds, from_files

    if kustomization.configurations:
        found = found.merged(from_files(kustomization.configurations, place))
    if kustomization.crds:
        found = found.merged(from_crds(kustomization.crds, place))
    return found


def _configs(entries: Sequence[str], place: Place) -> Collection:
    """The configurations of plugins: written in place, in files, or made by a kustomization."""
    found = Accumulated(place.context.steps)
    paths: list[str] = []
    for entry in entries:
        try:
            resources = manifests.load(entry, place.context, origin=place.origin.below(place.file_name))
        except (YAMLError, ResourceError):
            paths.append(entry)
        else:
            found.collection.extend(resources)
    for path in paths:
        _resource(path, place, found)
    return found.collection


def _resource(path: str, place: Place, into: Accumulated) -> None:
    """A file of manifests, or a base. An address may be either: it is tried as a file first, as kustomize does."""
    spec = place.loader.repository(path)
    if spec is not None and spec.is_certain:
        _base(path, place, into, None)
        return
    try:
        content = place.read(path)
    except LoadError as unreadable:
        _base(path, place, into, unreadable)
        return
    try:
        found = manifests.load(content, place.context, origin=place.origin.below(path))
        into.collection.extend(found)
    except (YAMLError, ResourceError) as error:
        if spec is None:
            raise ResourceError(f"{place.name(path)}: {error}") from error
        _base(path, place, into, LoadError(f"'{path}': {error}"))


def _base(path: str, place: Place, into: Accumulated, unreadable: LoadError | None) -> None:
    try:
        loader = place.loader.enter(path)
    except LoadError as error:
        local = "not a directory" in str(error) or "does not exist" in str(error)
        reason = unreadable if local and unreadable else error
        raise LoadError(f"{place.file} names '{path}': {reason}") from error
    base, base_place = read(loader, _origin(path, place), place.context)
    choose_schema(base, base_place, root=False)
    if base.is_component:
        raise KustomizationError(f"{base_place.file} is a Component; list it under `components` of {place.file}")
    result = accumulate(base, base_place, Accumulated(place.context.steps))
    try:
        into.join(result)
    except BuildError as error:
        raise type(error)(f"{place.file}, adding '{path}': {error}") from error


def _origin(path: str, place: Place) -> Origin:
    spec = place.loader.repository(path)
    return place.origin.below(path) if spec is None else Origin(spec.path, spec.url, spec.ref)


def _component(path: str, place: Place, into: Accumulated) -> None:
    try:
        loader = place.loader.enter(path)
    except LoadError as error:
        raise LoadError(f"{place.file} names the component '{path}': {error}") from error
    component, component_place = read(loader, _origin(path, place), place.context)
    choose_schema(component, component_place, root=False)
    if not component.is_component:
        raise KustomizationError(f"{component_place.file} is no Component; list it under `resources` of {place.file}")
    accumulate(component, component_place, into)
    into.collection.check()
