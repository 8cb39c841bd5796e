"""Who manages which fields after a request: `apply` for server-side apply, `update` for every other write."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import orjson

from penstock.embedded.fields.compare import equal, same
from penstock.embedded.fields.empty import empty_object
from penstock.embedded.fields.errors import ApplyError, ElementError, FieldConflict, TypedError
from penstock.embedded.fields.lastapplied import MANAGER as KUBECTL
from penstock.embedded.fields.lastapplied import client_side_applied, with_last_applied
from penstock.embedded.fields.managers import (
    BEFORE_FIRST_APPLY,
    EntryError,
    Managers,
    capped,
    is_reset,
    read,
    written,
)
from penstock.embedded.fields.merge import merge
from penstock.embedded.fields.prune import pruned
from penstock.embedded.fields.reconcile import reconciled
from penstock.embedded.fields.restore import alone, restore_problem
from penstock.embedded.fields.sets import difference, has, union
from penstock.embedded.fields.tracking import STRIPPED, bare, conflict, request, track, with_managers
from penstock.embedded.fields.typed import checked, problem_of

if TYPE_CHECKING:
    from penstock.embedded.fields.sets import FieldSet
    from penstock.embedded.fields.tracking import Convert, Request
    from penstock.embedded.schema import Schema
    from penstock.kube.resources import Object


def apply(
    live: Object | None,
    wanted: Object,
    *,
    schema: Schema,
    manager: str,
    force: bool = False,
    subresource: str = "",
    now: str,
    resets: FieldSet | None = None,
    convert: Convert | None = None,
) -> Object:
    """The object that a server-side apply makes of the live one, with its managedFields; not yet defaulted.

    An apply that changes no value returns the live one's values, and no entry's time changes. `resets` are the
    fields that this path of the object resets; those of built-in kinds are known. `convert` gives an object in
    another version with its schema, for managers who wrote in one; None when there is no such version.

    `FieldConflict` when others own what would change and `force` is not set, `TypedError` when the
    configuration does not fit its type, `ApplyError` when it may not be applied at all.
    """
    if _metadata(wanted).get("managedFields") is not None:
        raise ApplyError("metadata.managedFields must be nil")
    by = request(
        wanted,
        schema=schema,
        manager=manager,
        subresource=subresource,
        now=now,
        resets=resets,
        convert=convert,
    )
    try:
        made = _applied(live, wanted, by, force=force)
    except FieldConflict as refused:
        if manager != KUBECTL or live is None:
            raise
        taken = client_side_applied(bare(live), by.api_version, schema)
        left = [each for each in refused.found if not has(taken, each[1])]
        if left:
            raise conflict(left) from None
        made = _applied(live, wanted, by, force=True)
    made = with_last_applied(made, wanted) if manager == KUBECTL else made
    # Built-in kinds are read into their types next, which makes everything new. Others are shaped in place.
    return made if schema.name else cast("Object", orjson.loads(orjson.dumps(made)))


def _applied(live: Object | None, wanted: Object, by: Request, *, force: bool) -> Object:
    before = bare(live) if live is not None else empty_object(by.api_version, wanted.get("kind", ""), by.schema)
    managers = _existing(live, before, by)
    fields = _checked(wanted, by)
    mine = by.entry("Apply", by.kept(fields), None)
    last = managers.get(mine.identifier)
    if last is not None:
        mine = replace(mine, time=last.time)
    managers[mine.identifier] = mine
    after = pruned(merge(before, wanted, by.schema), managers, last, mine.fields, by)
    managers, _ = track(before, after, managers, mine.identifier, by, force=force)
    changed = not equal(before, after, by.schema)
    if mine.identifier in managers:
        stripped = difference(mine.fields, STRIPPED)
        managers[mine.identifier] = replace(mine, fields=stripped, time=by.now if changed else mine.time)
        if not stripped:
            del managers[mine.identifier]
    # Where nothing changed, the live object stays: 2.0 is taken for 2 then.
    return with_managers(after if changed else before, written(managers))


def _checked(wanted: Object, by: Request) -> FieldSet:
    try:
        return checked(wanted, by.schema)
    except TypedError as error:
        raise TypedError(f"failed to create typed patch object ({_named(wanted, by.api_version)}): {error}") from None


def unreadable(wanted: Object, made: Object, schema: Schema, error: object) -> TypedError:
    """The error for an applied object that its Go type refuses, although its schema did not: 500, as it is.

    `made` is what `apply` returned for `wanted`, and `error` what the reader of its kind said about it.
    """
    kind = _named(wanted, wanted.get("apiVersion", "")).partition("; ")[2]
    why = restore_problem(made, schema) or alone(error)
    what = f"unable to convert unstructured object to {kind}: {why}"
    own = wanted.get("apiVersion", "")
    if any(entry.get("apiVersion") != own for entry in _metadata(made).get("managedFields") or ()):
        # It is read for the sake of managers of other versions first.
        return TypedError(f"failed to convert new object: {what}")
    named = _named(wanted, own)
    return TypedError(f"failed to convert new object ({named}) to proper version: {what}")


def _named(obj: Object, api_version: str) -> str:
    """An object as the server names it in errors about types."""
    metadata = _metadata(obj)
    version = api_version if "/" in api_version else f"/{api_version}"
    return f"{metadata.get('namespace') or ''}/{metadata.get('name') or ''}; {version}, Kind={obj.get('kind', '')}"


def _metadata(obj: Object) -> Object:
    metadata = obj.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _existing(live: Object | None, before: Object, by: Request) -> Managers:
    """The managers of the live object; one that was never tracked gets one manager for all it has."""
    if live is None:
        return {}
    try:
        managers = read(live["metadata"].get("managedFields"))
    except EntryError as error:
        raise TypedError(f"failed to decode managed fields: {error}") from None
    if managers:
        return reconciled(managers, before, by)
    nothing = empty_object(by.api_version, live.get("kind", ""), by.schema)
    try:
        return _tracked(nothing, before, {}, replace(by, manager=BEFORE_FIRST_APPLY))
    except ElementError:
        named, why = _named(live, by.api_version), problem_of(before, by.schema)
        what = f"failed to convert new object ({named}) to smd typed: {why}"
        raise TypedError(f"failed to create manager for existing fields: {what}") from None


def update(
    live: Object | None,
    new: Object,
    *,
    compared: Object | None = None,
    schema: Schema,
    manager: str,
    subresource: str = "",
    now: str,
    resets: FieldSet | None = None,
    convert: Convert | None = None,
) -> Object:
    """The new object with its managedFields after a create, update or patch.

    `new` is in the form in which the server would answer it: decoded and defaulted, but before admission and
    before it gets its uid. Its own managedFields count as the real server counts them. An object of which
    nobody tracks the fields stays so until it is applied. `compared` is the new object as it is compared with the
    live one, where that is another form.
    """
    by = request(new, schema=schema, manager=manager, subresource=subresource, now=now, resets=resets, convert=convert)
    managers = _sent(live, new, subresource)
    after = bare(new)
    if not managers and live is not None:
        return after
    if not schema.name and problem_of(after, schema):
        # Custom resources are validated later. The server would rather forget managers than refuse a write here.
        return after
    before = bare(live) if live is not None else empty_object(by.api_version, new.get("kind", ""), by.schema)
    try:
        told = after if compared is None else bare(compared)
        managers = _tracked(before, told, reconciled(managers, before, by), by)
    except (ElementError, TypedError):
        return after
    return with_managers(after, written(capped(managers)))


def _sent(live: Object | None, new: Object, subresource: str) -> Managers:
    """The managers that a request starts from: its own when it has some, else those of the live object."""
    entries = _metadata(new).get("managedFields")
    if not subresource:
        if is_reset(entries):
            return {}
        # Those of the live object are known to be readable, down to the last field.
        known = entries == ((live or {}).get("metadata") or {}).get("managedFields")
        managers = _readable(entries, foreign=not known)
        if managers:
            return managers
    return _readable((live or {}).get("metadata", {}).get("managedFields"))


def _readable(entries: Any, *, foreign: bool = False) -> Managers:
    try:
        return read(entries, foreign=foreign)
    except EntryError:
        return {}


def _tracked(before: Object, after: Object, managers: Managers, by: Request) -> Managers:
    managers, change = track(before, after, managers, None, by, force=True)
    fields = difference(by.kept(change.changed), STRIPPED)
    if not fields:
        return managers
    mine = by.entry("Update", fields, by.now)
    previous = managers.get(mine.identifier)
    managers[mine.identifier] = replace(mine, fields=union(fields, previous.fields)) if previous else mine
    return managers


def settled(live: Object, new: Object) -> Object:
    """The new object, with the live one's managedFields when nothing but their times differs.

    Entries are compared one by one in their order, which times are part of: when a new time moves an entry, the
    object has changed.
    """
    entries = (new.get("metadata") or {}).get("managedFields")
    old = (live.get("metadata") or {}).get("managedFields")
    if not entries or not old or entries == old or _timeless(entries) != _timeless(old):
        return new
    return with_managers(new, old) if same(bare(live), bare(new)) else new


def _timeless(entries: list[Object]) -> list[Object]:
    return [{key: value for key, value in entry.items() if key != "time"} for entry in entries]
