"""Kubernetes Events: told off the reconcile path, de-duplicated, and never in the way.

The rules are those of the standard recorder: the same event again raises a count; more than ten that differ only
in their text within ten minutes become one; an object may burst to 25 and then gets one every five minutes. The
queue is bounded: when the API server is away, the oldest are dropped and counted, and no reconcile waits.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

import structlog

from penstock.kube.errors import KubeError, NotFound
from penstock.kube.resources import EVENTS, Object, ObjectRef

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from penstock.kube.client import Client

EventType = Literal["Normal", "Warning"]

QUEUE = 5000
"""Events that wait, about a kilobyte each: two for each of some thousand objects that change at once."""
REMEMBERED = 4096
"""Objects and texts that are remembered for de-duplication, the least recently used forgotten first."""

SIMILAR, SIMILAR_WITHIN = 10, 600.0
BURST, REFILL = 25, 300.0
LONGEST_NAME = 253 - 17
LONGEST_MESSAGE = 1024
"""What the API server accepts as the note of an event."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Event:
    """Something worth telling about an object."""

    involved: Object
    """An object reference: apiVersion, kind, namespace, name, uid, resourceVersion."""
    type: EventType
    reason: str
    message: str
    annotations: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def ref(self) -> ObjectRef:
        return ObjectRef.of({**self.involved, "metadata": self.involved})


def reference(obj: Object) -> Object:
    """How an event points at an object."""
    metadata = obj.get("metadata") or {}
    told = {name: metadata.get(name) for name in ("namespace", "name", "uid", "resourceVersion")}
    return {"apiVersion": obj.get("apiVersion"), "kind": obj.get("kind")} | {k: v for k, v in told.items() if v}


@dataclass(slots=True)
class _Series:
    """One text about one object, already stored as one Event."""

    name: str
    namespace: str
    count: int
    first: str


@dataclass(slots=True)
class _Bucket:
    """What one object may still say."""

    tokens: float = BURST
    filled_at: float = 0.0
    similar: dict[tuple[str, str], tuple[float, set[str]]] = field(
        default_factory=dict[tuple[str, str], tuple[float, set[str]]]
    )
    """By type and reason: when the count began, and the different texts since."""

    def spend(self, now: float) -> bool:
        self.tokens = min(BURST, self.tokens + (now - self.filled_at) / REFILL)
        self.filled_at = now
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True

    def too_similar(self, event: Event, now: float) -> bool:
        key = (event.type, event.reason)
        since, texts = self.similar.get(key, (now, set[str]()))
        if now - since > SIMILAR_WITHIN:
            since, texts = now, set[str]()
        self.similar[key] = (since, texts)
        if event.message in texts:
            return False
        if len(texts) >= SIMILAR:
            return True
        texts.add(event.message)
        return False


class Recorder:
    """Takes events at once and posts them when it can."""

    def __init__(
        self,
        client: Client,
        *,
        component: str,
        instance: str,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._client = client
        self._component, self._instance = component, instance
        self._now = now
        self._queue: deque[Event] = deque()
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._buckets: OrderedDict[ObjectRef, _Bucket] = OrderedDict()
        self._series: OrderedDict[tuple[object, ...], _Series] = OrderedDict()
        self.dropped = 0

    def record(self, event: Event) -> None:
        """Take note; never waits, never raises."""
        if len(self._queue) >= QUEUE:
            self._queue.popleft()
            self.dropped += 1
        self._queue.append(event)
        self._idle.clear()
        self._wake.set()

    async def run(self) -> None:
        """Post what is recorded, until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._queue:
                await self._deliver(self._queue.popleft())
            self._idle.set()

    async def flush(self, *, within: float) -> None:
        """Wait until everything recorded so far is posted, but no longer than `within` seconds."""
        try:
            async with asyncio.timeout(within):
                await self._idle.wait()
        except TimeoutError:
            log.warning("events were left behind", count=len(self._queue))

    async def _deliver(self, event: Event) -> None:
        now = asyncio.get_running_loop().time()
        bucket = _recall(self._buckets, event.ref, _Bucket)
        message = event.message[:LONGEST_MESSAGE]
        if bucket.too_similar(event, now):
            message = f"(combined from similar events): {message}"[:LONGEST_MESSAGE]
            key: tuple[object, ...] = (event.ref, event.type, event.reason)
        else:
            key = (event.ref, event.type, event.reason, message, tuple(sorted(event.annotations.items())))
        if not bucket.spend(now):
            self.dropped += 1
            return
        try:
            await self._store(event, message, key)
        except KubeError as error:
            self.dropped += 1
            log.info("an event could not be posted", object=str(event.ref), reason=event.reason, error=str(error))

    async def _store(self, event: Event, message: str, key: tuple[object, ...]) -> None:
        moment = self._now().strftime("%Y-%m-%dT%H:%M:%SZ")
        known = self._series.get(key)
        if known is not None:
            self._series.move_to_end(key)
            body = {"count": known.count + 1, "lastTimestamp": moment, "message": message}
            try:
                await self._client.patch(EVENTS, known.name, known.namespace, body)
            except NotFound:
                pass  # events live for an hour
            else:
                known.count += 1
                return
        new = self._object(event, message, moment)
        await self._client.create(EVENTS, new)
        self._series[key] = _Series(new["metadata"]["name"], new["metadata"]["namespace"], 1, moment)
        if len(self._series) > REMEMBERED:
            self._series.popitem(last=False)

    def _object(self, event: Event, message: str, moment: str) -> Object:
        namespace = event.ref.namespace or "default"
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {
                "name": f"{event.ref.name[:LONGEST_NAME]}.{secrets.token_hex(8)}",
                "namespace": namespace,
                "annotations": dict(event.annotations),
            },
            "involvedObject": event.involved,
            "type": event.type,
            "reason": event.reason,
            "message": message,
            "source": {"component": self._component},
            "reportingComponent": self._component,
            "reportingInstance": self._instance,
            "firstTimestamp": moment,
            "lastTimestamp": moment,
            "count": 1,
        }


def _recall(table: OrderedDict[ObjectRef, _Bucket], key: ObjectRef, make: Callable[[], _Bucket]) -> _Bucket:
    if key not in table:
        table[key] = make()
        if len(table) > REMEMBERED:
            table.popitem(last=False)
    table.move_to_end(key)
    return table[key]
