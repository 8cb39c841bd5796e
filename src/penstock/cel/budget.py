"""How much an evaluation may take: steps, elements looked at, characters made."""

from __future__ import annotations

from typing import Any

from penstock.cel.errors import CostExceeded

LIMIT = 200_000
"""A fraction of a second of work, and a few megabytes; a thousand conditions of an object take a twentieth."""
CHARACTERS = 16
"""So many characters cost as much as one step."""


class Budget:
    """What is left of the limit."""

    __slots__ = ("left",)

    def __init__(self, limit: int) -> None:
        self.left = limit

    def spend(self, cost: int) -> None:
        """CostExceeded when more is spent than there is."""
        self.left -= cost
        if self.left < 0:
            raise CostExceeded("operation cancelled: actual cost limit exceeded")

    def weigh(self, *values: Any) -> None:
        """Spend what it takes to look at all of a value. The same part counts each time that it is met."""
        waiting = list(values)
        while waiting:
            value = waiting.pop()
            kind = type(value)
            if kind is list:
                self.spend(len(value) + 1)
                waiting.extend(value)
            elif kind is dict:
                self.spend(len(value) + 1)
                waiting.extend(value)
                waiting.extend(value.values())
            elif kind is str or kind is bytes:
                self.spend(len(value) // CHARACTERS)

    def foresee(self, name: str, arguments: list[Any]) -> None:
        """Spend what a function is about to take, before it takes it."""
        if name in _PRODUCTS and len(arguments) == 2:
            sizes = [len(value) + 1 for value in arguments if isinstance(value, list)]
            self.spend(sizes[0] * sizes[-1] if sizes else 1)
        elif name == "replace" and all(isinstance(value, str) for value in arguments[:3]) and len(arguments) > 2:
            text, old, new = arguments[:3]
            self.spend((len(text) + text.count(old) * len(new)) // CHARACTERS + 1)
            return
        elif name == "join" and len(arguments) == 2 and isinstance(arguments[0], list):
            size = len(arguments[1]) if isinstance(arguments[1], str) else 0
            self.spend(len(arguments[0]) * size // CHARACTERS)
        elif name == "matches" and len(arguments) == 2 and all(isinstance(value, str) for value in arguments):
            self.spend((len(arguments[0]) + 1) * (len(arguments[1]) // 4 + 1) // CHARACTERS + 1)
            return
        self.weigh(*arguments)


_PRODUCTS = frozenset({"sets.contains", "sets.equivalent", "sets.intersects"})
