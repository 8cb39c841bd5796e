"""Running watch caches in tests, and waiting for what they see."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from penstock.kube import Change, Resource, Settings, WatchCache, connect
from penstock.kube.resources import CONFIG_MAPS

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

T = TypeVar("T")
WITHIN = 10.0


class Witness(Generic[T]):
    """Listens to a cache and remembers, in short, what it was told."""

    def __init__(self, cache: WatchCache[T]) -> None:
        self.cache = cache
        self.told: list[str] = []
        self.changes: list[Change[T]] = []
        self._more = asyncio.Event()
        cache.subscribe(self._note)

    async def _note(self, change: Change[T]) -> None:
        self.changes.append(change)
        self.told.append(f"{change.type} {change.ref.name}")
        self._more.set()

    def value(self, name: str, namespace: str = "default") -> T:
        """What the cache has kept of an object that must be there."""
        found = self.cache.get(name, namespace)
        assert found is not None, f"{namespace}/{name} is not in the cache"
        return found

    async def until(self, *told: str) -> None:
        """Wait until exactly this has been told since the last time; anything else fails at once."""
        expected = list(told)
        try:
            async with asyncio.timeout(WITHIN):
                while self.told != expected:
                    assert self.told == expected[: len(self.told)], f"told {self.told}, expected {expected}"
                    self._more.clear()
                    await self._more.wait()
        except TimeoutError:
            raise AssertionError(f"only {self.told} was told, and not {expected}") from None
        self.told.clear()


@asynccontextmanager
async def following(
    settings: Settings,
    resource: Resource = CONFIG_MAPS,
    *,
    transform: Callable[[Any], Any] | None = None,
    **options: Any,
) -> AsyncGenerator[Witness[Any]]:
    """A cache that runs until the end of the block; it is not waited for."""
    async with connect(settings) as client:
        cache: WatchCache[Any] = WatchCache(client, resource, transform=transform, **options)
        witness = Witness(cache)
        running = asyncio.create_task(cache.run())
        try:
            yield witness
            assert not running.done(), "a cache never ends by itself"
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running


async def eventually(condition: Callable[[], bool], *, within: float = WITHIN) -> None:
    """Wait for something that nobody tells."""
    try:
        async with asyncio.timeout(within):
            while not condition():  # noqa: ASYNC110 - there is no event for it
                await asyncio.sleep(0.002)
    except TimeoutError:
        raise AssertionError("it did not come to that") from None
