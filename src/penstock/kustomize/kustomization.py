"""The kustomization file: its fields, their types, and what older spellings mean."""

from collections.abc import Mapping
from typing import Any

from penstock.kustomize.errors import KustomizationError
from penstock.kustomize.fieldspecs import FieldSpec
from penstock.kustomize.ids import Gvk
from penstock.kustomize.records import NOTHING, Record, read
from penstock.yaml import YAMLError, config

NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
COMPONENT = "Component"


class FieldSpecFields(Record):
    """A field spec as it is written."""

    path: str = ""
    group: str = ""
    version: str = ""
    kind: str = ""
    create: bool = False

    @property
    def spec(self) -> FieldSpec:
        return FieldSpec(self.path, self.group, self.version, self.kind, self.create)


class Selector(Record):
    """What a patch or replacement applies to; names and types are regular expressions."""

    group: str = ""
    version: str = ""
    kind: str = ""
    name: str = ""
    namespace: str = ""
    annotation_selector: str = ""
    label_selector: str = ""


class PatchOptions(Record):
    allow_name_change: bool = False
    allow_kind_change: bool = False


class Patch(Record):
    path: str = ""
    patch: str = ""
    target: Selector | None = None
    options: PatchOptions | None = None


class Image(Record):
    name: str = ""
    new_name: str = ""
    tag_suffix: str = ""
    new_tag: str = ""
    digest: str = ""


class Replica(Record):
    name: str = ""
    count: int = 0


class Label(Record):
    pairs: Mapping[str, str] = NOTHING
    include_selectors: bool = False
    include_templates: bool = False
    fields: tuple[FieldSpecFields, ...] = ()


class FieldOptions(Record):
    delimiter: str = ""
    index: int = 0
    encoding: str = ""
    create: bool = False


class Source(Record):
    group: str = ""
    version: str = ""
    kind: str = ""
    name: str = ""
    namespace: str = ""
    field_path: str = ""
    options: FieldOptions | None = None


class Target(Record):
    select: Selector | None = None
    reject: tuple[Selector, ...] = ()
    field_paths: tuple[str, ...] = ()
    options: FieldOptions | None = None


class Replacement(Record):
    source: Source | None = None
    targets: tuple[Target, ...] | None = None
    source_value: str | None = None
    path: str = ""


class ObjectReference(Record):
    api_version: str = ""
    group: str = ""
    version: str = ""
    kind: str = ""
    name: str = ""
    namespace: str = ""

    @property
    def gvk(self) -> Gvk:
        if not self.api_version:
            return Gvk(self.group, self.version, self.kind)
        group, slash, version = self.api_version.rpartition("/")
        return Gvk(group if slash else self.group, version, self.kind)


class FieldReference(Record):
    field_path: str = ""


class Variable(Record):
    name: str = ""
    objref: ObjectReference = ObjectReference()
    fieldref: FieldReference = FieldReference()


class GeneratorOptions(Record):
    labels: Mapping[str, str] = NOTHING
    annotations: Mapping[str, str] = NOTHING
    disable_name_suffix_hash: bool = False
    immutable: bool = False


class GeneratorArguments(Record):
    """What a ConfigMap or Secret is generated from."""

    namespace: str = ""
    name: str = ""
    behavior: str = ""
    literals: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    envs: tuple[str, ...] = ()
    env: str = ""
    options: GeneratorOptions | None = None


class SecretArguments(GeneratorArguments):
    type: str = ""


class LegacySortOptions(Record):
    order_first: tuple[str, ...] = ()
    order_last: tuple[str, ...] = ()


class SortOptions(Record):
    order: str = ""
    legacy_sort_options: LegacySortOptions | None = None


class Metadata(Record):
    name: str = ""
    namespace: str = ""
    labels: Mapping[str, str] = NOTHING
    annotations: Mapping[str, str] = NOTHING


