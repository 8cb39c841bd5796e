"""The changes of the last minutes: what a watch can still be told, and what a list can still be wound back over."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.errors import PenstockError

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.embedded.storage.records import Change, Record


class Compacted(PenstockError):
    """The revision lies before what is still known."""

    def __init__(self, asked: int, oldest: int) -> None:
        super().__init__(f"too old resource version: {asked} ({oldest})")
        self.asked = asked
        self.oldest = oldest


@dataclass(frozen=True, slots=True)
class Retention:
    """How much history is kept: whatever limit is reached first."""

    seconds: float = 300.0
    changes: int = 10_000


class History:
    """Changes by collection, oldest first, forgotten by age and number."""

    def __init__(self, retention: Retention, clock: Callable[[], float]) -> None:
        self._retention = retention
        self._clock = clock
        self._times: deque[tuple[float, str]] = deque()
        self._changes: dict[str, deque[Change]] = {}
        self.compacted = 0
        """What happened up to this revision is forgotten."""

    def add(self, change: Change) -> None:
        now = self._clock()
        collection = change.record.collection
        self._times.append((now, collection))
        known = self._changes.get(collection)
        if known is None:
            known = self._changes[collection] = deque()
        known.append(change)
        self._forget(now)

    def since(self, collection: str, revision: int) -> list[Change]:
        """The changes after a revision; Compacted when some of them are forgotten."""
        if revision < self.compacted:
            raise Compacted(revision, self.compacted)
        found: list[Change] = []
        for change in reversed(self._changes.get(collection, ())):
            if change.revision <= revision:
                break
            found.append(change)
        found.reverse()
        return found

    def wind_back(self, records: dict[str, Record], collection: str, revision: int) -> None:
        """Undo in `records` (by key) what happened after a revision; Compacted when that is forgotten."""
        for change in reversed(self.since(collection, revision)):
            if change.old is None:
                records.pop(change.record.key, None)
            else:
                records[change.old.key] = change.old

    def compact(self, revision: int) -> None:
        """Forget everything up to a revision."""
        while self._times and self._oldest().revision <= revision:
            self._drop()
        self.compacted = max(self.compacted, revision)

    def _forget(self, now: float) -> None:
        limit = self._retention
        while self._times and (len(self._times) > limit.changes or self._times[0][0] < now - limit.seconds):
            self._drop()

    def _oldest(self) -> Change:
        return self._changes[self._times[0][1]][0]

    def _drop(self) -> None:
        _, collection = self._times.popleft()
        changes = self._changes[collection]
        self.compacted = changes.popleft().revision
        if not changes:
            del self._changes[collection]
