"""Labels and annotations, put wherever the field specs say."""

from collections.abc import Mapping
from typing import Any

from penstock.kustomize import fieldspecs
from penstock.kustomize.collection import Collection
from penstock.kustomize.errors import FieldError
from penstock.kustomize.fieldspecs import FieldSpec, FieldSpecs
from penstock.kustomize.resource import Resource
from penstock.kustomize.shared import Shared
from penstock.yaml.scalars import WrittenKey, written_key

METADATA_LABELS = FieldSpec("metadata/labels", create=True)


def put(collection: Collection, pairs: Mapping[str, str], specs: FieldSpecs) -> None:
    """Set the pairs in every mapping that the specs lead to."""
    if not pairs:
        return
    pairs = {written_key(key): value for key, value in pairs.items()}
    doubtful = any(type(key) is WrittenKey for key in pairs)

    added: list[tuple[dict[str, Any], set[str]]] = []  # mappings of one object, and the keys that are new in them

    def setter(container: Any, key: Any) -> None:
        values = container[key]
        if type(values) is dict:
            added.append((values, pairs.keys() - values.keys()))
            values.update(pairs)
        elif values is not None:
            raise FieldError(f"expected a mapping, found {values!r}")

    find = fieldspecs.by_type(specs)

    def work(resource: Resource) -> None:
        resource.written = resource.written or doubtful
        for spec in find(resource.gvk):
            try:
                fieldspecs.visit(resource.object, spec, setter, dict)
            except FieldError as error:
                raise FieldError(f"{resource.id}: {error}") from error
        if resource.shared:
            resource.spread()
        if len(added) > 1:
            _share(resource, pairs, added)
        added.clear()

    collection.each(("labels", tuple(pairs.items()), specs), work, renames=fieldspecs.may_rename(specs))


def _share(resource: Resource, pairs: Mapping[str, str], added: list[tuple[dict[str, Any], set[str]]]) -> None:
    for key, value in pairs.items():
        places = [values for values, new in added if key in new]
        if len(places) > 1:
            resource.shared.append(Shared(key, value, places))
