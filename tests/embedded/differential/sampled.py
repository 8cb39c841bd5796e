"""Random objects that are variations of a rich sample: parts are missing, and here and there a value differs."""

from __future__ import annotations

import copy
from functools import cache
from typing import TYPE_CHECKING, Any

from tests.embedded.kinds.mutations import samples

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from penstock.kube.resources import Object

_IDENTITY = ("apiVersion", "kind", "metadata")
_MISSING, _OTHER, _SHORTER = 0.05, 0.08, 0.1


def like_sample(api_version: str, kind: str, **fixed: Any) -> Callable[[Random], Object]:
    """A maker of variations of the samples of a kind; `fixed` are top-level fields that always have this value."""

    def make(random: Random) -> Object:
        sample = random.choice(_samples(api_version, kind))
        return {**_varied(random, sample), **copy.deepcopy(fixed)}

    return make


def either(*makers: Callable[[Random], Object]) -> Callable[[Random], Object]:
    """A maker that is now the one, now the other; the first one more often."""
    return lambda random: (makers[0] if random.random() < 0.7 else random.choice(makers))(random)


@cache
def _samples(api_version: str, kind: str) -> list[Object]:
    found = [each for each in samples() if (each["apiVersion"], each["kind"]) == (api_version, kind)]
    assert found, f"there is no sample of {api_version} {kind}"
    return [{key: value for key, value in each.items() if key not in _IDENTITY} for each in found]


def _varied(random: Random, value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _varied(random, child) for key, child in value.items() if random.random() >= _MISSING}
    if isinstance(value, list):
        return _varied_list(random, [_varied(random, item) for item in value])
    if random.random() >= _OTHER:
        return value
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, int) else value


def _varied_list(random: Random, items: list[Any]) -> list[Any]:
    if len(items) < 2 or random.random() >= _SHORTER:
        return items
    return random.choice((items[:-1], items[1:], items[::-1]))
