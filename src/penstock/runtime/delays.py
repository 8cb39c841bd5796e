"""Keys whose time has not come yet."""

from __future__ import annotations

import heapq
import math
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from penstock.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from penstock.kube.resources import ObjectRef
    from penstock.runtime.line import Ask

_SLACK = 64


@dataclass(frozen=True, slots=True)
class _Entry:
    at: float
    ask: Ask


class Delays:
    """A wake-up time for each key: an earlier one replaces a later one, never the other way round.

    Operations take O(log n). A replaced entry stays in the heap until its time, or until the dead ones are in
    the majority.
    """

    def __init__(self) -> None:
        self._entries: dict[ObjectRef, _Entry] = {}
        self._heap: list[tuple[float, int, ObjectRef]] = []
        self._count = 0

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: ObjectRef) -> bool:
        return key in self._entries

    def put(self, key: ObjectRef, at: float, ask: Ask) -> None:
        known = self._entries.get(key)
        if known is None or at < known.at:
            self._entries[key] = _Entry(at, ask.merged(known.ask if known else None))
            self._push(key, at)
        else:
            self._entries[key] = _Entry(known.at, known.ask.merged(ask))

    def discard(self, key: ObjectRef) -> Ask | None:
        """Forget the key's wake-up; what it was for is the answer."""
        entry = self._entries.pop(key, None)
        return entry.ask if entry else None

    def due(self, now: float) -> Iterator[tuple[ObjectRef, Ask]]:
        """Remove and give what should have woken by `now`, the oldest first."""
        while self._heap and self._heap[0][0] <= now:
            at, _, key = heapq.heappop(self._heap)
            entry = self._entries.get(key)
            if entry is not None and entry.at == at:
                del self._entries[key]
                yield key, entry.ask

    def next_at(self) -> float | None:
        """When the next key wakes, or None when all are awake."""
        while self._heap and self._dead(self._heap[0]):
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def clear(self) -> None:
        self._entries.clear()
        self._heap.clear()

    def _push(self, key: ObjectRef, at: float) -> None:
        self._count += 1  # keys of equal time leave in the order in which they came
        heapq.heappush(self._heap, (at, self._count, key))
        if len(self._heap) > 2 * len(self._entries) + _SLACK:
            self._heap = [item for item in self._heap if not self._dead(item)]
            heapq.heapify(self._heap)

    def _dead(self, item: tuple[float, int, ObjectRef]) -> bool:
        entry = self._entries.get(item[2])
        return entry is None or entry.at != item[0]


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long a failing key waits: `base` seconds, doubled each time up to `cap`, spread by `spread`.

    The spread (0.1 is plus or minus ten per cent) keeps keys that failed together from coming back together.
    """

    base: float = 0.75
    cap: float = 900.0
    spread: float = 0.1
    chance: Callable[[], float] = field(default=random.random, repr=False)

    def delay(self, failures: int) -> float:
        """Seconds to wait after this many failures before the present one."""
        grown = min(math.ldexp(self.base, min(failures, 64)), self.cap)
        return min(grown * (1 + self.spread * (2 * self.chance() - 1)), self.cap)


@dataclass(frozen=True, slots=True)
class Jitter:
    """Spreads intervals, so that what started together does not come due together for ever."""

    percentage: int = 5
    chance: Callable[[], float] = field(default=random.random, repr=False)

    def __post_init__(self) -> None:
        if not 0 <= self.percentage < 100:
            raise UsageError(f"--interval-jitter-percentage: {self.percentage} is out of range; give 0 to 99 per cent")

    def spread(self, interval: float) -> float:
        """The interval times (1 + u), where u is uniform in plus or minus the percentage."""
        return interval * (1 + self.percentage / 100 * (2 * self.chance() - 1))
