"""What an object of ours says about itself: ready or not, at which revision, suspended until when, pinned to what.

Raw objects are read as they are: a status that somebody else wrote badly is shown as unknown, and breaks no table.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock.api.annotations import SUSPEND_REASON, SUSPEND_UNTIL

if TYPE_CHECKING:
    from penstock.kube import Object

WAITING = "waiting to be reconciled"

_HASH = re.compile(r"\b[a-f0-9]{40,128}\b")
_SHOWN = 8


class Ready(NamedTuple):
    """The Ready condition, as tables show it."""

    status: str
    message: str
    reason: str = ""
    generation: int = 0
    """The generation that the condition speaks of; 0 when it does not say."""
    since: str = ""


def at(obj: Any, *path: str) -> Any:
    """The value at a path of an object; None when something on the way is not there."""
    for step in path:
        if not isinstance(obj, dict):
            return None
        obj = obj.get(step)
    return obj


def text(obj: Any, *path: str) -> str:
    """The same for texts; empty when there is none."""
    found = at(obj, *path)
    return found if isinstance(found, str) else ""


def name(obj: Object) -> str:
    return text(obj, "metadata", "name")


def namespace(obj: Object) -> str:
    return text(obj, "metadata", "namespace")


def annotation(obj: Object, key: str) -> str:
    return text(obj, "metadata", "annotations", key)


def conditions(obj: Object) -> list[Object]:
    found = at(obj, "status", "conditions")
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def condition(obj: Object, kind: str) -> Object | None:
    """The condition of this type, in whatever case the type is written; the last one counts."""
    found = [one for one in conditions(obj) if text(one, "type").lower() == kind.lower()]
    return found[-1] if found else None


def ready(obj: Object) -> Ready:
    found = condition(obj, "Ready")
    if found is None:
        return Ready("False", WAITING)
    seen = found.get("observedGeneration")
    return Ready(
        text(found, "status"),
        text(found, "message"),
        text(found, "reason"),
        seen if isinstance(seen, int) else 0,
        text(found, "lastTransitionTime"),
    )


def is_suspended(obj: Object, now: datetime | None = None) -> bool:
    """Whether the object is left alone now: a suspension that has an end is over when that has come."""
    if at(obj, "spec", "suspend") is not True:
        return False
    end = suspended_until(obj)
    return end is None or (now or datetime.now(UTC)) < end


def suspended_until(obj: Object) -> datetime | None:
    """When the suspension ends by itself, if there is one and it does. Only Kustomizations have that."""
    if at(obj, "spec", "suspend") is not True:
        return None  # the note may be left over from one that somebody has ended
    told = annotation(obj, SUSPEND_UNTIL) if obj.get("kind") == "Kustomization" else ""
    try:
        end = datetime.fromisoformat(told)
    except ValueError:
        return None
    return end if end.tzinfo else end.replace(tzinfo=UTC)


def moment(time: datetime) -> str:
    """A time as Kubernetes writes it, in UTC."""
    return time.astimezone(UTC).isoformat().replace("+00:00", "Z")


def suspend_reason(obj: Object) -> str:
    """Why the object is suspended, as whoever did it wrote down."""
    if not is_suspended(obj):
        return ""
    return annotation(obj, SUSPEND_REASON)


def shortened(words: str) -> str:
    """The text with every hash cut to eight digits."""
    return _HASH.sub(lambda found: found[0][:_SHOWN], words)


def version(obj: Object) -> int:
    """The resourceVersion as a number that can be compared; 0 when it is none."""
    told = text(obj, "metadata", "resourceVersion")
    return int(told) if told.isdecimal() else 0


def inventory(obj: Object) -> list[str]:
    """The ids of the objects that a Kustomization has applied."""
    entries = at(obj, "status", "inventory", "entries")
    return [text(one, "id") for one in entries if text(one, "id")] if isinstance(entries, list) else []
