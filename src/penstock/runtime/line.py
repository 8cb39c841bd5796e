"""The line of keys that are ready to run: urgent ones first, no tenant at the cost of another."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.kube.resources import ObjectRef


class Priority(IntEnum):
    """Who wants the run. The lower number goes first."""

    ASKED = 0
    """A person asked for it and waits."""
    REVISION = 1
    """Something it depends on has changed."""
    INTERVAL = 2
    """It is time to look again, or the process has just started."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One wish for a run: how urgent, and which object woke it."""

    priority: Priority
    cause: ObjectRef | None = None

    def merged(self, other: Ask | None) -> Ask:
        """The more urgent of two wishes for the same run; the older one where they are equal."""
        if other is None or self.priority <= other.priority:
            return self
        return other


class Line:
    """Keys in the order in which they should run.

    Three rules, the stronger one first. A level that was passed over `patience` times in a row goes next, so
    that urgent work delays the rest but never stops it. Otherwise the most urgent level goes. Within a level
    the namespaces take turns, each in the order of arrival. Every operation takes constant time.
    """

    def __init__(self, *, patience: int = 8) -> None:
        self._patience = patience
        self._asks: dict[ObjectRef, Ask] = {}
        self._levels: dict[Priority, OrderedDict[str, OrderedDict[ObjectRef, None]]] = {
            priority: OrderedDict() for priority in Priority
        }
        self._depths = dict.fromkeys(Priority, 0)
        self._passed = dict.fromkeys(Priority, 0)

    def __len__(self) -> int:
        return len(self._asks)

    def __contains__(self, key: ObjectRef) -> bool:
        return key in self._asks

    def depth(self, priority: Priority) -> int:
        return self._depths[priority]

    def put(self, key: ObjectRef, ask: Ask) -> None:
        """Let a key stand in line. One that stands there already only ever moves to a more urgent level."""
        known = self._asks.get(key)
        if known is None:
            self._enter(key, ask)
        elif ask.priority < known.priority:
            self._leave(key, known)
            self._enter(key, ask)

    def pop(self) -> tuple[ObjectRef, Ask]:
        """The key whose turn it is. Only for a line that is not empty."""
        namespaces = self._levels[self._turn()]
        namespace, keys = next(iter(namespaces.items()))
        key = next(iter(keys))
        namespaces.move_to_end(namespace)  # the others come first now
        ask = self._asks[key]
        self._leave(key, ask)
        return key, ask

    def clear(self) -> None:
        for key, ask in list(self._asks.items()):
            self._leave(key, ask)

    def _turn(self) -> Priority:
        waiting = [priority for priority in Priority if self._depths[priority]]
        impatient = [priority for priority in waiting if self._passed[priority] >= self._patience]
        chosen = (impatient or waiting)[0]
        for priority in waiting:
            if priority > chosen:
                self._passed[priority] += 1
        self._passed[chosen] = 0
        return chosen

    def _enter(self, key: ObjectRef, ask: Ask) -> None:
        self._asks[key] = ask
        self._levels[ask.priority].setdefault(key.namespace, OrderedDict())[key] = None
        self._depths[ask.priority] += 1

    def _leave(self, key: ObjectRef, ask: Ask) -> None:
        namespaces = self._levels[ask.priority]
        keys = namespaces[key.namespace]
        del keys[key], self._asks[key]
        self._depths[ask.priority] -= 1
        if not keys:
            del namespaces[key.namespace]
        if not self._depths[ask.priority]:
            self._passed[ask.priority] = 0
