"""The store: objects in memory, one revision counter, subscribers, and the way to disk."""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_left, insort
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import orjson

from penstock.embedded.storage.history import Compacted, History, Retention
from penstock.embedded.storage.log import Entry, Log, StorageError
from penstock.embedded.storage.records import Change, Record, labels_of
from penstock.errors import PenstockError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from penstock.kube.resources import Object

Records = list[Record]
Changes = list[Change]

__all__ = ["Compacted", "Retention", "Stale", "Storage", "StorageError"]


class Stale(PenstockError):
    """The object is not (or no longer) at the revision that the writer expected."""


class Collection:
    """The objects of one resource, by key and in order."""

    __slots__ = ("keys", "records")

    def __init__(self) -> None:
        self.records: dict[str, Record] = {}
        self.keys: list[str] = []

    def put(self, record: Record) -> Record | None:
        key = record.key
        old = self.records.get(key)
        if old is None:
            insort(self.keys, key)
        self.records[key] = record
        return old

    def drop(self, key: str) -> Record:
        del self.keys[bisect_left(self.keys, key)]
        return self.records.pop(key)

    def within(self, namespace: str) -> list[Record]:
        """In the order of their keys; all of them when no namespace is named."""
        if not namespace:
            return [self.records[key] for key in self.keys]
        first = bisect_left(self.keys, f"{namespace}/")
        end = bisect_left(self.keys, f"{namespace}0")  # '0' follows '/'
        return [self.records[key] for key in self.keys[first:end]]


