"""Which fields the transformers of a build change: the defaults, plus what the kustomizations configure.

What a base configures holds for the overlays above it too.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any

from penstock.kustomize import defaults, fieldspecs
from penstock.kustomize.fieldspecs import FieldSpec, FieldSpecs
from penstock.kustomize.ids import Gvk
from penstock.kustomize.order import kind_order

NameReferences = tuple[tuple[Gvk, FieldSpecs], ...]  # what is referred to, and where its name stands


@dataclass(frozen=True, eq=False)
class TransformerConfig:
    """Field specs by transformer."""

    name_prefix: FieldSpecs = ()
    name_suffix: FieldSpecs = ()
    namespace: FieldSpecs = ()
    common_labels: FieldSpecs = ()
    labels: FieldSpecs = ()
    template_labels: FieldSpecs = ()
    common_annotations: FieldSpecs = ()
    variables: FieldSpecs = ()
    images: FieldSpecs = ()
    replicas: FieldSpecs = ()
    name_references: NameReferences = ()
    parts: "frozenset[TransformerConfig]" = frozenset()  # what it was merged from

    def merged(self, other: "TransformerConfig") -> "TransformerConfig":
        """Both together; merging what is there already returns the same object."""
        if other is self or other is EMPTY:
            return self
        if self is EMPTY:
            return other
        if other in self.parts:
            return self
        changes: dict[str, Any] = {
            field.name: _sorted(fieldspecs.merge(getattr(self, field.name), getattr(other, field.name)))
            for field in fields(self)
            if field.name not in ("name_references", "parts")
        }
        references = _merge_references(self.name_references, other.name_references)
        parts = self.parts | other.parts | {self, other}
        return replace(self, **changes, name_references=references, parts=parts)


EMPTY = TransformerConfig()


@cache
def default() -> TransformerConfig:
    """What holds when nothing is configured."""
    parsed: Callable[[str], FieldSpecs] = lambda table: _sorted(defaults.parse(table))  # noqa: E731
    references = tuple(
        (defaults.parse_type(target), defaults.parse(table)) for target, table in defaults.NAME_REFERENCES.items()
    )
    return TransformerConfig(
        name_prefix=parsed(defaults.NAMES),
        name_suffix=parsed(defaults.NAMES),
        namespace=parsed(defaults.NAMESPACES),
        common_labels=parsed(defaults.LABELS),
        template_labels=parsed(defaults.TEMPLATE_LABELS),
        common_annotations=parsed(defaults.ANNOTATIONS),
        variables=parsed(defaults.VARIABLES),
        images=parsed(defaults.IMAGES),
        replicas=parsed(defaults.REPLICAS),
        name_references=tuple(sorted(references, key=lambda entry: kind_order(entry[0]))),
    )


def configured(
    *, specs: dict[str, Iterable[FieldSpec]], references: Iterable[tuple[Gvk, Iterable[FieldSpec]]]
) -> TransformerConfig:
    """A configuration of its own, to be merged."""
    found: dict[str, Any] = {name: _sorted(tuple(more)) for name, more in specs.items()}
    return TransformerConfig(
        **found,
        name_references=_merge_references((), references),
    )


def _merge_references(known: NameReferences, more: Iterable[tuple[Gvk, Iterable[FieldSpec]]]) -> NameReferences:
    result = dict(known)
    for target, specs in more:
        result[target] = fieldspecs.merge(result.get(target, ()), specs)
    return tuple(sorted(result.items(), key=lambda entry: kind_order(entry[0])))


def _sorted(specs: FieldSpecs) -> FieldSpecs:
    return tuple(sorted(specs, key=lambda spec: kind_order(spec.gvk)))
