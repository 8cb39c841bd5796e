"""The sources and Kustomizations of a cluster, followed by watch until they have settled."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from penstock.cli.up.first import ask
from penstock.cli.up.state import State
from penstock.cli.up.workloads import RESOURCES as WORKLOADS
from penstock.cli.up.workloads import cache as workload_cache
from penstock.controllers.kustomization.parts import KUSTOMIZATIONS
from penstock.controllers.kustomization.source import KINDS
from penstock.kube import WatchCache

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from penstock.kube import Change, Client, Object

    Show = Callable[[State], Awaitable[None]]

RESOURCES = (KUSTOMIZATIONS, *KINDS.values())
"""Kustomizations first: a source that is created while the others are listed is then seen, and not thought missing."""


class Watching:
    """Knows the present state, and tells of every change."""

    def __init__(self, client: Client, *, workloads: bool = False) -> None:
        """With `workloads`, what Kustomizations brought is followed too, as far as it runs pods."""
        self._client = client
        self._workloads = [workload_cache(client, one) for one in WORKLOADS] if workloads else []
        self._caches: list[WatchCache[Object]] = [WatchCache(client, resource) for resource in RESOURCES]
        self._changed = asyncio.Event()
        self._asked = 0

    @classmethod
    @asynccontextmanager
    async def open(cls, client: Client, *, workloads: bool = False) -> AsyncGenerator[Watching]:
        """Watch until the end of the block."""
        watching = cls(client, workloads=workloads)
        caches: list[WatchCache[Any]] = [*watching._caches, *watching._workloads]
        async with asyncio.TaskGroup() as group:
            for cache in caches:
                cache.subscribe(watching._saw)
            tasks = [group.create_task(cache.run()) for cache in caches]
            try:
                yield watching
            finally:
                for task in tasks:
                    task.cancel()

    @property
    def state(self) -> State:
        return State.of(
            (obj for cache in self._caches for obj in cache.values()),
            (workload for cache in self._workloads for workload in cache.values()),
        )

    async def follow(self, show: Show, *, pause: float = 0.1) -> None:
        """Show the state after every change, at most once a pause of so many seconds, until cancelled."""
        while True:
            self._changed.clear()
            await show(self.state)
            await self._changed.wait()
            await asyncio.sleep(pause)

    async def until_settled(self, show: Show) -> State:
        """Wait until nothing changes by itself any more; what failed is asked to run again while that brings more.

        A Kustomization may have failed only because another, which it does not name, was not there yet.
        """
        best = -1
        while True:
            state = await self._settled(show)
            failed = [item for item in state.items if item.worth_asking]
            if not failed or state.ready <= best:
                return state
            best = state.ready
            self._asked += 1
            for item in failed:
                await ask(self._client, KUSTOMIZATIONS, item.ref, f"again-{self._asked}-{time.time():.3f}")

    async def _settled(self, show: Show) -> State:
        while True:
            self._changed.clear()
            state = self.state
            await show(state)
            if state.is_settled:
                # Each watch has its own delay: whether it is really over, only a fresh look can tell.
                fresh = await self._look()
                if fresh.is_settled:
                    await show(fresh)
                    return fresh
            await self._changed.wait()

    async def _look(self) -> State:
        found: list[Object] = []
        for resource in RESOURCES:
            found += (await self._client.list(resource)).items
        return State.of(found)

    async def _saw(self, _change: Change[Any]) -> None:
        self._changed.set()
