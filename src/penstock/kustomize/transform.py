"""The transformers of a kustomization, in the order that kustomize runs them."""

from collections.abc import Iterable, Iterator

from penstock.kustomize import fieldspecs, images, labels, names, namespaces, patches
from penstock.kustomize.collection import Collection
from penstock.kustomize.config import TransformerConfig
from penstock.kustomize.fieldspecs import FieldSpecs
from penstock.kustomize.kustomization import Kustomization, Label, Patch
from penstock.kustomize.place import Place


def run(kustomization: Kustomization, place: Place, collection: Collection, config: TransformerConfig) -> None:
    """Change the objects as the fields of the kustomization say."""
    for name in _built_in(kustomization, place, collection, config):
        if place.context.tracked:
            from penstock.kustomize.tracking import note  # few builds ask for it, and all of them should start fast

            note(collection, place.origin.configuration(place.file_name, name))


def _built_in(
    kustomization: Kustomization, place: Place, collection: Collection, config: TransformerConfig
) -> Iterator[str]:
    if kustomization.patches_strategic_merge:
        patches.strategic_merges(collection, kustomization.patches_strategic_merge, place)
        yield "PatchStrategicMergeTransformer"
    for entry in kustomization.patches:
        patches.patch(collection, entry, place)
        yield "PatchTransformer"
    if kustomization.namespace:
        namespaces.put(collection, kustomization.namespace, config.namespace)
        yield "NamespaceTransformer"
    if kustomization.name_prefix:
        names.prefix(collection, kustomization.name_prefix, config.name_prefix, untagged=place.context.replaces)
        yield "PrefixTransformer"
    if kustomization.name_suffix:
        names.suffix(collection, kustomization.name_suffix, config.name_suffix, untagged=place.context.replaces)
        yield "SuffixTransformer"
    yield from _labels(kustomization, collection, config)
    if kustomization.common_annotations:
        labels.put(collection, kustomization.common_annotations, config.common_annotations)
        yield "AnnotationsTransformer"
    yield from _json_patches(kustomization.patches_json6902 or (), place, collection)
    for replica in kustomization.replicas:
        from penstock.kustomize import replicas

        replicas.put(collection, replica, config.replicas)
        yield "ReplicaCountTransformer"
    for image in kustomization.all_images:
        images.put(collection, image, config.images, untagged=place.context.replaces)
        yield "ImageTagTransformer"
    if kustomization.replacements:
        from penstock.kustomize import replacements  # few builds have any, and all of them should start fast

        replacements.apply(collection, replacements.load(kustomization.replacements, place))
        yield "ReplacementTransformer"


def _labels(kustomization: Kustomization, collection: Collection, config: TransformerConfig) -> Iterator[str]:
    for label in kustomization.labels:
        labels.put(collection, label.pairs, label_specs(label, config))
        yield "LabelTransformer"
    if kustomization.labels or kustomization.common_labels:
        labels.put(collection, kustomization.common_labels or {}, config.common_labels)
        yield "LabelTransformer"


def label_specs(label: Label, config: TransformerConfig) -> FieldSpecs:
    """Where one entry of `labels` goes."""
    specs = fieldspecs.merge((), (one.spec for one in label.fields))
    specs = fieldspecs.merge(specs, config.labels)
    if label.include_selectors:
        return fieldspecs.merge(specs, config.common_labels)
    if label.include_templates:
        specs = fieldspecs.merge(specs, config.template_labels)
    return fieldspecs.merge(specs, [labels.METADATA_LABELS])


def _json_patches(entries: Iterable[Patch], place: Place, collection: Collection) -> Iterator[str]:
    for entry in entries:
        patches.named_json_patch(collection, entry, place)
        yield "PatchJson6902Transformer"
