"""Run sequences on two backends side by side and find where they differ."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from tests.embedded.differential.drive import FELL_OVER
from tests.embedded.differential.normal import differences
from tests.embedded.differential.steps import Step, sequence

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.embedded.differential.drive import Answer, Backend
    from tests.embedded.differential.steps import Sequence

CASES = Path(__file__).with_name("cases")
AT_ONCE = 6
SAME = "as answered"


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
        ]
        return "\n".join([*said, *(f"  {line}" for line in self.lines[:12])])

    def case(self) -> dict[str, Any]:
        """The sequence up to the mismatch with what the real server answered: a test of its own from now on."""
        upto = self.step + 1
        return {
            "seed": self.sequence.seed,
            "path": self.sequence.path,
            "steps": [plain(step) for step in self.sequence.steps[:upto]],
            "answers": [_short(answer.plain()) for answer in self.real[:upto]],
        }


def _short(answer: dict[str, Any]) -> dict[str, Any]:
    """Mostly what is stored is what was answered."""
    return {**answer, "stored": SAME} if answer["stored"] == answer["body"] else answer


def expected(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer of a case file, in full."""
    return {**answer, "stored": answer["body"]} if answer["stored"] == SAME else answer


def plain(step: Step) -> dict[str, Any]:
    """A step as a case file has it."""
    return {
        "verb": step.verb,
        "path": step.path,
        "type": step.content_type,
        "query": step.query,
        "body": step.body,
    }


def from_plain(raw: dict[str, Any]) -> Step:
    return Step(raw["verb"], raw["path"], raw["body"], content_type=raw["type"], query=raw["query"])


def first_mismatch(asked: Sequence, real: list[Answer], embedded: list[Answer]) -> Mismatch | None:
    """None when all is equal, or when the real server itself fell over on the way."""
    for index, (theirs, ours) in enumerate(zip(real, embedded, strict=True)):
        if theirs.code == FELL_OVER:
            return None
        lines = differences(theirs.plain(), ours.plain())
        if lines:
            return Mismatch(asked, index, lines, real)
    return None


async def mismatches(real: Backend, embedded: Backend, seeds: Iterable[int]) -> list[Mismatch]:
    """Every sequence that the backends do not agree on, in the order of seeds."""
    waiting = iter(seeds)
    found: list[Mismatch] = []

    async def work() -> None:
        for seed in waiting:
            asked = sequence(seed)
            theirs, ours = await asyncio.gather(real.run(asked), embedded.run(asked))
            mismatch = first_mismatch(asked, theirs, ours)
            if mismatch is not None:
                found.append(mismatch)

    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(work())
    return sorted(found, key=lambda each: each.sequence.seed)


def keep(mismatch: Mismatch) -> Path:
    """Write the case file of a mismatch; of every sort the first one that was found is kept."""
    CASES.mkdir(exist_ok=True)
    target = CASES / f"{sort_of(mismatch)}.json"
    if not target.exists():
        target.write_bytes(orjson.dumps(mismatch.case(), option=orjson.OPT_APPEND_NEWLINE))
    return target


def sort_of(mismatch: Mismatch) -> str:
    """Kind, request and the place of the first difference, without what varies from object to object."""
    asked = mismatch.sequence.steps[mismatch.step]
    how = asked.content_type.removeprefix("application/").partition("+")[0] if asked.verb == "PATCH" else asked.verb
    place = re.sub(r"\[\d+\]|[^A-Za-z.]", "", mismatch.lines[0].partition(": ")[0])
    words = (mismatch.sequence.kind.kind, how, asked.subresource, ".".join(place.split(".")[:6]))
    return "-".join(word.strip(".").lower() for word in words if word)
