"""The replica count transformer."""

from typing import Any

from penstock.kustomize import fieldspecs
from penstock.kustomize.collection import Collection
from penstock.kustomize.errors import FieldError, KustomizationError
from penstock.kustomize.fieldspecs import FieldSpecs
from penstock.kustomize.ids import Gvk, Id
from penstock.kustomize.kustomization import Replica


def put(collection: Collection, replica: Replica, specs: FieldSpecs) -> None:
    """Set the count of the objects that have or had the name; one must exist."""

    def setter(container: Any, key: Any) -> None:
        if isinstance(container[key], (dict, list)):
            raise FieldError(f"expected a number of replicas, found {container[key]!r}")
        container[key] = replica.count

    found = False
    for resource in collection:
        ids = [one for one in resource.ids if one.name == replica.name]
        if not ids:
            continue
        for spec in specs:
            if any(spec.matches(_gvk(one)) for one in ids):
                found = True
                if spec.matches(resource.gvk):
                    fieldspecs.visit(resource.object, spec, setter, int)
    if not found:
        kinds = ", ".join(sorted({spec.kind for spec in specs}))
        raise KustomizationError(f"`replicas` names '{replica.name}', but no {kinds} has that name")


def _gvk(identity: Id) -> Gvk:
    return Gvk(identity.group, identity.version, identity.kind)
