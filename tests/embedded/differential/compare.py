"""Run sequences on two backends side by side and find where they differ."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import orjson

from tests.embedded.differential.drive import FELL_OVER
from tests.embedded.differential.normal import differences
from tests.embedded.differential.steps import sequence

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.embedded.differential.drive import Answer, Backend
    from tests.embedded.differential.steps import Sequence

AT_ONCE = 8
TRIES = 40
"""How often the real server is asked again before its answer counts as the only one it has."""


@dataclass(frozen=True)
class Mismatch:
    """The first step of a sequence at which the backends say different things."""

    sequence: Sequence
    step: int
    lines: list[str]
    real: list[Answer]

    def __str__(self) -> str:
        asked = self.sequence.steps[self.step]
        said = [
            f"seed {self.sequence.seed}, step {self.step}: {asked.verb} {asked.path}",
            f"  {asked.content_type} {asked.query}",
            f"  sent {orjson.dumps(asked.body).decode()[:800]}",
            *(f"  {line}" for line in self.lines[:12]),
            f"  alone: python -m tests.embedded.differential 1 {self.sequence.seed}",
        ]
        return "\n".join(said)


@dataclass(frozen=True)
class Findings:
    """What came of many sequences."""

    mismatches: list[Mismatch] = field(default_factory=list[Mismatch])
    wavering: list[int] = field(default_factory=list[int])
    """Seeds to which the real server gives now this, now that answer, the embedded one's among them."""


def first_mismatch(asked: Sequence, real: list[Answer], embedded: list[Answer]) -> Mismatch | None:
    """None when all is equal, or when the real server itself fell over on the way."""
    for index, (theirs, ours) in enumerate(zip(real, embedded, strict=True)):
        if theirs.code == FELL_OVER:
            return None
        lines = differences(theirs.plain(), ours.plain())
        if lines:
            return Mismatch(asked, index, lines, real)
    return None


async def findings(real: Backend, embedded: Backend, seeds: Iterable[int]) -> Findings:
    """Every sequence that the backends do not agree on, in the order of seeds."""
    waiting = iter(seeds)
    found = Findings()

    async def work() -> None:
        for seed in waiting:
            asked = sequence(seed)
            theirs, ours = await asyncio.gather(real.run(asked), embedded.run(asked))
            mismatch = first_mismatch(asked, theirs, ours)
            if mismatch is None:
                continue
            if await _wavers(real, asked, ours):
                found.wavering.append(seed)
            else:
                found.mismatches.append(mismatch)

    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(work())
    found.mismatches.sort(key=lambda each: each.sequence.seed)
    found.wavering.sort()
    return found


async def _wavers(real: Backend, asked: Sequence, ours: list[Answer]) -> bool:
    """Whether the real server says what the embedded one said when it is asked often enough.

    Of two mistakes in a strategic merge patch it tells the one that it meets first, and it walks through maps in a
    random order.
    """
    for _ in range(TRIES):
        if first_mismatch(asked, await real.run(asked), ours) is None:
            return True
    return False
