"""Leases in memory, as several replicas see them, each through a network of its own that can fail."""

from __future__ import annotations

import asyncio
import copy
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from penstock.kube import Client, Listing, Resource, WatchEvent
from penstock.kube.errors import AlreadyExists, BadRequest, Conflict, NotFound, Status, TimedOut, Unreachable

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

    from penstock.kube import Object


class World:
    """What the API server has stored."""

    def __init__(self) -> None:
        self.version = 1
        self.leases: dict[str, Object] = {}
        self.history: list[tuple[int, WatchEvent]] = []
        self._changed = asyncio.Event()

    def store(self, kind: str, lease: Object) -> Object:
        self.version += 1
        new = copy.deepcopy(lease)
        new["metadata"]["resourceVersion"] = str(self.version)
        self.leases[new["metadata"]["name"]] = new
        self.history.append((self.version, WatchEvent(cast(Any, kind), copy.deepcopy(new))))
        self._changed.set()
        self._changed = asyncio.Event()
        return copy.deepcopy(new)

    def remove(self, name: str) -> Object:
        gone = self.store("DELETED", self.leases[name])
        del self.leases[name]
        return gone

    async def after(self, version: int) -> list[WatchEvent]:
        """What happened since; waits for something to happen."""
        while True:
            changed = self._changed
            if found := self.history[bisect_right(self.history, version, key=lambda entry: entry[0]) :]:
                return [event for _, event in found]
            await changed.wait()

    def holder(self, name: str) -> str:
        return str(self.leases[name]["spec"]["holderIdentity"])


@dataclass
class Network:
    """The way of one replica to the API server; a stand-in of the client with the verbs that leases use."""

    world: World
    latency: float = 0.005
    cut: bool = False
    """Connections are refused."""
    hangs: bool = False
    """Requests are taken and never answered."""
    answer_late: float = 0.0
    """Writes are done at once, but their answer takes so long."""
    deaf: bool = False
    """Watches are half-open: nothing arrives, nothing fails."""
    lag: float = 0.0
    """Seconds by which watches are behind."""
    requests: list[str] = field(default_factory=list[str])

    @property
    def client(self) -> Client:
        return cast(Client, self)

    async def get(self, _resource: Resource, name: str, _namespace: str, **_options: object) -> Object:
        await self._arrive("get")
        if name not in self.world.leases:
            raise NotFound(Status(404, name=name))
        return copy.deepcopy(self.world.leases[name])

    async def create(self, _resource: Resource, obj: Object, **_options: object) -> Object:
        await self._arrive("create")
        if obj["metadata"]["name"] in self.world.leases:
            raise AlreadyExists(Status(409))
        return await self._answered(self.world.store("ADDED", obj))

    async def replace(self, _resource: Resource, obj: Object, **_options: object) -> Object:
        await self._arrive("replace")
        if obj["metadata"]["name"] not in self.world.leases:
            raise NotFound(Status(404))
        known = self.world.leases[obj["metadata"]["name"]]
        if known["metadata"]["resourceVersion"] != obj["metadata"]["resourceVersion"]:
            raise Conflict(Status(409))
        return await self._answered(self.world.store("MODIFIED", obj))

    async def delete(
        self, _resource: Resource, name: str, _namespace: str, *, resource_version: str, **_options: object
    ) -> Object:
        await self._arrive("delete")
        if name not in self.world.leases:
            raise NotFound(Status(404, name=name))
        if self.world.leases[name]["metadata"]["resourceVersion"] != resource_version:
            raise Conflict(Status(409))
        return await self._answered(self.world.remove(name))

    async def pages(self, *_arguments: object, **_options: object) -> AsyncIterator[Listing]:
        await self._arrive("list")
        yield Listing(copy.deepcopy(list(self.world.leases.values())), str(self.world.version))

    async def watch(
        self, *_arguments: object, resource_version: str, quiet: float, initial_events: bool = False, **_options: object
    ) -> AsyncGenerator[WatchEvent]:
        if initial_events:
            raise BadRequest(Status(400))
        await self._arrive("watch")
        version = int(resource_version)
        while True:
            try:
                async with asyncio.timeout(quiet):
                    events = await self.world.after(version)
                    await asyncio.sleep(self.lag)
                    if self.deaf:
                        await asyncio.Event().wait()
            except TimeoutError:
                raise TimedOut("nothing came") from None
            for event in events:
                version = int(event.resource_version)
                yield event

    async def _arrive(self, verb: str) -> None:
        self.requests.append(verb)
        if self.cut:
            raise Unreachable("refused", sent=False)
        await asyncio.sleep(self.latency)
        if self.hangs:
            await asyncio.Event().wait()

    async def _answered(self, lease: Object) -> Object:
        await asyncio.sleep(self.answer_late)
        return lease
