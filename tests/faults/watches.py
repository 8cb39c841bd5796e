"""What can be done to the events of a watch."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from tests.faults.rules import WATCHES, Answered, Reset, Rule

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from tests.faults.rules import Call, Where

EXPIRED = {
    "kind": "Status",
    "apiVersion": "v1",
    "status": "Failure",
    "message": "too old resource version: by order",
    "reason": "Expired",
    "code": 410,
}


def is_bookmark(line: bytes) -> bool:
    return bool(json.loads(line)["type"] == "BOOKMARK")


def ends_initial_events(line: bytes) -> bool:
    """The bookmark that closes a streaming list is no ordinary one: without it there is no list."""
    return b"k8s.io/initial-events-end" in line


class _WatchRule(Rule):
    """Counts the events of each watch by itself."""

    def __init__(self, *, events: int = 0, where: Where = WATCHES, **options: Any) -> None:
        super().__init__(where=where, **options)
        self._events = events

    async def _first(self, events: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
        """So many events as the rule lets through."""
        count = self._events
        while count > 0:
            async for line in events:
                yield line
                break
            else:
                return
            count -= 1


class _Drops(_WatchRule):
    async def events(self, events: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
        async for line in self._first(events):
            yield line
        raise Reset


def drops_watches(*, events: int = 0, **options: Any) -> Rule:
    """The connection of a watch is reset after so many events."""
    return _Drops(events=events, **options)


class _Stalls(_WatchRule):
    async def events(self, events: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
        async for line in self._first(events):
            yield line
        await asyncio.Event().wait()


def stalls_watches(*, events: int = 0, **options: Any) -> Rule:
    """A watch goes silent after so many events: the connection is half-open, and nobody says so."""
    return _Stalls(events=events, **options)


class _Repeats(_WatchRule):
    async def events(self, events: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
        async for line in events:
            yield line
            yield line


def repeats_events(**options: Any) -> Rule:
    """Every event comes twice."""
    return _Repeats(**options)


class _Replays(_WatchRule):
    async def events(self, events: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
        told: list[bytes] = []
        async for line in events:
            yield line
            told.append(line)
            if len(told) == self._events:
                for again in told:
                    yield again


def replays_events(*, events: int, **options: Any) -> Rule:
    """After so many events all of them come once more, from the first."""
    return _Replays(events=events, **options)


class _Reorders(_WatchRule):
    async def events(self, events: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
        held: list[bytes] = []
        async for line in events:
            if is_bookmark(line):
                yield line
                continue
            held.append(line)
            if len(held) == self._events:
                for late in reversed(held):
                    yield late
                held.clear()


def reorders_events(*, events: int, **options: Any) -> Rule:
    """Always so many events are held back, and then come in the reverse order."""
    return _Reorders(events=events, **options)


class _Delays(_WatchRule):
    def __init__(self, seconds: float, **options: Any) -> None:
        super().__init__(**options)
        self._seconds = seconds

    async def events(self, events: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
        async for line in events:
            await asyncio.sleep(self._seconds)
            yield line


def delays_events(seconds: float, **options: Any) -> Rule:
    """Every event comes late."""
    return _Delays(seconds, **options)


class _SwallowsBookmarks(_WatchRule):
    async def events(self, events: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
        async for line in events:
            if not is_bookmark(line) or ends_initial_events(line):
                yield line


def swallows_bookmarks(**options: Any) -> Rule:
    """Bookmarks never arrive; the end of a streaming list does."""
    return _SwallowsBookmarks(**options)


class _Expires(_WatchRule):
    def __init__(self, *, as_event: bool, **options: Any) -> None:
        super().__init__(**options)
        self._as_event = as_event

    def strikes(self, call: Call) -> bool:
        # A watch that wants no version in particular cannot be too late.
        return bool(call.query.get("resourceVersion")) and super().strikes(call)

    async def before(self) -> None:
        if not self._as_event:
            raise Answered(410, json.dumps(EXPIRED).encode(), {})

    async def events(self, events: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
        async for line in self._first(events):
            yield line
        yield json.dumps({"type": "ERROR", "object": EXPIRED}).encode() + b"\n"


def expires_watches(*, as_event: bool, events: int = 0, **options: Any) -> Rule:
    """The version to watch from is too old: told as status 410, or as an ERROR event after so many events."""
    return _Expires(as_event=as_event, events=events, **options)


class _GarblesEvents(_WatchRule):
    def __init__(self, garbage: bytes, **options: Any) -> None:
        super().__init__(**options)
        self._garbage = garbage

    async def events(self, events: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
        async for line in self._first(events):
            yield line
        yield self._garbage


def garbles_events(garbage: bytes = b"\x00garbage\n", *, events: int = 0, **options: Any) -> Rule:
    """After so many events something comes that is none, and the watch ends."""
    return _GarblesEvents(garbage, events=events, **options)
