"""Generated ConfigMaps and Secrets, and how they join what is there."""

from collections.abc import Iterator
from typing import get_args

from penstock.kustomize import keyvalues
from penstock.kustomize.collection import Collection
from penstock.kustomize.errors import KustomizationError, ResourceError
from penstock.kustomize.kustomization import (
    GeneratorArguments,
    GeneratorOptions,
    Kustomization,
    SecretArguments,
)
from penstock.kustomize.origin import Origin
from penstock.kustomize.place import Place
from penstock.kustomize.resource import Behavior, Object, Resource
from penstock.yaml import text_of
from penstock.yaml.binary import base64_lines


def add(kustomization: Kustomization, place: Place, collection: Collection) -> None:
    """Add what the generator fields make."""
    for generated in _generated(kustomization, place):
        absorb(collection, generated)


def _generated(kustomization: Kustomization, place: Place) -> Iterator[Resource]:
    shared = kustomization.generator_options
    for arguments in kustomization.config_map_generator:
        yield config_map(arguments, shared, place)
    for secret_arguments in kustomization.secret_generator:
        yield secret(secret_arguments, shared, place)
    if kustomization.helm_charts or kustomization.helm_chart_inflation_generator:
        raise KustomizationError(
            f"{place.file}: `helmCharts` is not supported yet; it comes with Penstock's Helm support. "
            "Render the charts with `helm template` and list the result under `resources`"
        )


def config_map(arguments: GeneratorArguments, shared: GeneratorOptions | None, place: Place) -> Resource:
    """A ConfigMap; values that are not text go to `binaryData`."""
    value = _base("ConfigMap", arguments, place)
    for key, content in sorted(keyvalues.load(arguments, place).items()):
        try:
            value.setdefault("data", {})[key] = content.decode()
        except UnicodeError:
            value.setdefault("binaryData", {})[key] = base64_lines(content)
    return _resource(value, arguments, _options(arguments.options, shared), place)


def secret(arguments: SecretArguments, shared: GeneratorOptions | None, place: Place) -> Resource:
    """A Secret."""
    value = _base("Secret", arguments, place)
    value["type"] = arguments.type or "Opaque"
    value["data"] = {key: base64_lines(content) for key, content in sorted(keyvalues.load(arguments, place).items())}
    return _resource(value, arguments, _options(arguments.options, shared), place)


def absorb(collection: Collection, generated: Resource) -> None:
    """Add a generated object, or let it replace or merge into the one with its name."""
    found = collection.ever(generated.id)
    if not found:
        if generated.behavior in ("merge", "replace"):
            raise ResourceError(f"there is no {generated.id} to {generated.behavior} the generated object with")
        collection.append(generated)
        collection.remember(generated)
        return
    if len(found) > 1:
        raise ResourceError(f"the generated {generated.id} could be merged into {len(found)} objects")
    if generated.behavior not in ("merge", "replace"):
        raise ResourceError(
            f"{generated.id} is there already; set the generator's behavior to merge or replace, "
            f"not '{generated.behavior}'"
        )
    _take_over(generated, found[0])
    collection.replace(found[0], generated)


def _take_over(new: Resource, old: Resource) -> None:
    new.set_texts("labels", {**old.labels, **new.labels})
    new.set_texts("annotations", {**old.annotations, **new.annotations})
    new.set_name(old.name)
    new.set_namespace(old.namespace)
    if new.behavior == "merge":
        for field in ("data", "binaryData"):
            merged = {**_texts(old.object.get(field)), **_texts(new.object.get(field))}
            new.object.pop(field, None)
            if merged:
                new.object[field] = new.keyed(merged)
        new.origin = old.origin or new.origin
    new.hashed = new.hashed and old.hashed
    new.behavior = old.behavior
    new.previous, new.prefixes, new.suffixes = old.previous, old.prefixes, old.suffixes
    new.variables, new.touched = old.variables, old.touched


def _texts(values: object) -> dict[str, str]:
    return {key: text_of(value) for key, value in values.items()} if isinstance(values, dict) else {}


def _base(kind: str, arguments: GeneratorArguments, place: Place) -> Object:
    if not arguments.name:
        raise KustomizationError(f"{place.file}: a generated {kind} must have a name")
    metadata = {"name": arguments.name}
    if arguments.namespace:
        metadata["namespace"] = arguments.namespace
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata}


def _options(own: GeneratorOptions | None, shared: GeneratorOptions | None) -> GeneratorOptions:
    if shared is None:
        return own or GeneratorOptions()
    own = own or GeneratorOptions()
    return GeneratorOptions(
        labels={**shared.labels, **own.labels},
        annotations={**shared.annotations, **own.annotations},
        disable_name_suffix_hash=own.disable_name_suffix_hash or shared.disable_name_suffix_hash,
        immutable=own.immutable or shared.immutable,
    )


def _resource(value: Object, arguments: GeneratorArguments, options: GeneratorOptions, place: Place) -> Resource:
    for field, texts in (("labels", options.labels), ("annotations", options.annotations)):
        if texts:
            value["metadata"][field] = dict(texts)
    if options.immutable:
        value["immutable"] = True
    resource = Resource(value, place.schema, origin=_origin(place, value["kind"]))
    for field in ("data", "binaryData"):
        if field in value:
            value[field] = resource.keyed(value[field])
    resource.hashed = not options.disable_name_suffix_hash
    resource.behavior = _behavior(arguments.behavior)
    return resource


def _behavior(text: str) -> Behavior:
    return next((behavior for behavior in get_args(Behavior) if behavior == text), "unspecified")


def _origin(place: Place, kind: str) -> Origin:
    return place.origin.configuration(place.file_name, f"{kind}Generator")
