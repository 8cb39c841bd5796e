"""Waiting for an object by watch: what takes 100 ms is seen after 100 ms."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeVar

from penstock.cli import state
from penstock.cli.quiet import silent
from penstock.errors import PenstockError
from penstock.kube import WatchCache

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from penstock.cli.catalogue import Entry
    from penstock.kube import Change, Client, Object

T = TypeVar("T")

DEPENDENCY = "DependencyNotReady"
"""The reason of one that is ready as soon as others are: nothing has failed."""


class Gone(PenstockError):
    """The object was deleted while somebody waited for it."""


class Failed(PenstockError):
    """The object was reconciled, and that failed."""


async def until(
    client: Client, entry: Entry, since: Object, judge: Callable[[Object], T | None], *, within: float
) -> T:
    """What `judge` says of the object, as soon as it says something; `since` is the oldest state that counts."""
    name, namespace = state.name(since), state.namespace(since)
    cache: WatchCache[Object] = WatchCache(client, entry.resource, namespace=namespace, fields=f"metadata.name={name}")
    last = since
    try:
        async with asyncio.timeout(within), following(cache) as changed:
            await cache.synced()
            while True:
                changed.clear()
                found = cache.get(name, namespace)
                if found is None:
                    raise Gone(f"{entry.kind.kind}/{namespace}/{name} was deleted meanwhile")
                last = found
                if state.version(found) >= state.version(since) and (told := judge(found)) is not None:
                    return told
                await changed.wait()
    except TimeoutError:
        trouble = f"; it cannot be watched: {cache.trouble}" if cache.trouble else ""
        raise TimeoutError(
            f"{entry.kind.kind}/{namespace}/{name} is not reconciled after {within:g} s, "
            f"its status says: {state.ready(last).message}{trouble}; does a controller run?"
        ) from None


@asynccontextmanager
async def following(*caches: WatchCache[Object]) -> AsyncGenerator[asyncio.Event]:
    """Run the caches while the body does; the event is set by every change."""
    changed = asyncio.Event()

    async def tell(_change: Change[Object]) -> None:
        changed.set()

    for cache in caches:
        cache.subscribe(tell)
    with silent():
        running = [asyncio.create_task(cache.run()) for cache in caches]
        try:
            yield changed
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)


def finished(obj: Object) -> state.Ready | None:
    """The outcome of the object's present generation, once there is one: True or False.

    What waits for others has none yet. A failure that will be tried again is one: who waits wants to know.
    """
    ready, generation = state.ready(obj), state.at(obj, "metadata", "generation")
    seen = ready.generation or state.at(obj, "status", "observedGeneration")
    if state.condition(obj, "Ready") is None or ready.status not in {"True", "False"} or seen != generation:
        return None
    stalled = state.text(state.condition(obj, "Stalled"), "status") == "True"
    if ready.status == "False" and ready.reason == DEPENDENCY and not stalled:
        return None
    return ready
