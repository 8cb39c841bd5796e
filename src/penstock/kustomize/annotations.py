"""Annotations that steer the build or are its own notes.

kustomize keeps its notes (earlier names, prefixes, generator behaviour) as annotations on the objects; we
keep them beside the objects. What arrives as such an annotation is honoured, and none of them is printed.
"""

from penstock.kustomize.ids import Previous
from penstock.kustomize.origin import ORIGIN, TRANSFORMATIONS
from penstock.kustomize.resource import Behavior, Resource
from penstock.yaml import text_of

LOCAL = "config.kubernetes.io/local-config"
_OURS = "internal.config.kubernetes.io/"
_NOTES = frozenset(
    [
        *(
            _OURS + name
            for name in [
                "previousKinds",
                "previousNames",
                "prefixes",
                "suffixes",
                "previousNamespaces",
                "allowNameChange",
                "allowKindChange",
                "refBy",
                "generatorBehavior",
                "needsHashSuffix",
                "path",
                "index",
                "seqindent",
                "annotations-migration-resource-id",
                "helm-generated",
            ]
        ),
        "internal.config.kubernetes.io/id",
        "config.kubernetes.io/path",
        "config.kubernetes.io/index",
        "config.k8s.io/id",
    ]
)
_BEHAVIORS: dict[str, Behavior] = {"create": "create", "replace": "replace", "merge": "merge"}


def absorb(resource: Resource) -> None:
    """Take over the notes that stand among the annotations of an object."""
    metadata = resource.object.get("metadata")
    values = metadata.get("annotations") if isinstance(metadata, dict) else None
    if values and isinstance(values, dict) and any(key.startswith(_OURS) for key in values):
        _take(resource, values)


def finish(resource: Resource, *, origin: bool, transformations: bool) -> None:
    """Remove the notes, and what was not asked for. Every annotation becomes a string."""
    metadata = resource.object.get("metadata")
    if not isinstance(metadata, dict) or "annotations" not in metadata:
        return
    values = resource.annotations
    dropped = _NOTES
    if not origin:
        dropped = dropped | {ORIGIN}
    if not transformations:
        dropped = dropped | {TRANSFORMATIONS}
    resource.set_texts("annotations", {key: text for key, text in values.items() if key not in dropped})


def is_local(resource: Resource) -> bool:
    """Whether the object only configures the build and is not part of its result."""
    metadata = resource.object.get("metadata")
    values = metadata.get("annotations") if isinstance(metadata, dict) else None
    return isinstance(values, dict) and text_of(values.get(LOCAL, "false")) != "false"


def _take(resource: Resource, values: dict[str, str]) -> None:
    texts = {key.removeprefix(_OURS): text_of(value) for key, value in values.items() if key.startswith(_OURS)}
    names, namespaces, kinds = (_listed(texts.get(f"previous{part}")) for part in ("Names", "Namespaces", "Kinds"))
    resource.previous = tuple(Previous(*parts) for parts in zip(namespaces, names, kinds, strict=False))
    resource.prefixes = _listed(texts.get("prefixes"))
    resource.suffixes = _listed(texts.get("suffixes"))
    resource.behavior = _BEHAVIORS.get(texts.get("generatorBehavior", ""), "unspecified")
    resource.hashed = texts.get("needsHashSuffix") == "enabled"


def _listed(text: str | None) -> tuple[str, ...]:
    return tuple(text.split(",")) if text is not None else ()
