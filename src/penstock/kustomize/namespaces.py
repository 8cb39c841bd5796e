"""The namespace transformer."""

from collections.abc import Callable
from typing import Any

from penstock.kustomize import fieldspecs
from penstock.kustomize.collection import Collection
from penstock.kustomize.errors import FieldError, KustomizationError, ResourceError
from penstock.kustomize.fieldspecs import FieldSpec, FieldSpecs
from penstock.kustomize.ids import Gvk
from penstock.kustomize.resource import Resource
from penstock.yaml import text_of

_METADATA = FieldSpec("metadata/namespace", create=True)
_BINDINGS = frozenset({"RoleBinding", "ClusterRoleBinding"})
SUBJECTS = ("defaultOnly", "allServiceAccounts", "none")


def put(
    collection: Collection,
    namespace: str,
    specs: FieldSpecs,
    *,
    unset_only: bool = False,
    subjects: str = "defaultOnly",
) -> None:
    """Put all namespaced objects into one namespace; ResourceError when two of them would become one."""
    if not namespace:
        return
    if subjects not in SUBJECTS:
        raise KustomizationError(f"setRoleBindingSubjects must be one of {', '.join(SUBJECTS)}, not '{subjects}'")
    setter = _setter(namespace, unset_only=unset_only)
    find = fieldspecs.by_type(specs)

    def work(resource: Resource) -> None:
        resource.remember()
        move(resource, setter, find, subjects)

    collection.each(("namespace", namespace, unset_only, subjects, specs), work, renames=True)
    if (twice := collection.twice()) is not None:
        raise ResourceError(f"the namespace '{namespace}' gives two objects the identity {twice}")


def put_one(resource: Resource, namespace: str) -> None:
    """Put one object into a namespace, without any configured field."""
    move(resource, _setter(namespace, unset_only=False), fieldspecs.by_type(()), "defaultOnly")


def move(resource: Resource, setter: fieldspecs.Setter, find: Callable[[Gvk], FieldSpecs], subjects: str) -> None:
    """Change one object."""
    value = resource.object
    gvk = resource.gvk
    if not resource.is_cluster_scoped:
        fieldspecs.visit(value, _METADATA, setter, str)
    is_binding = gvk.kind in _BINDINGS
    if is_binding:
        _subjects(value, setter, subjects)
    for spec in find(gvk):
        if _is_needed(spec, gvk.api_version, is_binding=is_binding):
            try:
                fieldspecs.visit(value, spec, setter, str)
            except FieldError as error:
                raise FieldError(f"{resource.id}: {error}") from error
    resource.forget()


def _is_needed(spec: FieldSpec, api_version: str, *, is_binding: bool) -> bool:
    if spec.path == "metadata/namespace" or (spec.path == "metadata/name" and api_version != "v1"):
        return False
    return not (is_binding and spec.kind in _BINDINGS and spec.path == "subjects/namespace")


def _setter(namespace: str, *, unset_only: bool) -> fieldspecs.Setter:
    def setter(container: Any, key: Any) -> None:
        value = container[key]
        if isinstance(value, (dict, list)):
            raise FieldError("a namespace belongs into a scalar field")
        if not (unset_only and text_of(value)):
            container[key] = namespace

    return setter


def _subjects(value: Any, setter: fieldspecs.Setter, mode: str) -> None:
    found = value.get("subjects")
    if mode == "none" or not isinstance(found, list):
        return
    field, wanted = ("name", "default") if mode == "defaultOnly" else ("kind", "ServiceAccount")
    for subject in found:
        if isinstance(subject, dict) and text_of(subject.get(field)) == wanted:
            subject.setdefault("namespace", "")
            setter(subject, "namespace")
