"""Watches: what happens from a revision on, sent line by line to a client that may be slow."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from typing import TYPE_CHECKING

import orjson

from penstock.embedded.server.objects import query_version
from penstock.embedded.status import StatusError, expired
from penstock.embedded.storage import Compacted

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from penstock.embedded.server.options import ListOptions
    from penstock.embedded.server.reading import Selection
    from penstock.embedded.server.rendering import Renderer
    from penstock.embedded.storage import Change, ChangeType, Storage

QUEUE_LIMIT = 1_000
"""Events that may wait for one client; a slower one is cut off and lists again."""
QUEUE_BYTES = 16 * 1024 * 1024
BOOKMARK_EVERY = 60.0
TIMEOUT = (1800.0, 3600.0)
"""How long a watch lasts whose client says nothing: a random time between these."""
BATCH = 64 * 1024
INITIAL_END = "k8s.io/initial-events-end"


class Watch:
    """One client's watch: filters changes as they come, and keeps those that were not sent yet."""

    def __init__(self, store: Storage, selection: Selection, renderer: Renderer, options: ListOptions) -> None:
        self._store = store
        self._selection = selection
        self._renderer = renderer
        self._options = options
        self._waiting: deque[bytes] = deque()
        self._bytes = 0
        self._wake = asyncio.Event()
        self._ended = False
        self._seen = 0
        """The newest revision that this client knows of, or that does not concern it."""

    def check(self) -> None:
        """Raise StatusError for what must be refused before the stream begins."""
        version = self._options.resource_version
        if version and not (version.isascii() and version.isdigit()):
            raise query_version(version)
        self._renderer.check_watch()

    async def lines(self) -> AsyncGenerator[bytes]:
        """The events, several a piece when they come fast."""
        first = self._begin()
        end = self._store.subscribe(self._take, (self._selection.resource.stored_in,))
        try:
            await self._store.settle(self._seen)
            deadline = asyncio.get_running_loop().time() + self._lasts()
            yield first
            while (piece := await self._next(deadline)) is not None:
                yield piece
        finally:
            end()

    def _lasts(self) -> float:
        told = self._options.timeout
        return float(told) if told else random.uniform(*TIMEOUT)  # noqa: S311 - spreads reconnects, guards nothing

    def _begin(self) -> bytes:
        """What is sent at once: the present state, or what was missed since a revision."""
        options, store = self._options, self._store
        since = int(options.resource_version or 0)
        initial = options.initial_events
        if initial is None:
            initial = since == 0
        if initial:
            return self._initial()
        self._seen = since or store.revision
        if not since or since > store.revision:
            return b""
        try:
            missed = store.since(self._selection.resource.stored_in, since)
        except Compacted as error:
            return error_line(expired(str(error)))
        for change in missed:
            self._take(change)
        return self._drain()

    def _initial(self) -> bytes:
        store, selection, renderer = self._store, self._selection, self._renderer
        records = store.list(selection.resource.stored_in, selection.namespace)
        self._seen = store.revision
        lines = [
            b'{"type":"ADDED","object":' + renderer.watched(renderer.full(record)) + b"}\n"
            for record in records
            if selection.empty or selection.matches(record)
        ]
        if self._options.initial_events and self._options.bookmarks:
            lines.append(self._bookmark(self._seen, initial_end=True))
        return b"".join(lines)

    def _take(self, change: Change) -> None:
        """Called for every change of the resource, in order."""
        if self._ended or change.revision <= self._seen:
            return
        self._seen = change.revision
        kind = self._kind(change)
        if kind is None:
            return
        line = self._line(change, kind)
        self._waiting.append(line)
        self._bytes += len(line)
        if len(self._waiting) > QUEUE_LIMIT or self._bytes > QUEUE_BYTES:
            self._ended = True
            self._waiting.clear()
        self._wake.set()

    def _kind(self, change: Change) -> ChangeType | None:
        """What the change is to this client: who leaves the selection is deleted, who enters it is added."""
        selection = self._selection
        if selection.namespace and change.record.namespace != selection.namespace:
            return None
        if selection.empty:
            return change.type
        before = change.old is not None and selection.matches(change.old)
        if change.type == "DELETED":
            return "DELETED" if before else None
        now = selection.matches(change.record)
        if now:
            return "MODIFIED" if before else "ADDED"
        return "DELETED" if before else None

    def _line(self, change: Change, kind: ChangeType) -> bytes:
        renderer = self._renderer
        record = change.seen_as(kind)
        if renderer.form == "":
            data = renderer.full(record)
            if data is change.record.data or (data is record.data and record is change.record):
                return change.line(kind)
            return b'{"type":"' + kind.encode() + b'","object":' + data + b"}\n"
        return b'{"type":"' + kind.encode() + b'","object":' + renderer.watched(renderer.full(record)) + b"}\n"

    async def _next(self, deadline: float) -> bytes | None:
        """What to send next; None at the end."""
        loop = asyncio.get_running_loop()
        while not self._waiting:
            left = deadline - loop.time()
            if self._ended or left <= 0:
                return None
            pause = min(left, BOOKMARK_EVERY) if self._options.bookmarks else left
            self._wake.clear()
            try:
                async with asyncio.timeout(pause):
                    await self._wake.wait()
            except TimeoutError:
                if self._options.bookmarks and loop.time() < deadline:
                    return self._bookmark(self._store.durable)
        return self._drain()

    def _drain(self) -> bytes:
        lines: list[bytes] = []
        size = 0
        while self._waiting and size < BATCH:
            line = self._waiting.popleft()
            size += len(line)
            lines.append(line)
        self._bytes -= size
        return b"".join(lines)

    def _bookmark(self, revision: int, *, initial_end: bool = False) -> bytes:
        resource = self._selection.resource
        self._seen = max(self._seen, revision) if not self._waiting else self._seen
        metadata: dict[str, object] = {"resourceVersion": str(revision)}
        if not resource.custom:
            metadata["creationTimestamp"] = None
        if initial_end:
            metadata["annotations"] = {INITIAL_END: "true"}
        obj: dict[str, object] = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata}
        if self._renderer.form == "PartialObjectMetadata":
            obj["kind"] = "PartialObjectMetadata"
            obj["apiVersion"] = f"meta.k8s.io/{self._renderer.accepted.version}"
        return b'{"type":"BOOKMARK","object":' + orjson.dumps(obj) + b"}\n"


def error_line(error: StatusError) -> bytes:
    """A failure inside a watch that has begun."""
    return b'{"type":"ERROR","object":' + orjson.dumps(error.body()) + b"}\n"
