"""What a DELETE does to an object: it goes at once, or it is marked and waits for finalizers or grace."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from penstock.embedded.definitions import mark_deleted

if TYPE_CHECKING:
    from penstock.embedded.server.ports import DeleteOptions, Propagation, ServedResource
    from penstock.kube.resources import Object

ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"
_ENDED = ("Succeeded", "Failed")
_EVENTS = "/events"
_ORPHANING = frozenset({("batch", "Job"), ("", "ReplicationController")})


class Deletion:
    """The rules of the real server, as its storage has them."""

    def delete(self, resource: ServedResource, obj: Object, options: DeleteOptions, now: str) -> Object | None:
        """The object as it stays, or None when nothing holds it."""
        metadata: Object = obj["metadata"]
        if resource.group == "apiextensions.k8s.io" and not metadata.get("deletionTimestamp"):
            return mark_deleted(obj, now)
        finalizers = wanted_finalizers(metadata.get("finalizers") or [], _propagation(resource, metadata, options))
        if resource.kind == "Namespace" and not resource.group:
            return _terminate(obj, finalizers, now)
        grace = _grace(resource, obj, options)
        if not finalizers and not grace:
            if _is_pod(resource):
                _mark(metadata, grace, now)  # it goes at once, but its last sight is that of a marked one
            return None
        _set_finalizers(metadata, finalizers)
        _mark(metadata, grace, now)
        return obj


def _propagation(resource: ServedResource, metadata: Object, options: DeleteOptions) -> Propagation | None:
    """What happens to dependents; Jobs and ReplicationControllers leave theirs behind unless told otherwise."""
    if resource.stored_in == _EVENTS:
        return None  # nothing depends on an event
    if options.propagation is not None or (resource.group, resource.kind) not in _ORPHANING:
        return options.propagation
    # A finalizer that is there already is a wish of its own.
    asked = any(name in (ORPHAN, FOREGROUND) for name in metadata.get("finalizers") or ())
    return None if asked else "Orphan"


def wanted_finalizers(finalizers: list[str], propagation: Propagation | None) -> list[str]:
    """The finalizers after a DELETE: those of the garbage collector follow the last word on propagation."""
    if propagation is None:
        return finalizers
    kept = [name for name in finalizers if name not in (ORPHAN, FOREGROUND)]
    match propagation:
        case "Orphan":
            return [*kept, ORPHAN]
        case "Foreground":
            return [*kept, FOREGROUND]
        case _:
            return kept


def _grace(resource: ServedResource, obj: Object, options: DeleteOptions) -> int:
    """Seconds that the object is given; only pods that run on a node get any."""
    if not _is_pod(resource):
        return 0
    spec, status = obj["spec"], obj.get("status") or {}
    if not spec.get("nodeName") or status.get("phase") in _ENDED:
        return 0
    asked = options.grace_seconds
    seconds: int = asked if asked is not None else spec.get("terminationGracePeriodSeconds", 30)
    if seconds < 0:
        seconds = 1
    left: int | None = obj["metadata"].get("deletionGracePeriodSeconds")
    return seconds if left is None else min(left, seconds)


def _is_pod(resource: ServedResource) -> bool:
    return resource.kind == "Pod" and not resource.group


def _mark(metadata: Object, grace: int, now: str) -> None:
    if not metadata.get("deletionTimestamp"):
        if metadata.get("generation"):
            # Its behaviour changes, so those who follow the generation must look again.
            metadata["generation"] += 1
        metadata["deletionTimestamp"] = _later(now, grace)
        metadata["deletionGracePeriodSeconds"] = grace
        return
    left = metadata.get("deletionGracePeriodSeconds")
    if left is not None and grace < left:
        began = datetime.fromisoformat(metadata["deletionTimestamp"]) - timedelta(seconds=left)
        metadata["deletionTimestamp"] = _stamp(began + timedelta(seconds=grace))
        metadata["deletionGracePeriodSeconds"] = grace


def _terminate(namespace: Object, finalizers: list[str], now: str) -> Object | None:
    """A namespace is marked, and goes when `spec.finalizers` is empty too."""
    metadata = namespace["metadata"]
    _set_finalizers(metadata, finalizers)
    if metadata.get("deletionTimestamp"):
        held = finalizers or (namespace.get("spec") or {}).get("finalizers")
        return namespace if held else None
    metadata["deletionTimestamp"] = now
    namespace["status"] = {**(namespace.get("status") or {}), "phase": "Terminating"}
    return namespace


def _set_finalizers(metadata: Object, finalizers: list[str]) -> None:
    if finalizers:
        metadata["finalizers"] = finalizers
    else:
        metadata.pop("finalizers", None)


def _later(now: str, seconds: int) -> str:
    return now if not seconds else _stamp(datetime.fromisoformat(now) + timedelta(seconds=seconds))


def _stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
