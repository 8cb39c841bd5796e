"""The replica count transformer."""

from typing import Any

from penstock.kustomize import fieldspecs
from penstock.kustomize.collection import Collection
from penstock.kustomize.errors import FieldError, KustomizationError
from penstock.kustomize.fieldspecs import FieldSpecs
from penstock.kustomize.ids import Gvk, Id
from penstock.kustomize.kustomization import Replica
from penstock.kustomize.resource import Resource


def put(collection: Collection, replica: Replica, specs: FieldSpecs) -> None:
    """Set the count of the objects that have or had the name; one must exist."""

    def setter(container: Any, key: Any) -> None:
        if isinstance(container[key], (dict, list)):
            raise FieldError(f"expected a number of replicas, found {container[key]!r}")
        container[key] = replica.count

    def work(resource: Resource) -> None:
        for spec in _wanted(resource, replica, specs):
            if spec.matches(resource.gvk):
                fieldspecs.visit(resource.object, spec, setter, int)

    step = collection.step(("replicas", replica.name, replica.count, specs), work)
    chosen = [resource for resource in collection if _wanted(resource, replica, specs)]
    for resource in chosen:
        step(resource)
    if not chosen:
        kinds = ", ".join(sorted({spec.kind for spec in specs}))
        raise KustomizationError(f"`replicas` names '{replica.name}', but no {kinds} has that name")


def _wanted(resource: Resource, replica: Replica, specs: FieldSpecs) -> FieldSpecs:
    """The specs for an object that has or had the name."""
    ids = [one for one in resource.ids if one.name == replica.name]
    return tuple(spec for spec in specs if any(spec.matches(_gvk(one)) for one in ids)) if ids else ()


def _gvk(identity: Id) -> Gvk:
    return Gvk(identity.group, identity.version, identity.kind)
