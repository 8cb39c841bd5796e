"""Writes: create, update, patch, apply and delete, from what was sent to what is stored.

Everything here is synchronous: between reading the stored object and storing the new one nothing else runs, so no
write can be lost. Waiting for the disk is the caller's part.
"""

from __future__ import annotations

import time
from copy import copy, deepcopy
from typing import TYPE_CHECKING, Any

import orjson

from penstock.embedded.fields import same, settled
from penstock.embedded.kinds.decode import DecodeError
from penstock.embedded.kinds.metadata import custom_finalizer_warnings
from penstock.embedded.kinds.warnings import warnings as kind_warnings
from penstock.embedded.server import checks, conversion, deleting, objects, owners, shaping
from penstock.embedded.server.managing import FieldManagement
from penstock.embedded.server.ports import Attempt, DeleteOptions, Plugins, Rules, ServedResource
from penstock.embedded.server.targets import Outcome, Target
from penstock.embedded.status import (
    StatusError,
    already_exists,
    bad_request,
    conflict,
    not_found,
    plain_error,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.embedded.server.catalog import Catalog
    from penstock.embedded.storage import Record, Storage
    from penstock.kube.resources import Object

NAME_TRIES = 8
_REVIEWS = "authorization.k8s.io"


class Writer:
    """Applies the rules of the API to writes."""

    def __init__(
        self, store: Storage, catalog: Catalog, plugins: Plugins, *, clock: Callable[[], float] = time.time
    ) -> None:
        self.store = store
        self.catalog = catalog
        self.plugins = plugins
        self.clock = clock
        self._fields = FieldManagement(catalog, clock)

    # What requests ask for

    def create(self, target: Target, obj: Object, *, warnings: list[str] | None = None) -> Outcome:
        """POST: a new object, from what was sent."""
        resource = target.resource
        told = warnings if warnings is not None else []
        rules = shaping.read(resource, obj)
        objects.check_namespace(obj["metadata"], resource, target.namespace)
        owners.once_each(obj, told)
        _wipe(obj["metadata"])
        obj = self._fields.updated(target, None, obj)
        return self._insert(target, rules, obj, told)

    def update(self, target: Target, obj: Object, *, warnings: list[str] | None = None) -> Outcome:
        """PUT: a whole object in place of the stored one."""
        resource = target.resource
        told = warnings if warnings is not None else []
        rules = shaping.read(resource, obj)
        metadata = obj["metadata"]
        objects.check_namespace(metadata, resource, target.namespace)
        objects.check_name(metadata, target.name)
        owners.once_each(obj, told)
        record = self._stored(target)
        old = self.stored_object(resource, record) if record is not None else None
        if old is None and not checks.may_create(target, rules):
            raise not_found(resource.plural, target.name, group=resource.group)
        checks.check_uid(target, metadata, old)
        if record is None or old is None:
            return self._create_by_update(target, rules, obj, told)
        self._carry_over(target, obj, old)
        obj = self._fields.updated(target, old, obj, rules.empties)
        return self._replace(target, rules, record, old, obj, told)

    def change(
        self,
        target: Target,
        make: Callable[[Object], Object],
        *,
        warnings: list[str] | None = None,
        managed: bool = True,
        check: Callable[[Object, Object], None] | None = None,
        refusal: Callable[[Object, DecodeError], StatusError] | None = None,
    ) -> Outcome:
        """PATCH, but for apply: `make` turns a copy of the stored object into the new one.

        Without `managed`, what it made has its managed fields already. `check` sees the stored object and what
        `make` made of it once that fits its kind; `refusal` words what does not.
        """
        resource = target.resource
        told = warnings if warnings is not None else []
        record = self._stored(target)
        if record is None:
            raise not_found(resource.plural, target.name, group=resource.group)
        old = self.stored_object(resource, record)
        obj = make(self.stored_object(resource, record))
        # Custom objects are shaped in place, all the way down.
        made = deepcopy(obj) if resource.custom else copy(obj)
        try:
            if resource.custom:
                objects.check_patched_identity(obj)
            if obj.get("metadata") is None:
                obj["metadata"] = {}
            rules = shaping.shaped(resource, obj)
        except DecodeError as error:
            raise (bad_request(str(error)) if refusal is None else refusal(old, error)) from error
        if check is not None:
            check(old, made)
        objects.check_namespace(obj["metadata"], resource, target.namespace)
        objects.check_name(obj["metadata"], target.name)
        self._carry_over(target, obj, old)
        if managed:
            obj = self._fields.updated(target, old, obj, rules.empties)
        return self._replace(target, rules, record, old, obj, told)

    def apply(
        self,
        target: Target,
        wanted: Object,
        *,
        warnings: list[str] | None = None,
        check: Callable[[], None] | None = None,
    ) -> Outcome:
        """Server-side apply: creates what is not there. `check` may refuse what could be merged."""
        resource = target.resource
        told = warnings if warnings is not None else []
        record = self._stored(target)
        if record is None and target.subresource and not checks.may_create(target, shaping.rules_of(resource)):
            raise not_found(resource.plural, target.name, group=resource.group)
        old = self.stored_object(resource, record) if record is not None else None
        obj = self._fields.applied(target, old, wanted)
        rules = shaping.read_applied(resource, wanted, obj)
        if check is not None:
            check()
        metadata = obj["metadata"]
        if old is None and metadata.get("uid"):
            why = f"uid mismatch: the provided object specified uid {metadata['uid']}, and no existing object was found"
            raise conflict(resource.plural, target.name, why, group=resource.group)
        objects.check_namespace(metadata, resource, target.namespace)
        objects.check_name(metadata, target.name)
        if record is None or old is None:
            if target.may_create is not None:
                target.may_create()
            checks.drop_version(target, metadata)
            return self._insert(target, rules, obj, told)
        self._carry_over(target, obj, old)
        return self._replace(target, rules, record, old, obj, told)

    def delete(self, target: Target, options: DeleteOptions, *, warnings: list[str] | None = None) -> Outcome:
        """DELETE: the object goes, or is marked to go."""
        resource = target.resource
        record = self._stored(target)
        if record is None:
            raise not_found(resource.plural, target.name, group=resource.group)
        old = self.stored_object(resource, record)
        deleting.check_preconditions(resource, target.name, options, old)
        told = warnings if warnings is not None else []
        self._admit(
            Attempt(
                "DELETE", target.user, resource, "", target.namespace, target.name, None, old, options.dry_run, told
            )
        )
        obj = self.stored_object(resource, record)
        left = self._deletion(resource, obj, options)
        if left is None:
            return self._remove(resource, record, obj, dry_run=options.dry_run, warnings=told)
        if options.dry_run or left == old:
            return Outcome(left, warnings=told)
        return self._put(target, record, left, told)

    def managed(self, target: Target, obj: Object) -> Object:
        """What a client sent, read, and with managed fields where objects of the kind have some without being kept."""
        if target.resource.group != _REVIEWS or target.resource.plural == "selfsubjectrulesreviews":
            return obj
        spec = {key: value for key, value in obj.items() if key != "status"}
        entries = self._fields.updated(target, None, spec)["metadata"].get("managedFields")
        metadata = {**(obj.get("metadata") or {}), **({"managedFields": entries} if entries else {})}
        return {**obj, "metadata": metadata}

    # Steps

    def stored_object(self, resource: ServedResource, record: Record) -> Object:
        """The stored object in the version of the resource, to be changed at will."""
        return conversion.stored_object(resource, record)

    def _admit(self, attempt: Attempt) -> None:
        for plugin in self.plugins.admission:
            plugin.admit(attempt)

    def _validate(self, attempt: Attempt) -> None:
        for plugin in self.plugins.validation:
            plugin.validate(attempt)

    def _insert(self, target: Target, rules: Rules, obj: Object, warnings: list[str]) -> Outcome:
        resource, namespace = target.resource, target.namespace
        metadata = obj["metadata"]
        dry_run = target.options.dry_run
        if not dry_run:
            metadata.pop("selfLink", None)
        metadata["uid"] = objects.new_uid()
        metadata["creationTimestamp"] = objects.timestamp(self.clock())
        attempt = Attempt(
            "CREATE",
            target.user,
            resource,
            target.subresource,
            namespace,
            metadata.get("name") or "",
            obj,
            None,
            dry_run,
            warnings,
        )
        self._admit(attempt)
        obj = attempt.obj if attempt.obj is not None else obj
        owners.once_each(obj, warnings, admitted=True)
        metadata = obj["metadata"]
        self._name(resource, namespace, metadata)
        rules.prepare_create(obj)
        checks.raise_problems(resource, obj, rules.validate_create(obj))
        warnings += self._warnings(resource, obj, None)
        self._validate(attempt)
        if not dry_run and objects.is_version(metadata.get("resourceVersion") or ""):
            raise plain_error("resourceVersion should not be set on objects to be created")
        name = metadata["name"]
        if (there := self.store.get(resource.stored_in, namespace, name)) is not None:
            going = "deletionTimestamp" in there.object()["metadata"]
            generated = bool(metadata.get("generateName"))
            group = resource.home if generated else resource.group
            raise already_exists(resource.plural, name, group=group, going=going, generated=generated)
        obj = objects.ordered(obj)
        if dry_run:
            return Outcome(obj, created=True, warnings=warnings)
        return self._store(target, name, obj, 0, Outcome(obj, created=True, warnings=warnings))

    def _name(self, resource: ServedResource, namespace: str, metadata: Object) -> None:
        prefix = metadata.get("generateName")
        if metadata.get("name") or not prefix:
            return
        for _ in range(NAME_TRIES):
            metadata["name"] = objects.generated_name(prefix)
            if self.store.get(resource.stored_in, namespace, metadata["name"]) is None:
                return

    def _create_by_update(self, target: Target, rules: Rules, obj: Object, warnings: list[str]) -> Outcome:
        if target.may_create is not None:
            target.may_create()
        checks.drop_version(target, obj["metadata"])
        return self._insert(target, rules, self._fields.updated(target, None, obj), warnings)

    def _carry_over(self, target: Target, obj: Object, old: Object) -> None:
        """What a write to this subresource cannot change, where the kind's rules do not say it."""
        if target.subresource == "finalize":
            finalizers = (obj.get("spec") or {}).get("finalizers")
            kept = orjson.loads(orjson.dumps(old))
            spec = dict(kept.get("spec") or {})
            spec.pop("finalizers", None)
            if finalizers:
                spec["finalizers"] = finalizers
            kept["spec"] = spec
            version = obj["metadata"].get("resourceVersion")
            obj.clear()
            obj.update(kept)
            if version:
                obj["metadata"]["resourceVersion"] = version

    def _replace(
        self, target: Target, rules: Rules, record: Record, old: Object, obj: Object, warnings: list[str]
    ) -> Outcome:
        resource, namespace, name = target.resource, target.namespace, target.name
        dry_run = target.options.dry_run
        attempt = Attempt(
            "UPDATE", target.user, resource, target.subresource, namespace, name, obj, old, dry_run, warnings
        )
        checks.check_version(target, rules, obj, record)
        self._admit(attempt)
        obj = attempt.obj if attempt.obj is not None else obj
        owners.once_each(obj, warnings, admitted=True)
        metadata = obj["metadata"]
        metadata["resourceVersion"] = str(record.revision)
        # A scale is a way to write the object itself; other subresources have rules of their own.
        below = "" if target.subresource == "scale" else target.subresource
        told = dict(obj)
        rules.prepare_update(obj, old, below)
        checks.raise_problems(resource, told, rules.validate_update(obj, old, below))
        warnings += self._warnings(resource, obj, old, below)
        obj = settled(old, obj)
        self._validate(attempt)
        if not dry_run:
            obj["metadata"].pop("selfLink", None)  # the store has no place for it
        if deleting.goes(resource, obj):
            return self._remove(resource, record, obj, dry_run=dry_run, warnings=warnings)
        if same(obj, old):
            unconverted = conversion.to_stored(resource, obj) is obj and not resource.custom
            return Outcome(obj, warnings=warnings, data=record.data if unconverted else None)
        if dry_run:
            return Outcome(objects.ordered(obj), warnings=warnings)
        return self._put(target, record, obj, warnings)

    def _warnings(self, resource: ServedResource, obj: Object, old: Object | None, subresource: str = "") -> list[str]:
        if resource.custom:
            if subresource:
                return []
            return custom_finalizer_warnings(obj["metadata"], old["metadata"] if old is not None else {})
        return kind_warnings(resource.group, resource.kind, obj, old, subresource)

    def _put(self, target: Target, record: Record, obj: Object, warnings: list[str]) -> Outcome:
        obj = objects.ordered(obj)
        return self._store(target, record.name, obj, record.revision, Outcome(obj, warnings=warnings))

    def _store(self, target: Target, name: str, obj: Object, expected: int, outcome: Outcome) -> Outcome:
        """Put the object into the store, in the version of the store; the outcome knows its revision then."""
        resource = target.resource
        stored = conversion.to_stored(resource, obj)
        change = self.store.put(resource.stored_in, target.namespace, name, stored, expected=expected)
        if stored is obj:
            outcome.data = change.record.data
        else:
            obj["metadata"]["resourceVersion"] = str(change.revision)
        self._observe(change)
        return outcome

    def _remove(
        self, resource: ServedResource, record: Record, last: Object, *, dry_run: bool, warnings: list[str]
    ) -> Outcome:
        shown = {**last, "metadata": dict(last["metadata"])}
        if not dry_run:
            seen = conversion.to_stored(resource, objects.ordered(last))
            change = self.store.delete(
                record.collection, record.namespace, record.name, expected=record.revision, last=seen
            )
            self._observe(change)
        return Outcome(shown, deleted=True, warnings=warnings)

    def _observe(self, change: Any) -> None:
        for observer in self.plugins.observers:
            observer.changed(change)

    def _stored(self, target: Target) -> Record | None:
        return self.store.get(target.resource.stored_in, target.namespace, target.name)

    def _deletion(self, resource: ServedResource, obj: Object, options: DeleteOptions) -> Object | None:
        now = objects.timestamp(self.clock())
        if self.plugins.deletion is not None:
            return self.plugins.deletion.delete(resource, obj, options, now)
        return deleting.marked(obj, now)


def _wipe(metadata: Object) -> None:
    """Take away what only the server may say about a new object."""
    for name in ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"):
        metadata.pop(name, None)
