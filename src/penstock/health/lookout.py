"""Keeps an eye on single objects: what each looks like now, by list and watch, as long as somebody waits.

Where the identity may not list or watch, the objects are asked for one by one.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from penstock.kube.errors import ApiError, BadRequest, Expired, Forbidden, KubeError, NotFound, NotServed
from penstock.kube.resources import GroupKind, ObjectRef

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable

    from penstock.kube import Client, Object, Resource

FEW = 4
"""Up to this many objects of a kind in a namespace are watched one by one; more, and all of the kind are."""

WATCHES = 64
"""Watches that one lookout holds open; what is beyond is asked for every now and then."""

POLL = 5.0
"""Seconds between two questions about objects that cannot be watched."""

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
"""Seconds between two tries after an error: doubled from the first to the longest."""


@dataclass(frozen=True, slots=True)
class Sight:
    """How an object looks: itself, or None when it is not there; with `error`, nobody knows."""

    obj: Object | None = None
    error: KubeError | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """Objects of one kind that one request can tell of."""

    kind: GroupKind
    namespace: str
    refs: dict[str, ObjectRef] = field(default_factory=dict[str, ObjectRef])
    """The objects meant, by name; without any, everything that the labels select."""
    labels: str = ""

    @property
    def fields(self) -> str | None:
        """A field selector, where a single object is meant."""
        return f"metadata.name={next(iter(self.refs))}" if len(self.refs) == 1 else None

    def ref(self, obj: Object) -> ObjectRef | None:
        """The object as it is known here; None for one that is not meant."""
        metadata = obj.get("metadata") or {}
        if self.labels:
            return ObjectRef(*self.kind, metadata.get("namespace") or "", metadata["name"])
        return self.refs.get(metadata.get("name") or "")


def selections(refs: Iterable[ObjectRef]) -> list[Selection]:
    """Few objects of a kind in a namespace one by one, many of them together."""
    together: dict[tuple[GroupKind, str], dict[str, ObjectRef]] = {}
    for ref in refs:
        together.setdefault((ref.group_kind, ref.namespace), {})[ref.name] = ref
    found: list[Selection] = []
    for (kind, namespace), named in together.items():
        parts = [{name: ref} for name, ref in named.items()] if len(named) <= FEW else [named]
        found += [Selection(kind, namespace, part) for part in parts]
    return found


@asynccontextmanager
async def open_lookout(client: Client) -> AsyncGenerator[Lookout]:
    """A lookout whose watches end with the block. Nothing is raised inside of it but cancellation."""
    async with asyncio.TaskGroup() as group:
        one = Lookout(client, group)
        try:
            yield one
        finally:
            one.close()


class Lookout:
    """The present look of some objects, and a bell that rings when one changes."""

    def __init__(self, client: Client, group: asyncio.TaskGroup) -> None:
        self._client = client
        self._group = group
        self._tasks: list[asyncio.Task[None]] = []
        self._sights: dict[ObjectRef, Sight] = {}
        self._selected: dict[tuple[str, str], dict[ObjectRef, Object]] = {}
        self._versions: dict[Selection, str] = {}
        self._watching = 0
        self._bell = asyncio.Event()
        self.changed: set[ObjectRef] = set()
        """What looks different since somebody last emptied this."""

    def sight(self, ref: ObjectRef) -> Sight | None:
        """How the object looks; None before the first look."""
        return self._sights.get(ref)

    def pods(self, namespace: str, labels: str) -> list[Object]:
        """The pods with these labels; from the first question on they are followed, and until seen there are none."""
        key = (namespace, labels)
        if key not in self._selected:
            self._selected[key] = {}
            self._start(Selection(GroupKind("", "Pod"), namespace, labels=labels))
        return list(self._selected[key].values())

    async def look(self, refs: Iterable[ObjectRef]) -> list[Selection]:
        """Look at all of them once, now; errors are part of what is seen."""
        chosen = selections(refs)
        async with asyncio.TaskGroup() as group:
            for selection in chosen:
                group.create_task(self._first_look(selection))
        return chosen

    def follow(self, chosen: Iterable[Selection]) -> None:
        """Keep looking at what was looked at, from there on."""
        for selection in chosen:
            self._start(selection)

    async def rings(self, within: float) -> None:
        """Wait until something changed, or for so many seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                await self._bell.wait()
        self._bell.clear()

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()

    def _start(self, selection: Selection) -> None:
        self._tasks.append(self._group.create_task(self._follow(selection)))

    async def _first_look(self, selection: Selection) -> None:
        try:
            self._versions[selection] = await self._read(await self._resource(selection), selection)
        except (Forbidden, BadRequest):
            await self._ask(selection)
        except KubeError as error:
            self._doubt(selection, error)

    async def _follow(self, selection: Selection) -> None:
        """List and watch, again and again. Ends only by being cancelled."""
        pause = FIRST_PAUSE
        loop = asyncio.get_running_loop()
        while True:
            begun = loop.time()
            try:
                await self._stream(selection)
            except Expired:
                pass  # the next round lists again
            except (Forbidden, BadRequest) as error:
                if selection.labels:
                    self._doubt(selection, error)
                await self._poll(selection)
            except NotServed as error:
                self._doubt(selection, error)
                await self._rediscover()
            except KubeError as error:
                self._doubt(selection, error)
            pause = FIRST_PAUSE if loop.time() - begun > LONGEST_PAUSE else min(2 * pause, LONGEST_PAUSE)
            await asyncio.sleep(pause)

    async def _stream(self, selection: Selection) -> None:
        if self._watching >= WATCHES and not selection.labels:
            await self._poll(selection)
        resource = await self._resource(selection)
        version = self._versions.pop(selection, None) or await self._read(resource, selection)
        self._watching += 1
        try:
            await self._watch(resource, selection, version)
        finally:
            self._watching -= 1

    async def _resource(self, selection: Selection) -> Resource:
        return await self._client.discovery.find(*selection.kind)

    async def _rediscover(self) -> None:
        """The kind may have moved to another version."""
        with suppress(KubeError):
            await self._client.discovery.refresh()

    async def _read(self, resource: Resource, selection: Selection) -> str:
        listing = await self._client.list(
            resource, selection.namespace or None, labels=selection.labels or None, fields=selection.fields
        )
        found: dict[ObjectRef, Object] = {}
        for obj in listing.items:
            if ref := selection.ref(obj):
                # Lists leave out what all their items share.
                found[ref] = {"apiVersion": resource.api_version, "kind": resource.kind, **obj}
        if selection.labels:
            self._selected[selection.namespace, selection.labels] = found
            self._tell(*found)
        for ref in selection.refs.values():
            self._see(ref, Sight(found.get(ref)))
        return listing.resource_version

    async def _watch(self, resource: Resource, selection: Selection, version: str) -> None:
        events = self._client.watch(
            resource,
            selection.namespace or None,
            labels=selection.labels or None,
            fields=selection.fields,
            resource_version=version,
        )
        async with aclosing(events):
            async for event in events:
                if event.type == "BOOKMARK" or (ref := selection.ref(event.object)) is None:
                    continue
                obj = None if event.type == "DELETED" else event.object
                if not selection.labels:
                    self._see(ref, Sight(obj))
                    continue
                pods = self._selected[selection.namespace, selection.labels]
                if obj is None:
                    pods.pop(ref, None)
                else:
                    pods[ref] = obj
                self._tell(ref)

    async def _poll(self, selection: Selection) -> None:
        while True:
            await asyncio.sleep(POLL)
            await self._ask(selection)

    async def _ask(self, selection: Selection) -> None:
        """Get the objects one by one, which needs the least rights."""
        for name, ref in selection.refs.items():
            try:
                resource = await self._resource(selection)
                self._see(ref, Sight(await self._client.get(resource, name, selection.namespace or None)))
            except NotServed as error:
                self._see(ref, Sight(error=error))
            except NotFound:
                self._see(ref, Sight())
            except KubeError as error:
                self._see(ref, Sight(error=error))

    def _doubt(self, selection: Selection, error: KubeError) -> None:
        if isinstance(error, ApiError) and selection.labels:
            self._selected[selection.namespace, selection.labels] = {}
        for ref in selection.refs.values():
            self._see(ref, Sight(error=error))

    def _see(self, ref: ObjectRef, sight: Sight) -> None:
        self._sights[ref] = sight
        self._tell(ref)

    def _tell(self, *refs: ObjectRef) -> None:
        self.changed.update(refs)
        self._bell.set()
