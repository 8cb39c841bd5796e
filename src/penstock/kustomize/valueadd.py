"""The value-add transformer: a text set at, or put into the file path at, a field."""

from typing import Any

from penstock.kustomize import namespaces
from penstock.kustomize.collection import Collection
from penstock.kustomize.errors import FieldError, KustomizationError
from penstock.kustomize.fieldpaths import matches
from penstock.kustomize.fieldspecs import split_on
from penstock.kustomize.kustomization import Selector
from penstock.kustomize.records import Record
from penstock.kustomize.selectors import select
from penstock.yaml import text_of


class ValueTarget(Record):
    """Where a value goes; a position counts the parts of a file path from 1, 0 replaces the field."""

    selector: Selector | None = None
    field_path: str = ""
    file_path_position: int = 0


def add_value(collection: Collection, value: str, targets: list[ValueTarget]) -> None:
    """Set the value in all targets."""
    if not targets:
        raise KustomizationError("a value transformer needs at least one target")
    for target in targets:
        if not target.field_path or target.file_path_position < 0:
            raise KustomizationError("a value target needs a `fieldPath`, and its position cannot be negative")
        chosen = collection.resources if target.selector is None else select(collection, target.selector)
        for resource in chosen:
            resource.release()
            if target.field_path == "metadata/namespace":
                namespaces.put_one(resource, value)
            else:
                _set(resource.object, value, target)
                resource.forget()
    collection.changed()


def _set(resource: dict[str, Any], value: str, target: ValueTarget) -> None:
    parts = [part for part in split_on("/" + target.field_path, "/") if part.strip()]
    for container, key in matches(resource, parts, "scalar"):
        old = container[key]
        if isinstance(old, (dict, list)):
            raise FieldError(f"the value target '{target.field_path}' is not a scalar")
        container[key] = _inserted(text_of(old), target.file_path_position, value)


def _inserted(path: str, position: int, value: str) -> str:
    if position == 0:
        return value
    root = "/" if path.startswith("/") else ""
    parts = [part for part in path.split("/") if part]
    parts.insert(min(position - 1, len(parts)), value)
    return root + "/".join(parts)
