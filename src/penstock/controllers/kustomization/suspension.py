"""Suspended, since when and until when: the spec says that, two annotations say why and for how long."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from penstock.api.annotations import SUSPEND_REASON, SUSPEND_UNTIL
from penstock.kube.errors import Conflict
from penstock.runtime import After, Done

if TYPE_CHECKING:
    from penstock.api.kustomization import Kustomization
    from penstock.kube import Client, Object, Resource
    from penstock.runtime import Fence, Result

REASON = SUSPEND_REASON
UNTIL = SUSPEND_UNTIL


def is_suspended(kustomization: Kustomization, now: datetime) -> bool:
    """Whether the object is to be left alone now."""
    return kustomization.spec.suspend and not is_over(kustomization, now)


def is_over(kustomization: Kustomization, now: datetime) -> bool:
    """Whether there was an end, and it has come."""
    end = until(kustomization)
    return end is not None and end <= now


def reason(kustomization: Kustomization) -> str:
    """Why, as whoever suspended it wrote down."""
    return kustomization.metadata.annotations.get(REASON, "")


def until(kustomization: Kustomization) -> datetime | None:
    """When the suspension ends by itself; a time that nobody can read never comes."""
    text = kustomization.metadata.annotations.get(UNTIL, "")
    try:
        end = datetime.fromisoformat(text)
    except ValueError:
        return None
    return end if end.tzinfo else end.replace(tzinfo=UTC)


def wake(kustomization: Kustomization, now: datetime) -> Result:
    """When to look again: at the end of the suspension, if it has one."""
    end = until(kustomization)
    return Done() if end is None else After((end - now).total_seconds())


async def lift(client: Client, resource: Resource, obj: Object, *, manager: str, fence: Fence) -> Object:
    """Take a suspension away that is over; the answer is the object as it is then.

    Its end would also end the next one, which knows nothing of it: `flux suspend` writes no annotations. What somebody
    declares by server-side apply, out of Git for example, stays as it is declared.
    """
    metadata = obj["metadata"]
    if any(_declares(entry) for entry in metadata.get("managedFields") or ()):
        return obj
    fence.check()
    change = {
        "metadata": {"resourceVersion": metadata["resourceVersion"], "annotations": {REASON: None, UNTIL: None}},
        "spec": {"suspend": None},
    }
    try:
        return await client.patch(resource, metadata["name"], metadata.get("namespace"), change, manager=manager)
    except Conflict:  # somebody changed it just now; the next run sees what they wrote
        return obj


def _declares(entry: Object) -> bool:
    fields: Object = entry.get("fieldsV1") or {}
    annotations = fields.get("f:metadata", {}).get("f:annotations", {})
    declared = f"f:{UNTIL}" in annotations or "f:suspend" in fields.get("f:spec", {})
    return entry.get("operation") == "Apply" and declared
