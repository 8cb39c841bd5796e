"""Origins and transformations, as annotations of the result."""

from typing import Any

from penstock.kustomize.collection import Collection
from penstock.kustomize.origin import ORIGIN, TRANSFORMATIONS, Origin
from penstock.yaml import dump


def note(collection: Collection, origin: Origin) -> None:
    """Remember on every object that a transformer went over it; one without an origin was made by it."""
    for resource in collection:
        # kustomize writes its note as an annotation, and makes all of them strings on the way.
        if any(type(text) is not str for text in (resource.metadata().get("annotations") or {}).values()):
            resource.set_texts("annotations", resource.annotations)
        if resource.origin is None:
            resource.origin = origin
        else:
            resource.touched = (*resource.touched, origin)


def annotate(collection: Collection, *, origins: bool, transformations: bool) -> None:
    """Write down what was asked for."""
    for resource in collection:
        annotations = resource.annotations
        if origins and resource.origin is not None:
            annotations[ORIGIN] = _lines(resource.origin.as_fields(), "")
        if transformations and resource.touched:
            annotations[TRANSFORMATIONS] = "".join(
                "- " + _lines(origin.as_fields(), "  ")[2:] for origin in resource.touched
            )
        if annotations:
            resource.set_texts("annotations", annotations)


def _lines(fields: dict[str, Any], pad: str) -> str:
    """A mapping in the order of its fields."""
    text = ""
    for key, value in fields.items():
        if isinstance(value, dict):
            text += f"{pad}{key}:\n{_lines(value, pad + '  ')}"
        else:
            text += f"{pad}{key}: {dump(value)}"
    return text