class Storage:
    """Everything the server knows. Use `await open()` before and `await close()` after."""

    def __init__(
        self,
        folder: Path | None = None,
        *,
        fsync: bool = False,
        retention: Retention | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._log = Log(folder, fsync=fsync) if folder is not None else None
        self._writer: ThreadPoolExecutor | None = None
        self._collections: dict[str, Collection] = {}
        self._history = History(retention or Retention(), clock)
        self._subscribers: dict[str, list[Callable[[Change], None]]] = {}
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []
        self._pending: list[Change] = []
        self._writing: list[Change] = []
        self._failure: StorageError | None = None
        self.revision = 1
        """The last one given away; a list at this moment is of this revision."""
        self.durable = 1
        """The last one that a crash cannot undo, and that watchers have been told of."""

    async def open(self) -> None:
        """Read what is on disk; nothing to do for a store in memory."""
        if self._log is None:
            return
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="storage")
        revision, records = await asyncio.get_running_loop().run_in_executor(self._writer, self._log.open)
        for record in records:
            self._collection(record.collection).records[record.key] = record
        for collection in self._collections.values():
            collection.keys = sorted(collection.records)
        self.revision = self.durable = max(revision, 1)
        self._history.compacted = self.revision

    async def close(self) -> None:
        """Write what is left and let the directory go."""
        if self._writer is None or self._log is None:
            return
        try:
            if self._failure is None:
                await self.settle()
        finally:
            await asyncio.get_running_loop().run_in_executor(self._writer, self._log.close)
            self._writer.shutdown(wait=False)
            self._writer = None

    # Reading

    def get(self, collection: str, namespace: str, name: str) -> Record | None:
        known = self._collections.get(collection)
        return known.records.get(f"{namespace}/{name}" if namespace else name) if known else None

    def list(self, collection: str, namespace: str = "") -> Records:
        """All objects of a collection, or those of one namespace, in the order of their keys."""
        known = self._collections.get(collection)
        return known.within(namespace) if known else []

    def list_at(self, collection: str, namespace: str, revision: int) -> Records:
        """The same as it was at an earlier revision; Compacted when that is forgotten."""
        if revision >= self.revision:
            return self.list(collection, namespace)
        known = self._collections.get(collection)
        records = dict(known.records) if known else {}
        self._history.wind_back(records, collection, revision)
        return [records[key] for key in sorted(records) if not namespace or records[key].namespace == namespace]

    def count(self, collection: str) -> int:
        known = self._collections.get(collection)
        return len(known.keys) if known else 0

    def collections(self) -> Sequence[str]:
        return [name for name, known in self._collections.items() if known.keys]

    @property
    def compacted(self) -> int:
        return self._history.compacted

    # Writing

    def put(self, collection: str, namespace: str, name: str, obj: Object, *, expected: int | None = None) -> Change:
        """Store the object; its metadata.resourceVersion is set to the new revision.

        `expected` is the revision it must be at, 0 for 'not there'; None takes any.
        """
        known = self._collection(collection)
        self._check(known.records.get(f"{namespace}/{name}" if namespace else name), expected)
        self.revision += 1
        obj["metadata"]["resourceVersion"] = str(self.revision)
        record = Record(collection, namespace, name, self.revision, orjson.dumps(obj), labels_of(obj))
        old = known.put(record)
        return self._made(Change("ADDED" if old is None else "MODIFIED", record, old))

    def delete(
        self, collection: str, namespace: str, name: str, *, expected: int | None = None, last: Object | None = None
    ) -> Change:
        """Take the object out; `last` is the state that watchers see, by default the stored one."""
        known = self._collection(collection)
        key = f"{namespace}/{name}" if namespace else name
        current = known.records.get(key)
        if current is None:
            raise Stale(f"{collection} {key} is not there")
        self._check(current, expected)
        self.revision += 1
        seen = last if last is not None else current.object()
        seen["metadata"]["resourceVersion"] = str(self.revision)
        record = Record(collection, namespace, name, self.revision, orjson.dumps(seen), labels_of(seen))
        return self._made(Change("DELETED", record, known.drop(key)))

    def compact(self, revision: int) -> None:
        """Forget the changes up to a revision: whoever watches from before gets told so."""
        self._history.compact(min(revision, self.durable))

    async def settle(self, revision: int | None = None) -> None:
        """Wait until a revision (by default the newest) is durable."""
        wanted = self.revision if revision is None else min(revision, self.revision)
        if wanted <= self.durable:
            return
        if self._failure is not None:
            raise self._failure
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((wanted, future))
        await future

    # Watching

    def subscribe(self, subscriber: Callable[[Change], None], collections: Iterable[str] = ("",)) -> Callable[[], None]:
        """Call `subscriber` with every change from now on, once it is durable; the answer ends that.

        The empty name stands for all collections. It is called in the event loop and must not block or raise.
        """
        names = tuple(collections)
        for name in names:
            self._subscribers.setdefault(name, []).append(subscriber)

        def end() -> None:
            for name in names:
                known = self._subscribers.get(name, [])
                if subscriber in known:
                    known.remove(subscriber)

        return end

    def since(self, collection: str, revision: int) -> Changes:
        """The durable changes after a revision; Compacted when some are forgotten."""
        return [change for change in self._history.since(collection, revision) if change.revision <= self.durable]

    # Inside

    def _collection(self, name: str) -> Collection:
        known = self._collections.get(name)
        if known is None:
            known = self._collections[name] = Collection()
        return known

    def _check(self, current: Record | None, expected: int | None) -> None:
        if self._failure is not None:
            raise self._failure
        if expected is not None and expected != (current.revision if current else 0):
            raise Stale(f"expected revision {expected}, found {current!r}")

    def _made(self, change: Change) -> Change:
        self._history.add(change)
        if self._log is None:
            self.durable = change.revision
            self._publish(change)
            return change
        self._pending.append(change)
        if not self._writing and len(self._pending) == 1:
            # Whatever else this turn of the loop writes goes into the same commit.
            asyncio.get_running_loop().call_soon(self._flush)
        return change

    def _publish(self, change: Change) -> None:
        for subscriber in (*self._subscribers.get(change.record.collection, ()), *self._subscribers.get("", ())):
            subscriber(change)

    def _flush(self) -> None:
        if self._writing or not self._pending or self._log is None or self._writer is None:
            return
        self._writing, self._pending = self._pending, []
        entries = [Entry(change.record, change.type == "DELETED") for change in self._writing]
        written = asyncio.get_running_loop().run_in_executor(
            self._writer, self._log.write, entries, self._writing[-1].revision
        )
        written.add_done_callback(self._flushed)

    def _flushed(self, written: asyncio.Future[None]) -> None:
        changes, self._writing = self._writing, []
        failure = None if written.cancelled() else written.exception()
        if written.cancelled() or failure is not None:
            self._fail(failure)
            return
        self.durable = changes[-1].revision
        for change in changes:
            self._publish(change)
        waiting, self._waiting = self._waiting, []
        for wanted, future in waiting:
            if wanted > self.durable:
                self._waiting.append((wanted, future))
            elif not future.done():
                future.set_result(None)
        self._flush()

    def _fail(self, cause: BaseException | None) -> None:
        self._failure = cause if isinstance(cause, StorageError) else StorageError(f"writing failed: {cause!r}")
        for _, future in self._waiting:
            if not future.done():
                future.set_exception(self._failure)
        self._waiting.clear()
