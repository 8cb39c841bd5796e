"""What this process wrote last, for as long as the watch cache has not seen it yet."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.kube.resources import Object


class OwnWrites:
    """Makes a run see the writes of the one before it, however far the watch lags behind.

    Without it a run that follows at once would start from an old status, and take its own earlier write for
    somebody else's. Bounded: of objects that vanish before the cache catches up, the oldest are dropped.
    """

    def __init__(self, *, most: int = 4096) -> None:
        self._most = most
        self._objects: OrderedDict[str, Object] = OrderedDict()

    def __len__(self) -> int:
        return len(self._objects)

    def note(self, obj: Object) -> None:
        """Remember what the server answered to a write."""
        uid = obj["metadata"].get("uid") or ""
        self._objects[uid] = obj
        self._objects.move_to_end(uid)
        if len(self._objects) > self._most:
            self._objects.popitem(last=False)

    def newest(self, cached: Object) -> Object:
        """The cached object, or our own newer version of it."""
        uid = cached["metadata"].get("uid") or ""
        ours = self._objects.get(uid)
        if ours is None:
            return cached
        if _version(cached) >= _version(ours):
            del self._objects[uid]
            return cached
        return ours


def _version(obj: Object) -> int:
    """Kubernetes promises since 1.35 that the versions of one resource can be compared as numbers."""
    version = obj["metadata"].get("resourceVersion") or ""
    return int(version) if version.isdigit() else 0
