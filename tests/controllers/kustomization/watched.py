"""What the controller of a test knows of its sources.

It watches them by a stream of its own, which may be behind the test's: a run that is asked for right after a change of
the source would build the revision before it.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from penstock.controllers.kustomization.source import KINDS, summary

if TYPE_CHECKING:
    from penstock.kube import Change, Object, WatchCache
    from penstock.runtime import Manager


class Watched:
    """The caches of sources that a manager runs."""

    def __init__(self, namespace: str | None) -> None:
        """`namespace` is the one that is watched; None: all of them."""
        self._namespace = namespace
        self._caches: dict[str, WatchCache[Any]] = {}
        self._changed = asyncio.Event()

    def by(self, manager: Manager) -> Manager:
        """Take note of the caches that the manager is given from now on."""
        add = manager.add_cache

        def noted(cache: WatchCache[Any]) -> None:
            add(cache)
            if cache.resource in KINDS.values():
                self._caches[cache.resource.kind] = cache
                cache.subscribe(self._tell)

        manager.add_cache = noted  # type: ignore[method-assign]
        return manager

    async def until(self, source: Object) -> None:
        """Wait until the controller knows a source as it is here, and has queued whoever builds from it."""
        name, namespace = source["metadata"]["name"], source["metadata"]["namespace"]
        cache = self._caches.get(source["kind"])
        if cache is None or self._namespace not in (None, namespace):
            return
        async with asyncio.timeout(20):
            while cache.get(name, namespace) != summary(source):
                self._changed.clear()
                await self._changed.wait()

    async def _tell(self, _change: Change[Any]) -> None:
        self._changed.set()
