"""A watch cache: what a list and a watch say, kept in memory and told to whoever listens.

It survives what really happens on the way: streams that end, connections that are half-open, versions that
expire, events that come twice or late. An object is reported as deleted only when the server said so, or when a
complete new reading no longer has it; a reading that fails half way changes nothing.
"""

from __future__ import annotations

import asyncio
import random
from collections import OrderedDict
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, cast

import structlog

from penstock.kube.errors import (
    ApiError,
    BadAnswer,
    Expired,
    Forbidden,
    KubeError,
    NotServed,
    TimedOut,
    TooManyRequests,
    Unauthorized,
)
from penstock.kube.resources import Object, ObjectRef, Resource
from penstock.kube.watch import QUIET

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from penstock.kube.client import Client
    from penstock.kube.watch import WatchEvent

T = TypeVar("T")
ChangeType = Literal["added", "modified", "deleted"]

WATCH_SECONDS = (300, 600)
"""How long one watch is asked for; spread, so that a thousand watches do not end together."""

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 30.0
"""Seconds between tries while the server cannot be watched."""

CALM = 5.0
"""A stream that lived this many seconds was a good one: the next is opened at once."""

REMEMBERED = 1024
"""Deletions that are remembered, so that an older event that comes after one cannot undo it."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Change(Generic[T]):
    """One object that came, changed or went."""

    type: ChangeType
    ref: ObjectRef
    old: T | None
    new: T | None


class WatchCache(Generic[T]):
    """The objects of one resource that match a selection, always as new as the stream allows."""

    def __init__(
        self,
        client: Client,
        resource: Resource,
        *,
        namespace: str | None = None,
        labels: str | None = None,
        fields: str | None = None,
        transform: Callable[[Object], T] | None = None,
        metadata_only: bool = False,
        quiet: float = QUIET,
    ) -> None:
        """`transform` keeps what the caller needs of each object; without it, the whole object is kept."""
        self.resource = resource
        self._client = client
        self._namespace = namespace
        self._labels, self._fields = labels, fields
        self._transform = transform or cast("Callable[[Object], T]", lambda obj: obj)
        self._metadata_only = metadata_only
        self._quiet = quiet
        self._entries: dict[tuple[str, str], tuple[int, T]] = {}
        self._handlers: list[Callable[[Change[T]], Awaitable[None]]] = []
        self._synced = asyncio.Event()
        self._version = ""
        self._complete_at = 0
        self._gone: OrderedDict[tuple[str, str], int] = OrderedDict()
        self._silences = 0
        self._streams_lists = True
        self._trouble: KubeError | None = None
        self._told: type[KubeError] | None = None

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: tuple[str, str]) -> bool:
        return key in self._entries

    def get(self, name: str, namespace: str = "") -> T | None:
        entry = self._entries.get((namespace, name))
        return entry[1] if entry else None

    def values(self) -> list[T]:
        return [value for _, value in self._entries.values()]

    @property
    def trouble(self) -> KubeError | None:
        """Why the cache may be behind right now; None while the stream is open."""
        return self._trouble

    @property
    def version(self) -> str:
        """The resourceVersion up to which everything is known."""
        return self._version

    def subscribe(self, handler: Callable[[Change[T]], Awaitable[None]]) -> None:
        """Have `handler` awaited for every change, in order; what is there already comes as added.

        Subscribe before `run`. A handler must be quick: the stream waits for it.
        """
        self._handlers.append(handler)

    async def synced(self) -> None:
        """Wait until the first complete reading is in the cache and all handlers have seen it."""
        await self._synced.wait()

    @property
    def is_synced(self) -> bool:
        return self._synced.is_set()

    async def run(self) -> None:
        """Follow the resource until cancelled; every trouble is waited out and retried."""
        loop = asyncio.get_running_loop()
        pause = FIRST_PAUSE
        while True:
            begun, asked = loop.time(), 0.0
            try:
                if not self._version:
                    await self._read()
                self._trouble = None
                await self._follow()
            except Expired:
                self._version = ""
            except KubeError as error:
                self._doubt(error)
                self._report(error)  # the version is still good, also after a half-open connection
                asked = _asked(error)
            if loop.time() - begun >= CALM and not asked:
                pause, self._told = FIRST_PAUSE, None
                continue
            await asyncio.sleep(max(asked, pause * random.uniform(0.5, 1.0)))  # noqa: S311 - jitter is no secret
            pause = min(LONGEST_PAUSE, pause * 2)

    def _doubt(self, error: KubeError) -> None:
        """Read anew after two watches in a row without a word, not even a bookmark.

        So looks a version from the future, as ours is when the cluster was restored from a backup: a server
        waits for it in silence.
        """
        self._silences = self._silences + 1 if isinstance(error, TimedOut) else 0
        if self._silences >= 2:
            self._version, self._silences = "", 0

    def _report(self, trouble: KubeError) -> None:
        lasting = isinstance(trouble, Unauthorized | Forbidden | NotServed)
        if self._told is not type(trouble):
            tell = log.warning if lasting else log.info
            tell("cannot watch", resource=str(self.resource), error=str(trouble))
        self._trouble, self._told = trouble, type(trouble)

    async def _read(self) -> None:
        """Replace the whole content; nothing changes unless the reading is complete."""
        if self._streams_lists:
            try:
                await self._read_stream()
            except (Unauthorized, Forbidden, NotServed, TooManyRequests):
                raise
            except (ApiError, BadAnswer):
                # A server from before streaming lists; or its etcd cannot, which it says inside the stream.
                self._streams_lists = False
            else:
                return
        await self._read_list()

    async def _read_stream(self) -> None:
        seen: dict[tuple[str, str], tuple[int, T]] = {}
        events = self._client.watch(
            self.resource,
            self._namespace,
            labels=self._labels,
            fields=self._fields,
            metadata_only=self._metadata_only,
            resource_version="",
            initial_events=True,
            seconds=60,
            quiet=self._quiet,
        )
        async with aclosing(events):
            async for event in events:
                if event.initial_end:
                    await self._replace(seen, event.resource_version)
                    return
                if event.type == "DELETED":
                    seen.pop(_key(event.object), None)
                elif event.type != "BOOKMARK":
                    seen[_key(event.object)] = self._entry(event.object)
        raise BadAnswer(f"the streaming list of {self.resource} ended before it was complete")

    async def _read_list(self) -> None:
        seen: dict[tuple[str, str], tuple[int, T]] = {}
        version = ""
        # From the server's memory at first. After an expiry memory may be older than what we have seen already.
        start = None if self._synced.is_set() else "0"
        async for page in self._client.pages(
            self.resource,
            self._namespace,
            labels=self._labels,
            fields=self._fields,
            metadata_only=self._metadata_only,
            resource_version=start,
        ):
            for obj in page.items:
                # Lists leave out what all their items share.
                obj.setdefault("apiVersion", self.resource.api_version)
                obj.setdefault("kind", self.resource.kind)
                seen[_key(obj)] = self._entry(obj)
            version = page.resource_version
        await self._replace(seen, version)

    async def _replace(self, seen: dict[tuple[str, str], tuple[int, T]], version: str) -> None:
        for key in [key for key in self._entries if key not in seen]:
            await self._remove(key)
        for key, (number, value) in seen.items():
            # A complete reading is right even where its versions are lower: the cluster may have been restored.
            if key not in self._entries or self._entries[key][0] != number:
                await self._put(key, number, value)
        self._version, self._complete_at = version, _number(version)
        self._gone.clear()
        self._synced.set()

    async def _follow(self) -> None:
        events = self._client.watch(
            self.resource,
            self._namespace,
            labels=self._labels,
            fields=self._fields,
            metadata_only=self._metadata_only,
            resource_version=self._version,
            seconds=random.randint(*WATCH_SECONDS),  # noqa: S311
            quiet=self._quiet,
        )
        async with aclosing(events):
            async for event in events:
                await self._take(event)

    async def _take(self, event: WatchEvent) -> None:
        self._silences = 0
        match event.type:
            case "BOOKMARK":
                pass
            case "DELETED":
                await self._take_deletion(event)
            case _:
                key, (number, value) = _key(event.object), self._entry(event.object)
                if self._is_news(key, number):
                    await self._put(key, number, value)
        if _number(event.resource_version) > _number(self._version):
            self._version = event.resource_version

    def _is_news(self, key: tuple[str, str], number: int) -> bool:
        """False for what is told twice, or late: it must not bring back what is gone since."""
        if not number:
            return True  # a server whose versions are no numbers: its word has to do
        known = self._entries.get(key)
        seen = known[0] if known else max(self._complete_at, self._gone.get(key, 0))
        return seen < number

    async def _take_deletion(self, event: WatchEvent) -> None:
        key, number = _key(event.object), _number(event.resource_version)
        known = self._entries.get(key)
        # A deletion told late must not remove the object that was created again since.
        if known is not None and number and number < known[0]:
            return
        self._gone[key] = max(number, self._gone.pop(key, 0))
        if len(self._gone) > REMEMBERED:
            self._gone.popitem(last=False)
        await self._remove(key)

    def _entry(self, obj: Object) -> tuple[int, T]:
        return _number((obj.get("metadata") or {}).get("resourceVersion")), self._transform(obj)

    async def _put(self, key: tuple[str, str], number: int, value: T) -> None:
        known = self._entries.get(key)
        self._entries[key] = (number, value)
        old = known[1] if known else None
        await self._tell(Change("modified" if known else "added", self._ref(key), old, value))

    async def _remove(self, key: tuple[str, str]) -> None:
        known = self._entries.pop(key, None)
        if known is not None:
            await self._tell(Change("deleted", self._ref(key), known[1], None))

    async def _tell(self, change: Change[T]) -> None:
        for handler in self._handlers:
            try:
                await handler(change)
            except Exception:
                log.exception("a listener failed", resource=str(self.resource), object=str(change.ref))

    def _ref(self, key: tuple[str, str]) -> ObjectRef:
        namespace, name = key
        return ObjectRef(self.resource.group, self.resource.kind, namespace, name)


async def wait_synced(caches: Iterable[WatchCache[Any]], *, within: float) -> None:
    """Wait for all of them; TimedOut names those that are late, and why."""
    waiting = list(caches)
    try:
        async with asyncio.timeout(within):
            for cache in waiting:
                await cache.synced()
    except TimeoutError:
        late = [cache for cache in waiting if not cache.is_synced]
        told = "; ".join(f"{cache.resource}: {cache.trouble or 'no answer yet'}" for cache in late)
        raise TimedOut(f"the first reading is not complete after {within:.0f}s: {told}") from None


def _key(obj: Object) -> tuple[str, str]:
    metadata = obj.get("metadata") or {}
    return metadata.get("namespace") or "", metadata.get("name") or ""


def _asked(error: KubeError) -> float:
    """Seconds of rest that the server asked for."""
    return min(LONGEST_PAUSE, error.status.retry_after or 0.0) if isinstance(error, ApiError) else 0.0


def _number(version: str | None) -> int:
    """A resourceVersion as a number that can be compared, as Kubernetes promises since 1.35."""
    return int(version) if version and version.isdecimal() and len(version) < 40 else 0
