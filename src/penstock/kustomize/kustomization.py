"""The kustomization file: its fields, their types, and what older spellings mean."""

from typing import Any, TypeVar

import msgspec

from penstock.kustomize.errors import KustomizationError
from penstock.kustomize.fieldspecs import FieldSpec
from penstock.kustomize.ids import Gvk
from penstock.yaml import YAMLError, config

NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
COMPONENT = "Component"
T = TypeVar("T")


class _Fields(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """The common rules of all parts of the file: camel case, no unknown fields."""


class FieldSpecFields(_Fields, frozen=True):
    """A field spec as it is written."""

    path: str = ""
    group: str = ""
    version: str = ""
    kind: str = ""
    create: bool = False

    @property
    def spec(self) -> FieldSpec:
        return FieldSpec(self.path, self.group, self.version, self.kind, self.create)


class Selector(_Fields, frozen=True):
    """What a patch or replacement applies to; names and types are regular expressions."""

    group: str = ""
    version: str = ""
    kind: str = ""
    name: str = ""
    namespace: str = ""
    annotation_selector: str = ""
    label_selector: str = ""


class PatchOptions(_Fields, frozen=True):
    allow_name_change: bool = False
    allow_kind_change: bool = False


class Patch(_Fields, frozen=True):
    path: str = ""
    patch: str = ""
    target: Selector | None = None
    options: PatchOptions | None = None


class Image(_Fields, frozen=True):
    name: str = ""
    new_name: str = ""
    tag_suffix: str = ""
    new_tag: str = ""
    digest: str = ""


class Replica(_Fields, frozen=True):
    name: str = ""
    count: int = 0


class Label(_Fields, frozen=True):
    pairs: dict[str, str] = {}
    include_selectors: bool = False
    include_templates: bool = False
    fields: list[FieldSpecFields] = []


class FieldOptions(_Fields, frozen=True):
    delimiter: str = ""
    index: int = 0
    encoding: str = ""
    create: bool = False


class Source(_Fields, frozen=True):
    group: str = ""
    version: str = ""
    kind: str = ""
    name: str = ""
    namespace: str = ""
    field_path: str = ""
    options: FieldOptions | None = None


class Target(_Fields, frozen=True):
    select: Selector | None = None
    reject: list[Selector] = []
    field_paths: list[str] = []
    options: FieldOptions | None = None


class Replacement(_Fields, frozen=True):
    source: Source | None = None
    targets: list[Target] | None = None
    source_value: str | None = None
    path: str = ""


class ObjectReference(_Fields, frozen=True):
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


class FieldReference(_Fields, frozen=True):
    field_path: str = ""


class Variable(_Fields, frozen=True):
    name: str = ""
    objref: ObjectReference = ObjectReference()
    fieldref: FieldReference = FieldReference()


class GeneratorOptions(_Fields, frozen=True):
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    disable_name_suffix_hash: bool = False
    immutable: bool = False


class GeneratorArguments(_Fields, frozen=True):
    """What a ConfigMap or Secret is generated from."""

    namespace: str = ""
    name: str = ""
    behavior: str = ""
    literals: list[str] = []
    files: list[str] = []
    envs: list[str] = []
    env: str = ""
    options: GeneratorOptions | None = None


class SecretArguments(GeneratorArguments, frozen=True):
    type: str = ""


class LegacySortOptions(_Fields, frozen=True):
    order_first: list[str] = []
    order_last: list[str] = []


class SortOptions(_Fields, frozen=True):
    order: str = ""
    legacy_sort_options: LegacySortOptions | None = None


class Metadata(_Fields, frozen=True):
    name: str = ""
    namespace: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class Kustomization(_Fields, frozen=True):
    """A kustomization file."""

    api_version: str = ""
    kind: str = ""
    metadata: Metadata | None = None
    openapi: dict[str, str] = {}
    name_prefix: str = ""
    name_suffix: str = ""
    namespace: str = ""
    common_labels: dict[str, str] | None = None
    labels: list[Label] = []
    common_annotations: dict[str, str] = {}
    patches_strategic_merge: list[str] | None = None
    patches_json6902: list[Patch] | None = msgspec.field(name="patchesJson6902", default=None)
    patches: list[Patch] = []
    images: list[Image] = []
    image_tags: list[Image] | None = None
    replacements: list[Replacement] = []
    replicas: list[Replica] = []
    vars: list[Variable] | None = None
    sort_options: SortOptions | None = None
    resources: list[str] = []
    components: list[str] = []
    crds: list[str] = []
    bases: list[str] | None = None
    config_map_generator: list[GeneratorArguments] = []
    secret_generator: list[SecretArguments] = []
    helm_globals: dict[str, Any] | None = None
    helm_charts: list[dict[str, Any]] = []
    helm_chart_inflation_generator: list[dict[str, Any]] = []
    generator_options: GeneratorOptions | None = None
    configurations: list[str] = []
    generators: list[str] = []
    transformers: list[str] = []
    validators: list[str] = []
    build_metadata: list[str] = []

    @property
    def all_resources(self) -> list[str]:
        return [*self.resources, *(self.bases or ())]

    @property
    def all_images(self) -> list[Image]:
        return [*self.images, *(self.image_tags or ())]

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
    kustomization = convert(value if value is not None else {}, Kustomization, file)
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


def convert(value: Any, kind: type[T], file: str, *, lenient: bool = False) -> T:
    """A configuration as the struct that describes it; `lenient` overlooks unknown fields."""
    cleaned = _without_nulls(value)
    if lenient:
        cleaned = _respelled(cleaned, kind, lenient=True)
    try:
        return msgspec.convert(cleaned, kind)
    except msgspec.ValidationError as error:
        try:
            return msgspec.convert(_respelled(cleaned, kind, lenient=lenient), kind)
        except msgspec.ValidationError:
            raise KustomizationError(f"{file}: {_sentence(error)}") from error


def _check_type(kustomization: Kustomization, file: str) -> None:
    kind = kustomization.kind or "Kustomization"
    if kind not in _VERSIONS:
        raise KustomizationError(f"{file}: kind should be Kustomization or Component, not '{kind}'")
    if kustomization.api_version not in ("", _VERSIONS[kind]):
        raise KustomizationError(f"{file}: apiVersion for {kind} should be {_VERSIONS[kind]}")


def _without_nulls(value: Any) -> Any:
    """A null is as good as a field that is not there."""
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value


def _respelled(value: Any, kind: Any, *, lenient: bool) -> Any:
    """The same with field names in the case the struct has: kustomize reads `nameprefix` too."""
    if isinstance(value, list):
        inner = next(iter(getattr(kind, "__args__", ())), None)
        return [_respelled(item, inner, lenient=lenient) for item in value]
    struct = _struct(kind)
    if not isinstance(value, dict) or struct is None:
        return value
    names = {field.encode_name.lower(): field for field in msgspec.structs.fields(struct)}
    result: dict[str, Any] = {}
    for key, item in value.items():
        field = names.get(key.lower())
        if field is not None:
            result[field.encode_name] = _respelled(item, field.type, lenient=lenient)
        elif not lenient:
            result[key] = item
    return result


def _struct(kind: Any) -> type[msgspec.Struct] | None:
    candidates = [kind, *getattr(kind, "__args__", ())]
    return next((one for one in candidates if isinstance(one, type) and issubclass(one, msgspec.Struct)), None)


def _sentence(error: msgspec.ValidationError) -> str:
    return str(error).replace("Object contains unknown field", "unknown field").replace("`$.", "`").replace("`", "'")
