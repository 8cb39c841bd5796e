"""Objects of any kind that Kustomizations wait for: each is watched for as long as somebody waits."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import TYPE_CHECKING

from penstock.kube import WatchCache

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.controllers.kustomization.dependencies import Target
    from penstock.kube import Change, Client, Object, ObjectRef, Resource

MOST = 200
"""Watches at once; who comes later is looked after at the interval for dependencies."""


class Awaited:
    """Wakes Kustomizations when an object that they wait for changes.

    A watch tells only that something happened. What a Kustomization may know of the object is decided by its own
    rights, in its own run.
    """

    def __init__(self, client: Client, wake: Callable[[ObjectRef, ObjectRef], None]) -> None:
        self._client = client
        self._wake = wake
        self._waiting: defaultdict[Target, set[ObjectRef]] = defaultdict(set)
        self._watches: dict[Target, asyncio.Task[None]] = {}
        self._group: asyncio.TaskGroup | None = None

    async def run(self) -> None:
        """Keep the watches until cancelled."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            await asyncio.get_running_loop().create_future()

    def watch(self, key: ObjectRef, target: Target, resource: Resource) -> None:
        """Wake `key` when the target changes."""
        self._waiting[target].add(key)
        if target in self._watches or self._group is None or len(self._watches) >= MOST:
            return
        self._watches[target] = self._group.create_task(self._follow(target, resource))

    def forget(self, key: ObjectRef) -> None:
        """Nothing is awaited by this one any more."""
        for target in [target for target, keys in self._waiting.items() if key in keys]:
            self._waiting[target].discard(key)
            if not self._waiting[target]:
                del self._waiting[target]
                if task := self._watches.pop(target, None):
                    task.cancel()

    async def _follow(self, target: Target, resource: Resource) -> None:
        cache: WatchCache[Object] = WatchCache(
            self._client,
            resource,
            namespace=target.namespace or None,
            fields=f"metadata.name={target.name}",
        )

        async def changed(change: Change[Object]) -> None:
            for key in list(self._waiting.get(target, ())):
                self._wake(key, change.ref)

        cache.subscribe(changed)
        await cache.run()
