"""Random parts of objects. Values come from small pools, so that managers meet on the same fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from penstock.kube.resources import Object


NAMES = ("web", "api", "cache")
LETTERS = ("a", "b", "c")


def some(random: Random, **makers: Any) -> Object:
    """A random part of these fields; functions are called for their value."""
    return {name: _value(random, maker) for name, maker in makers.items() if random.random() < 0.45}


def _value(random: Random, maker: Any) -> Any:
    if callable(maker):
        return maker(random)
    return random.choice(maker) if isinstance(maker, tuple) else maker


def few(maker: Callable[[Random, str], Any], names: tuple[str, ...] = LETTERS) -> Callable[[Random], list[Any]]:
    """A list of one to three items with different names, in any order."""

    def make(random: Random) -> list[Any]:
        return [maker(random, name) for name in random.sample(names, random.randint(1, len(names)))]

    return make


def words(*values: str) -> Callable[[Random], dict[str, str]]:
    """A map of strings."""
    return lambda random: {key: random.choice(values) for key in random.sample(LETTERS, random.randint(1, 3))}
