"""What the API server does to the objects of one kind, besides storing them."""

from __future__ import annotations

import copy
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

from penstock.embedded.kinds.decode import decode
from penstock.embedded.kinds.empties import Empties, empties, with_empties
from penstock.embedded.kinds.metadata import (
    check_kube_finalizers,
    check_metadata,
    check_metadata_update,
    keep_system_fields,
)
from penstock.embedded.kinds.names import Words, dns_subdomain, path_segment

if TYPE_CHECKING:
    from penstock.embedded.kinds.problems import FieldProblem, Problems
    from penstock.kube.resources import Object


class Rules:
    """The rules of a kind without any of its own; the others override what differs.

    One object serves all requests, so rules have no state but for what `reading` finds. `obj` is always an object
    that `default` has seen.
    """

    namespaced: ClassVar[bool] = True
    generation: ClassVar[tuple[str, ...]] = ()
    """Top-level fields whose change makes a new generation; empty for kinds that count none."""
    status: ClassVar[bool] = False
    """Whether the kind has a status that only its subresource may write."""
    status_keeps: ClassVar[tuple[str, ...]] = ()
    """Fields of metadata that a write to the status cannot change."""
    unconditional_update: ClassVar[bool] = True
    """Whether a PUT without resourceVersion is taken."""
    create_on_update: ClassVar[bool] = False
    """Whether a PUT of an object that does not exist creates it."""
    kube_finalizers: ClassVar[bool] = True
    """Whether a finalizer without a domain is refused."""
    scalable: ClassVar[bool] = False
    empties: Empties = ()
    """What the request spelt out as empty, which is not quite the same as missing."""

    def reading(self, obj: Object) -> Rules:
        """The rules for one write of this object, as it was sent."""
        found = empties(obj)
        if not found:
            return self
        rules = copy.copy(self)
        rules.empties = found
        return rules

    def sent(self, obj: Object) -> Object:
        """The object with what its request spelt out as empty."""
        return with_empties(obj, self.empties) if self.empties else obj

    def default(self, obj: Object) -> None:
        """Read the object as its Go type and fill in defaults, in place; `DecodeError` where it does not fit."""
        read = decode(obj)
        if read is not obj:
            obj.clear()
            obj.update(read)

    def prepare_create(self, obj: Object) -> None:
        """Drop what a client may not set on a new object, and start its generation."""
        if self.generation:
            obj["metadata"]["generation"] = 1
        if self.status:
            reset_status(obj)

    def prepare_update(self, new: Object, old: Object, subresource: str = "") -> None:
        """Take from the old object what this kind of write cannot change, and count the generation."""
        metadata, before = new["metadata"], old["metadata"]
        _set(metadata, "generation", before.get("generation"))
        if subresource == "status":
            self.prepare_status(new, old)
        elif subresource:
            self.prepare_below(new, old, subresource)
        else:
            self.prepare_change(new, old)
        keep_system_fields(new["metadata"], before)

    def prepare_change(self, new: Object, old: Object) -> None:
        """A write to the object itself."""
        if self.status:
            _set(new, "status", old.get("status"))
        if self.generation and self.changed(new, old):
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def changed(self, new: Object, old: Object) -> bool:
        """Whether this makes a new generation."""
        return any(new.get(field) != old.get(field) for field in self.generation)

    def prepare_status(self, new: Object, old: Object) -> None:
        """A write to the status: everything else stays, but for most of metadata."""
        for field in {*new, *old} - {"status", "metadata", "apiVersion", "kind"}:
            _set(new, field, old.get(field))
        for field in self.status_keeps:
            _set(new["metadata"], field, old["metadata"].get(field))

    def prepare_below(self, new: Object, old: Object, subresource: str) -> None:
        """A write to another subresource."""

    def validate_create(self, obj: Object) -> list[FieldProblem]:
        """What is wrong with a new object; empty when it may be stored."""
        problems: Problems = []
        self.check_create(problems, obj)
        if problems:
            return problems
        # A kind may be laxer than the paths of the API are.
        check_metadata(problems, obj["metadata"], namespaced=self.namespaced, name_rule=path_segment)
        return problems

    def validate_update(self, new: Object, old: Object, subresource: str = "") -> list[FieldProblem]:
        """What is wrong with a changed object. Problems of metadata come twice, as they do in the real answer."""
        problems: Problems = []
        check_metadata(problems, new["metadata"], namespaced=self.namespaced, name_rule=path_segment)
        check_metadata_update(problems, new["metadata"], old["metadata"])
        if subresource == "status":
            self.check_status(problems, new, old)
        elif subresource:
            self.check_below(problems, new, old, subresource)
        else:
            self.check_update(problems, new, old)
        return problems

    def check_create(self, problems: Problems, obj: Object) -> None:
        self.check_metadata(problems, obj)
        self.check(problems, obj)

    def check_metadata(self, problems: Problems, obj: Object) -> None:
        check_metadata(problems, obj["metadata"], namespaced=self.namespaced, name_rule=self.name_words)
        if self.kube_finalizers:
            check_kube_finalizers(problems, obj["metadata"])

    def check_metadata_update(self, problems: Problems, new: Object, old: Object) -> None:
        check_metadata_update(problems, new["metadata"], old["metadata"])
        if self.kube_finalizers:
            check_kube_finalizers(problems, new["metadata"])

    def check_update(self, problems: Problems, new: Object, old: Object) -> None:
        self.check_metadata_update(problems, new, old)
        self.check(problems, new)
        self.check_change(problems, new, old)

    def check_status(self, problems: Problems, new: Object, old: Object) -> None:
        self.check_metadata_update(problems, new, old)

    def check_below(self, problems: Problems, new: Object, old: Object, subresource: str) -> None:  # noqa: ARG002
        """A write to another subresource, which has the rules of the object itself unless the kind says otherwise."""
        self.check_update(problems, new, old)

    def name_words(self, name: str) -> Words:
        """What is wrong with a name."""
        return dns_subdomain(name)

    def check(self, problems: Problems, obj: Object) -> None:
        """Everything but metadata, for new and changed objects alike."""

    def check_change(self, problems: Problems, new: Object, old: Object) -> None:
        """What may not change."""

    def to_scale(self, obj: Object) -> Object:
        """The object as its scale subresource shows it."""
        raise NotImplementedError(f"{obj.get('kind')} has no scale")

    def from_scale(self, obj: Object, scale: Object) -> Object:
        """A copy of the object with the replicas of a scale."""
        raise NotImplementedError(f"{obj.get('kind')} has no scale")


class ClusterRules(Rules):
    """The rules of a cluster-scoped kind without any of its own."""

    namespaced: ClassVar[bool] = False


def reset_status(obj: Object) -> None:
    """The status of a new object, as its type has it."""
    _set(obj, "status", copy.deepcopy(_empty_status(obj["apiVersion"], obj["kind"])))


@lru_cache(None)
def _empty_status(api_version: str, kind: str) -> Any:
    return decode({"apiVersion": api_version, "kind": kind}).get("status")


def _set(target: Object, field: str, value: Any) -> None:
    if value is None:
        target.pop(field, None)
    else:
        target[field] = value
