"""Which fields the transformers of a build change: the defaults, plus what the kustomizations configure.

What a base configures holds for the overlays above it too.
"""

from collections.abc import Iterable, Mapping
from functools import cache

from penstock.kustomize import defaults, fieldspecs
from penstock.kustomize.fieldspecs import FieldSpec, FieldSpecs
from penstock.kustomize.fieldtrie import Trie
from penstock.kustomize.ids import Gvk
from penstock.kustomize.order import kind_order

NameReferences = tuple[tuple[Gvk, FieldSpecs], ...]  # what is referred to, and where its name stands


_LISTS = (
    "name_prefix",
    "name_suffix",
    "namespace",
    "common_labels",
    "labels",
    "template_labels",
    "common_annotations",
    "variables",
    "images",
    "replicas",
)


class TransformerConfig:
    """Field specs by transformer. Compared by identity: nearly all builds share the default."""

    name_prefix: FieldSpecs
    name_suffix: FieldSpecs
    namespace: FieldSpecs
    common_labels: FieldSpecs
    labels: FieldSpecs
    template_labels: FieldSpecs
    common_annotations: FieldSpecs
    variables: FieldSpecs
    images: FieldSpecs
    replicas: FieldSpecs

    def __init__(
        self,
        specs: Mapping[str, FieldSpecs],
        name_references: NameReferences,
        parts: "frozenset[TransformerConfig]" = frozenset(),
    ) -> None:
        self.__dict__.update({name: specs.get(name, ()) for name in _LISTS})
        self.name_references = name_references
        self.tries = dict[Gvk, Trie]()  # the places of names, worked out once a type
        self.parts = parts  # what it was merged from

    def merged(self, other: "TransformerConfig") -> "TransformerConfig":
        """Both together; merging what is there already returns the same object."""
        if other is self or other is EMPTY or other in self.parts:
            return self
        if self in other.parts or (self is EMPTY and other is default()):
            return other
        specs = {name: _sorted(fieldspecs.merge(getattr(self, name), getattr(other, name))) for name in _LISTS}
        references = _merge_references(self.name_references, other.name_references)
        return TransformerConfig(specs, references, (self.parts | other.parts | {self, other}) - {EMPTY})


EMPTY = TransformerConfig({}, ())


@cache
def default() -> TransformerConfig:
    """What holds when nothing is configured."""
    tables = {
        "name_prefix": defaults.NAMES,
        "name_suffix": defaults.NAMES,
        "namespace": defaults.NAMESPACES,
        "common_labels": defaults.LABELS,
        "template_labels": defaults.TEMPLATE_LABELS,
        "common_annotations": defaults.ANNOTATIONS,
        "variables": defaults.VARIABLES,
        "images": defaults.IMAGES,
        "replicas": defaults.REPLICAS,
    }
    references = [
        (defaults.parse_type(target), defaults.parse(table)) for target, table in defaults.NAME_REFERENCES.items()
    ]
    return TransformerConfig(
        {name: _sorted(defaults.parse(table)) for name, table in tables.items()},
        tuple(sorted(references, key=lambda entry: kind_order(entry[0]))),
    )


def configured(
    *, specs: dict[str, Iterable[FieldSpec]], references: Iterable[tuple[Gvk, Iterable[FieldSpec]]]
) -> TransformerConfig:
    """A configuration of its own, to be merged."""
    return TransformerConfig(
        {name: _sorted(tuple(found)) for name, found in specs.items()}, _merge_references((), references)
    )


def _merge_references(known: NameReferences, more: Iterable[tuple[Gvk, Iterable[FieldSpec]]]) -> NameReferences:
    result = dict(known)
    for target, specs in more:
        result[target] = fieldspecs.merge(result.get(target, ()), specs)
    return tuple(sorted(result.items(), key=lambda entry: kind_order(entry[0])))


def _sorted(specs: FieldSpecs) -> FieldSpecs:
    return tuple(sorted(specs, key=lambda spec: kind_order(spec.gvk)))
