"""The rules of deletion that hold whatever plugs in: preconditions, and when an object really goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.embedded.status import StatusError, conflict

if TYPE_CHECKING:
    from penstock.embedded.server.ports import DeleteOptions, ServedResource
    from penstock.kube.resources import Object


def check_preconditions(resource: ServedResource, name: str, options: DeleteOptions, old: Object) -> None:
    """409 when the stored object is not the one that was meant."""
    metadata = old["metadata"]
    uid, version = metadata.get("uid", ""), metadata.get("resourceVersion", "")
    if options.uid and options.uid != uid:
        why = (
            f"the UID in the precondition ({options.uid}) does not match the UID in record ({uid}). "
            "The object might have been deleted and then recreated"
        )
        raise conflict(resource.kind, name, why, group=resource.home)
    if options.resource_version and options.resource_version != version:
        why = (
            f"the ResourceVersion in the precondition ({options.resource_version}) does not match the ResourceVersion "
            f"in record ({version}). The object might have been modified"
        )
        raise conflict(resource.kind, name, why, group=resource.home)


def uid_conflict(resource: ServedResource, name: str, key: str, told: str, actual: str) -> StatusError:
    """An update that names another object's uid; the real server says where it keeps the object."""
    why = (
        f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: "
        f"Precondition failed: UID in precondition: {told}, UID in object meta: {actual}"
    )
    return conflict(resource.plural, name, why, group=resource.group)


def goes(resource: ServedResource, obj: Object) -> bool:
    """Whether an update took away the last thing that kept a deleted object."""
    metadata = obj["metadata"]
    if not metadata.get("deletionTimestamp") or metadata.get("finalizers"):
        return False
    if metadata.get("deletionGracePeriodSeconds"):
        return False
    if resource.kind == "Namespace" and not resource.group:
        return not (obj.get("spec") or {}).get("finalizers")
    return True


def marked(obj: Object, now: str) -> Object | None:
    """An object with finalizers, marked as deleted; None when nothing keeps it."""
    metadata = obj["metadata"]
    if not metadata.get("finalizers"):
        return None
    if not metadata.get("deletionTimestamp"):
        metadata["deletionTimestamp"] = now
        metadata["deletionGracePeriodSeconds"] = 0
    return obj
