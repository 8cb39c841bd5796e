"""Brings what was sent into the form of its kind, defaults included, and finds the rules for a write of it."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, cast

from penstock.embedded.fields import unreadable
from penstock.embedded.kinds import Rules as KindRules
from penstock.embedded.kinds import rules as kind_rules
from penstock.embedded.kinds.decode import DecodeError
from penstock.embedded.server import objects
from penstock.embedded.server.ports import Rules, ServedResource
from penstock.embedded.status import bad_request, plain_error

if TYPE_CHECKING:
    from penstock.kube.resources import Object


def rules_of(resource: ServedResource) -> Rules:
    """The rules of a resource, custom or built in."""
    if resource.rules is not None:
        return resource.rules()
    return cast(Rules, kind_rules(resource.group, resource.kind))


def read(resource: ServedResource, obj: Object) -> Rules:
    """Bring a whole object into the form of its kind, in place; the rules for this write."""
    objects.check_metadata_shape(obj, resource)
    try:
        return shaped(resource, obj)
    except DecodeError as error:
        version = str(obj.get("apiVersion", "")).rpartition("/")[2]
        raise bad_request(
            f'{obj["kind"]} in version "{version}" cannot be handled as a {resource.kind}: {error}'
        ) from error


def read_applied(resource: ServedResource, wanted: Object, obj: Object) -> Rules:
    """The same for what an apply of `wanted` made."""
    schema = resource.schema()
    made = copy(obj)
    try:
        return shaped(resource, obj, applied=True)
    except DecodeError as error:
        why = error if schema is None else unreadable(wanted, made, schema, error)
        raise plain_error(str(why)) from error


def shaped(resource: ServedResource, obj: Object, *, applied: bool = False) -> Rules:
    """The same for anything; `DecodeError` when it does not fit."""
    rules = rules_of(resource)
    metadata = obj.get("metadata")
    forgets = not resource.custom and isinstance(metadata, dict) and metadata.get("managedFields") == []
    if not resource.custom:
        rules = cast(Rules, cast(KindRules, rules).reading(obj))
    if applied:
        getattr(rules, "default_applied", rules.default)(obj)
    else:
        rules.default(obj)
    if forgets:
        # What is empty is gone by now, but this one is a wish: that nobody manages anything.
        obj["metadata"]["managedFields"] = []
    return rules
