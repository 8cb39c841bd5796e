"""What no write may do, whatever its kind: versions and uids of other objects, another kind, broken rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.embedded.server import deleting, objects
from penstock.embedded.status import StatusCause, invalid, modified

if TYPE_CHECKING:
    from penstock.embedded.server.ports import Rules, ServedResource
    from penstock.embedded.server.targets import Target
    from penstock.embedded.storage import Record
    from penstock.kube.resources import Object


def may_create(target: Target, rules: Rules) -> bool:
    """Whether an update of what is not there creates it; for such kinds one of the status does so too."""
    return target.subresource in ("", "status") and getattr(rules, "create_on_update", False)


def check_uid(target: Target, metadata: Object, old: Object | None) -> None:
    """409 when what was sent has the uid of another object."""
    uid = old["metadata"].get("uid", "") if old is not None else ""
    if not metadata.get("uid") or metadata["uid"] == uid:
        return
    key = objects.registry_key(target.resource, target.namespace, target.name)
    if target.options.dry_run:
        key = key.removeprefix("/registry")
    raise deleting.uid_conflict(target.resource, target.name, key, metadata["uid"], uid)


def check_version(target: Target, rules: Rules, obj: Object, record: Record) -> None:
    """409 when what was sent was made of another version of the object."""
    resource = target.resource
    told = objects.parse_version(obj["metadata"].get("resourceVersion") or "")
    if told == record.revision:
        return
    if told:
        raise modified(resource.plural, target.name, group=resource.group)
    if getattr(rules, "unconditional_update", True):
        return
    message = "Invalid value: 0: must be specified for an update"
    cause = StatusCause("FieldValueInvalid", message, "metadata.resourceVersion")
    raise invalid(resource.plural, target.name, (cause,), group=resource.group)


def drop_version(target: Target, metadata: Object) -> None:
    """What is new has no version yet, whatever its writer believes; a dry run leaves it as it is."""
    objects.parse_version(metadata.get("resourceVersion") or "")
    if not target.options.dry_run:
        metadata.pop("resourceVersion", None)


def raise_problems(resource: ServedResource, told: Object, problems: Any) -> None:
    """422 when the rules of the kind found something; a custom object is called what it `told` its kind was."""
    if not problems:
        return
    name = told["metadata"].get("name") or ""
    if resource.custom:
        raise invalid(told["kind"], name, problems, group=told["apiVersion"].rpartition("/")[0])
    raise invalid(resource.kind, name, problems, group=resource.home)
