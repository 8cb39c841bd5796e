"""Built-in generators and transformers that are configured by an object of their own.

Such an object has the API version `builtin`. Anything else would be a program to run, which a build never
does.
"""

import posixpath
from collections.abc import Callable, Mapping
from typing import Any

from penstock.kustomize import generators, images, labels, names, namespaces, patches, replacements, replicas
from penstock.kustomize.collection import Collection
from penstock.kustomize.copying import deep_copy
from penstock.kustomize.errors import KustomizationError
from penstock.kustomize.kustomization import (
    FieldSpecFields,
    GeneratorArguments,
    Image,
    Metadata,
    Patch,
    PatchOptions,
    Replacement,
    Replica,
    SecretArguments,
    Selector,
)
from penstock.kustomize.origin import Origin
from penstock.kustomize.place import Place
from penstock.kustomize.records import NOTHING, Record, read
from penstock.kustomize.resource import Resource
from penstock.kustomize.tracking import note
from penstock.kustomize.valueadd import ValueTarget, add_value
from penstock.yaml import YAMLError, config, plain


class _Config(Record):
    """The fields of all transformer configurations; each kind reads its own."""

    metadata: Metadata = Metadata()
    field_specs: tuple[FieldSpecFields, ...] | None = None
    annotations: Mapping[str, str] = NOTHING
    labels: Mapping[str, str] = NOTHING
    unset_only: bool = False
    set_role_binding_subjects: str = ""
    prefix: str = ""
    suffix: str = ""
    image_tag: Image = Image()
    replica: Replica = Replica()
    path: str = ""
    patch: str = ""
    json_op: str = ""
    target: Selector | None = None
    options: PatchOptions | None = None
    paths: tuple[str, ...] = ()
    patches: str = ""
    replacements: tuple[Replacement, ...] = ()
    value: str = ""
    targets: tuple[ValueTarget, ...] = ()
    target_file_path: str = ""

    @property
    def specs(self) -> tuple[Any, ...]:
        return tuple(one.spec for one in self.field_specs or ())


def generate(configs: Collection, place: Place, collection: Collection) -> None:
    """Add what configured generators make."""
    for resource in configs:
        kind = _builtin(resource, place)
        if kind == "ConfigMapGenerator":
            made = generators.config_map(_arguments(resource, GeneratorArguments, place), None, place)
        elif kind == "SecretGenerator":
            made = generators.secret(_arguments(resource, SecretArguments, place), None, place)
        elif kind == "IAMPolicyGenerator":
            made = _iam_policy(resource, place)
        elif kind == "HelmChartInflationGenerator":
            raise KustomizationError(f"{resource.id}: Helm charts are not supported yet")
        else:
            raise KustomizationError(f"{resource.id} is not a generator")
        made.origin = _origin(resource)
        generators.absorb(collection, made)


def transform(configs: Collection, place: Place, collection: Collection) -> None:
    """Run configured transformers."""
    for resource in configs:
        _run(resource, place, collection)
        if place.context.tracked:
            note(collection, _origin(resource))
        collection.drop_empty()


def validate(configs: Collection, place: Place, collection: Collection) -> None:
    """Run configured transformers that may object, but not change anything."""
    for resource in configs:
        before = [deep_copy(one.object) for one in collection]
        _run(resource, place, collection)
        if before != [one.object for one in collection]:
            raise KustomizationError(f"the validator {resource.id} changed the objects it should only check")


def _run(resource: Resource, place: Place, collection: Collection) -> None:
    kind = _builtin(resource, place)
    run = _TRANSFORMERS.get(kind)
    if run is None:
        raise KustomizationError(f"{resource.id} is not a transformer")
    file = resource.origin.path if resource.origin else place.file
    run(read(_configuration(resource), _Config, file, lenient=True), place, collection)


def _builtin(resource: Resource, place: Place) -> str:
    gvk = resource.gvk
    if (gvk.group, gvk.version) != ("", "builtin"):
        raise KustomizationError(
            f"{place.file} uses the plugin '{gvk.kind}' ({gvk.api_version}); only built-in plugins are run, "
            "never programs or containers"
        )
    return gvk.kind


def _configuration(resource: Resource) -> Any:
    value = plain(resource.object)
    return {key: item for key, item in value.items() if key not in ("apiVersion", "kind")}


def _arguments(resource: Resource, kind: type[Any], place: Place) -> Any:
    """The arguments of a generator; its name and namespace may stand in the metadata."""
    value = _configuration(resource)
    metadata = value.pop("metadata", {})
    value.pop("env", None)
    for field in ("name", "namespace"):
        if not value.get(field) and metadata.get(field):
            value[field] = metadata[field]
    return read(value, kind, place.file, lenient=True)