class Kustomization(Record):
    """A kustomization file."""

    api_version: str = ""
    kind: str = ""
    metadata: Metadata | None = None
    openapi: Mapping[str, str] = NOTHING
    name_prefix: str = ""
    name_suffix: str = ""
    namespace: str = ""
    common_labels: Mapping[str, str] | None = None
    labels: tuple[Label, ...] = ()
    common_annotations: Mapping[str, str] = NOTHING
    patches_strategic_merge: tuple[str, ...] | None = None
    patches_json6902: tuple[Patch, ...] | None = None
    patches: tuple[Patch, ...] = ()
    images: tuple[Image, ...] = ()
    image_tags: tuple[Image, ...] | None = None
    replacements: tuple[Replacement, ...] = ()
    replicas: tuple[Replica, ...] = ()
    vars: tuple[Variable, ...] | None = None
    sort_options: SortOptions | None = None
    resources: tuple[str, ...] = ()
    components: tuple[str, ...] = ()
    crds: tuple[str, ...] = ()
    bases: tuple[str, ...] | None = None
    config_map_generator: tuple[GeneratorArguments, ...] = ()
    secret_generator: tuple[SecretArguments, ...] = ()
    helm_globals: Mapping[str, Any] | None = None
    helm_charts: tuple[Mapping[str, Any], ...] = ()
    helm_chart_inflation_generator: tuple[Mapping[str, Any], ...] = ()
    generator_options: GeneratorOptions | None = None
    configurations: tuple[str, ...] = ()
    generators: tuple[str, ...] = ()
    transformers: tuple[str, ...] = ()
    validators: tuple[str, ...] = ()
    build_metadata: tuple[str, ...] = ()

    @property
    def all_resources(self) -> list[str]:
        return [*self.resources, *(self.bases or ())]

    @property
    def all_images(self) -> list[Image]:
        return [*self.images, *(self.image_tags or ())]

    @property
    def generates(self) -> bool:
        """Whether a generator field makes objects, or says that something should."""
        charts = self.helm_charts or self.helm_chart_inflation_generator
        return bool(self.config_map_generator or self.secret_generator or charts)

    @property
    def is_component(self) -> bool:
        return self.kind == COMPONENT


_FIX = "Run 'kustomize edit fix' to update your Kustomization automatically."
_DEPRECATED = (
    ("bases", "bases", "resources", _FIX),
    ("common_labels", "commonLabels", "labels", _FIX),
    ("image_tags", "imageTags", "images", _FIX),
    ("patches_json6902", "patchesJson6902", "patches", _FIX),
    ("patches_strategic_merge", "patchesStrategicMerge", "patches", _FIX),
    ("vars", "vars", "replacements", f"[EXPERIMENTAL] {_FIX}"),
)
_VERSIONS = {
    "Kustomization": "kustomize.config.k8s.io/v1beta1",
    COMPONENT: "kustomize.config.k8s.io/v1alpha1",
}


def parse(text: bytes, file: str) -> Kustomization:
    """The file's content; KustomizationError names the file and the field that is wrong."""
    try:
        value = config(text)
    except YAMLError as error:
        raise KustomizationError(f"{file}: {error}") from error
    kustomization = read(value if value is not None else {}, Kustomization, file)
    given = {key.lower() for key, item in value.items() if item not in _EMPTY} if isinstance(value, dict) else set()
    if not given - {"apiversion", "kind"}:
        raise KustomizationError(f"{file} is empty; add at least one field, such as `resources`")
    _check_type(kustomization, file)
    return kustomization


_EMPTY: tuple[Any, ...] = (None, "")


def warnings(kustomization: Kustomization) -> list[str]:
    """A sentence for each field that has a newer spelling."""
    return [
        f"# Warning: '{name}' is deprecated. Please use '{newer}' instead. {advice}"
        for attribute, name, newer, advice in _DEPRECATED
        if getattr(kustomization, attribute) is not None
    ]


def _check_type(kustomization: Kustomization, file: str) -> None:
    kind = kustomization.kind or "Kustomization"
    if kind not in _VERSIONS:
        raise KustomizationError(f"{file}: kind should be Kustomization or Component, not '{kind}'")
    if kustomization.api_version not in ("", _VERSIONS[kind]):
        raise KustomizationError(f"{file}: apiVersion for {kind} should be {_VERSIONS[kind]}")
