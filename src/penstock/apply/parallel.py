"""Some at a time: one task a worker, not one an object, since a set may have tens of thousands."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

Item = TypeVar("Item")
Result = TypeVar("Result")


async def each(items: Sequence[Item], work: Callable[[Item], Awaitable[Result]], *, at_once: int) -> list[Result]:
    """Do the work for every item, so many at once; the results in the order of the items."""
    results: dict[int, Result] = {}
    remaining = iter(enumerate(items))

    async def worker() -> None:
        for number, item in remaining:  # shared: each item goes to whoever is free
            results[number] = await work(item)

    async with asyncio.TaskGroup() as group:
        for _ in range(min(at_once, len(items))):
            group.create_task(worker())
    return [results[number] for number in range(len(items))]