def _origin(resource: Resource) -> Origin:
    origin = resource.origin or Origin()
    gvk = resource.gvk
    return Origin(
        repo=origin.repo,
        ref=origin.ref,
        configured_in=origin.path,
        api_version=gvk.api_version,
        kind=gvk.kind,
        name=resource.name,
        namespace=resource.namespace,
    )


def _iam_policy(resource: Resource, place: Place) -> Resource:
    value = resource.object
    if value.get("cloud") != "gke":
        raise KustomizationError(f"{resource.id}: the cloud '{value.get('cloud')}' is not supported; use gke")
    service, account = value.get("kubernetesService") or {}, value.get("serviceAccount") or {}
    email = f"{account.get('name', '')}@{account.get('projectId', '')}.iam.gserviceaccount.com"
    metadata = {"annotations": {"iam.gke.io/gcp-service-account": email}, "name": service.get("name", "")}
    if service.get("namespace"):
        metadata["namespace"] = service["namespace"]
    return Resource({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}, place.schema)


def _namespace(settings: _Config, _place: Place, collection: Collection) -> None:
    namespaces.put(
        collection,
        settings.metadata.namespace,
        settings.specs,
        unset_only=settings.unset_only,
        subjects=settings.set_role_binding_subjects or "defaultOnly",
    )


def _prefix(settings: _Config, place: Place, collection: Collection) -> None:
    _require_specs(settings, place)
    names.prefix(collection, settings.prefix, settings.specs)


def _suffix(settings: _Config, place: Place, collection: Collection) -> None:
    _require_specs(settings, place)
    names.suffix(collection, settings.suffix, settings.specs)


def _prefix_and_suffix(settings: _Config, place: Place, collection: Collection) -> None:
    _prefix(settings, place, collection)
    _suffix(settings, place, collection)


def _require_specs(settings: _Config, place: Place) -> None:
    if settings.field_specs is None:
        raise KustomizationError(f"{place.file}: a prefix or suffix transformer needs `fieldSpecs`")


def _patch(settings: _Config, place: Place, collection: Collection) -> None:
    entry = Patch(path=settings.path, patch=settings.patch, target=settings.target, options=settings.options)
    patches.patch(collection, entry, place)


def _json_patch(settings: _Config, place: Place, collection: Collection) -> None:
    entry = Patch(path=settings.path, patch=settings.json_op, target=settings.target)
    patches.named_json_patch(collection, entry, place)


def _strategic_merge(settings: _Config, place: Place, collection: Collection) -> None:
    texts = [*settings.paths, *([settings.patches] if settings.patches else [])]
    if not texts:
        raise KustomizationError(f"{place.file}: a strategic merge transformer needs `paths` or `patches`")
    patches.strategic_merges(collection, texts, place)


def _value_add(settings: _Config, place: Place, collection: Collection) -> None:
    targets = list(settings.targets)
    if settings.target_file_path:
        targets += _targets(settings.target_file_path, place)
    value = settings.value.strip() or posixpath.basename(place.loader.root)
    add_value(collection, value, targets)


def _targets(path: str, place: Place) -> tuple[ValueTarget, ...]:
    try:
        value = config(place.read(path))
    except YAMLError as error:
        raise KustomizationError(f"{place.name(path)}: {error}") from error
    return read(value or {}, _Config, place.name(path), lenient=True).targets


def _replacements(settings: _Config, place: Place, collection: Collection) -> None:
    replacements.apply(collection, replacements.load(settings.replacements, place))


Run = Callable[[_Config, Place, Collection], None]
_TRANSFORMERS: dict[str, Run] = {
    "AnnotationsTransformer": lambda one, _, objects: labels.put(objects, one.annotations, one.specs),
    "LabelTransformer": lambda one, _, objects: labels.put(objects, one.labels, one.specs),
    "ImageTagTransformer": lambda one, _, objects: images.put(objects, one.image_tag, one.specs),
    "ReplicaCountTransformer": lambda one, _, objects: replicas.put(objects, one.replica, one.specs),
    "HashTransformer": lambda _, __, objects: names.add_hashes(objects),
    "NamespaceTransformer": _namespace,
    "PrefixTransformer": _prefix,
    "SuffixTransformer": _suffix,
    "PrefixSuffixTransformer": _prefix_and_suffix,
    "PatchTransformer": _patch,
    "PatchJson6902Transformer": _json_patch,
    "PatchStrategicMergeTransformer": _strategic_merge,
    "ReplacementTransformer": _replacements,
    "ValueAddTransformer": _value_add,
}
