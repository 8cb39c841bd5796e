"""Which changes of an object are worth a run, for caches that keep whole objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.runtime.line import Priority

if TYPE_CHECKING:
    from penstock.kube.cache import Change
    from penstock.kube.resources import Object

REQUESTED_AT = "reconcile.fluxcd.io/requestedAt"


def spec_changed(change: Change[Object]) -> bool:
    """It came, it goes, its generation changed, or a person asked for a run. A new status is no reason."""
    if change.type != "modified":
        return True
    return _metadata(change.old).get("generation") != _metadata(change.new).get("generation") or asked(change)


def asked(change: Change[Object]) -> bool:
    """The annotation by which a person asks for a run is there, and is new or another one than before."""
    wish = _wish(change.new)
    return wish is not None and change.type == "modified" and wish != _wish(change.old)


def urgency(change: Change[Object]) -> Priority:
    """How soon the object should run: at once for a person, as a new revision otherwise."""
    return Priority.ASKED if asked(change) else Priority.REVISION


def _wish(obj: Object | None) -> str | None:
    return (_metadata(obj).get("annotations") or {}).get(REQUESTED_AT)


def _metadata(obj: Object | None) -> dict[str, Any]:
    return (obj or {}).get("metadata") or {}
