"""What the API server does to objects of a custom resource, besides storing them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from penstock.embedded.definitions.checking import check
from penstock.embedded.definitions.identity import check_embedded, check_lists
from penstock.embedded.definitions.nodes import MISSING, Node
from penstock.embedded.definitions.scaling import Scaling
from penstock.embedded.definitions.shaping import read_metadata, shape, shape_applied
from penstock.embedded.fields import same
from penstock.embedded.kinds.metadata import check_metadata, check_metadata_update, keep_system_fields
from penstock.embedded.kinds.names import dns_subdomain, path_segment
from penstock.embedded.kinds.problems import invalid

if TYPE_CHECKING:
    from penstock.embedded.kinds.empties import Empties
    from penstock.embedded.kinds.problems import FieldProblem, Problems
    from penstock.kube.resources import Object


class CustomRules:
    """The rules of one version of a custom resource."""

    unconditional_update: ClassVar[bool] = False
    create_on_update: ClassVar[bool] = False
    empties: Empties = ()
    """Nothing is lost that was spelt out as empty: custom objects are kept as they are sent."""

    def __init__(
        self,
        openapi: Object | None,
        *,
        kind: str,
        api_version: str,
        namespaced: bool,
        has_status: bool,
        scale: Object | None,
    ) -> None:
        self._node = Node(openapi or {"type": "object", "x-kubernetes-preserve-unknown-fields": True}, root=True)
        self._identity = {"kind": kind, "apiVersion": api_version}
        self._namespaced = namespaced
        self._has_status = has_status
        self._scaling = Scaling(scale) if scale else None

    def default(self, obj: Object) -> None:
        """Unknown fields go, nulls go, defaults come; metadata is read as the type it is.

        What calls itself something else keeps all it has until somebody looks at its name.
        """
        if self._is_of_kind(obj):
            shape(obj, self._node)
        else:
            read_metadata(obj)

    def default_applied(self, obj: Object) -> None:
        """The same for what an apply made: nothing unknown can be in it, and nulls stay for the checks to find."""
        shape_applied(obj, self._node)

    def _is_of_kind(self, obj: Object) -> bool:
        group = self._identity["apiVersion"].rpartition("/")[0]
        return obj.get("kind") == self._identity["kind"] and str(obj.get("apiVersion")).rpartition("/")[0] == group

    def prepare_create(self, obj: Object) -> None:
        if self._has_status and obj.pop("status", None) is not None:
            shape(obj, self._node)  # the defaults of a status come back, as they do whenever an object is read
        obj["metadata"]["generation"] = 1

    def prepare_update(self, new: Object, old: Object, subresource: str) -> None:
        if subresource == "status":
            self._keep_all_but_status(new, old)
            return
        metadata, before = new["metadata"], old["metadata"]
        _set(metadata, "generation", before.get("generation", MISSING))
        keep_system_fields(metadata, before)
        if self._has_status:
            _set(new, "status", old.get("status", MISSING))
        if not same(_content(new), _content(old)):
            metadata["generation"] = before.get("generation", 0) + 1

    def _keep_all_but_status(self, new: Object, old: Object) -> None:
        """A write to the status changes nothing else, not even metadata but for the managed fields."""
        status, managed = new.get("status", MISSING), new["metadata"].get("managedFields")
        if status is None and old.get("status") is None:
            status = MISSING  # null where there was nothing is no change, so that nobody checks it
        kept: Object = {**old, "metadata": {**old["metadata"]}}
        new.clear()
        new.update(kept)
        _set(new["metadata"], "managedFields", managed if managed is not None else MISSING)
        _set(new, "status", status)

    def validate_create(self, obj: Object) -> list[FieldProblem]:
        problems: Problems = self._check_identity(obj)
        if not problems:
            check_metadata(problems, obj["metadata"], namespaced=self._namespaced, name_rule=dns_subdomain)
            check(problems, obj, self._node, "")
            self._check_scale(problems, obj, "")
        check_embedded(problems, obj, self._node)
        check_lists(problems, obj, self._node)
        return problems

    def validate_update(self, new: Object, old: Object, subresource: str) -> list[FieldProblem]:
        """What was wrong before and stays as it was is not held against the writer."""
        problems: Problems = []
        # The real server looks at metadata three times, and tells what it finds each time.
        check_metadata(problems, new["metadata"], namespaced=self._namespaced, name_rule=path_segment)
        check_metadata_update(problems, new["metadata"], old["metadata"])
        problems += self._check_identity(new) or self._changed_problems(new, old, subresource)
        if subresource != "status":
            check_embedded(problems, new, self._node)
        self._check_new_duplicates(problems, new, old)
        return problems

    def _check_identity(self, obj: Object) -> list[FieldProblem]:
        """An object may call itself anything until here; then most of it is not looked at."""
        told = [(field, obj.get(field), expected) for field, expected in self._identity.items()]
        return [invalid(field, found, f"must be {wanted}") for field, found, wanted in told if found != wanted]

    def _changed_problems(self, new: Object, old: Object, subresource: str) -> list[FieldProblem]:
        problems: Problems = []
        check_metadata_update(problems, new["metadata"], old["metadata"])
        if subresource != "status":
            check(problems, new, self._node, "", old)
        elif (status := self._node.properties.get("status")) is not None and "status" in new:
            problems += _status_problems(new["status"], status, old.get("status", MISSING))
        self._check_scale(problems, new, subresource)
        return problems

    def _check_scale(self, problems: Problems, obj: Object, subresource: str) -> None:
        if self._scaling is None:
            return
        if subresource != "status":
            self._scaling.check_spec(problems, obj)
        self._scaling.check_status(problems, obj)

    def _check_new_duplicates(self, problems: Problems, new: Object, old: Object) -> None:
        found: Problems = []
        check_lists(found, new, self._node)
        if not found:
            return
        before: Problems = []
        check_lists(before, old, self._node)
        if not before:
            problems += found

    def to_scale(self, obj: Object, *, unset: int | None = None) -> Object:
        """The object as its scale; `unset` stands for replicas that are not there, which are an error without it."""
        if self._scaling is None:
            raise NotImplementedError(f"{obj.get('kind')} has no scale")
        return self._scaling.show(obj, unset)

    def from_scale(self, obj: Object, scale: Object) -> Object:
        if self._scaling is None:
            raise NotImplementedError(f"{obj.get('kind')} has no scale")
        return self._scaling.change(obj, scale)


def _status_problems(value: Any, node: Node, old: Any) -> list[FieldProblem]:
    """Here the real server knows only the status: its sentences are relative to it, and only the field says so."""
    found: Problems = []
    check(found, value, node, "", old)
    return [replace(each, field=f"status.{each.field}".removesuffix(".").removesuffix(".<nil>")) for each in found]


def _content(obj: Object) -> dict[str, Any]:
    return {key: value for key, value in obj.items() if key != "metadata"}


def _set(target: Object, field: str, value: Any) -> None:
    if value is MISSING:
        target.pop(field, None)
    else:
        target[field] = value
