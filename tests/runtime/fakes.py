"""Stand-ins for what the runtime gets from outside."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

from penstock.kube.cache import Change
from penstock.kube.resources import GroupKind, Resource

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from penstock.kube.cache import ChangeType, WatchCache
    from penstock.kube.resources import Object, ObjectRef

KIND = GroupKind("kustomize.toolkit.fluxcd.io", "Kustomization")


class FakeCache:
    """A watch cache whose changes the test makes up."""

    def __init__(self, *, synced: bool = True) -> None:
        self.resource = Resource(KIND.group, "v1", "kustomizations", KIND.kind)
        self.trouble = None
        self.handlers: list[Callable[[Change[Object]], Awaitable[None]]] = []
        self.complete = asyncio.Event()
        if synced:
            self.complete.set()
        self.running = False
        self.failure: Exception | None = None

    def subscribe(self, handler: Callable[[Change[Object]], Awaitable[None]]) -> None:
        self.handlers.append(handler)

    async def tell(
        self, kind: ChangeType, ref: ObjectRef, old: Object | None = None, new: Object | None = None
    ) -> None:
        for handler in self.handlers:
            await handler(Change(kind, ref, old, new))

    async def run(self) -> None:
        self.running = True
        try:
            if self.failure:
                raise self.failure
            await asyncio.Event().wait()
        finally:
            self.running = False

    async def synced(self) -> None:
        await self.complete.wait()

    @property
    def is_synced(self) -> bool:
        return self.complete.is_set()

    @property
    def real(self) -> WatchCache[Any]:
        return cast("WatchCache[Any]", self)
