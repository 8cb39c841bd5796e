"""Mismatches that were found once, as files: the requests, and what the real server answers to them.

    python -m tests.embedded.differential.cases

asks a real server again and writes the answers of all files anew.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from tests.embedded.differential.steps import NAMESPACE, Step

if TYPE_CHECKING:
    from tests.embedded.differential.compare import Mismatch
    from tests.embedded.differential.drive import Answer

FOLDER = Path(__file__).with_name("cases")
SAME = "as answered"


@dataclass(frozen=True)
class Case:
    """Steps about one object, and the answers of the real server, normalised."""

    path: str
    steps: tuple[Step, ...]
    answers: tuple[dict[str, Any], ...] = ()

    def located(self) -> str:
        return self.path.replace("{namespace}", NAMESPACE)

    def written(self) -> bytes:
        """The text of its file."""
        raw = {
            "path": self.path,
            "steps": [_plain(step) for step in self.steps],
            "answers": [_short(answer) for answer in self.answers],
        }
        return orjson.dumps(raw, option=orjson.OPT_APPEND_NEWLINE)


def files() -> list[Path]:
    return sorted(FOLDER.glob("*.json"))


def read(path: Path) -> Case:
    raw = orjson.loads(path.read_bytes())
    return Case(raw["path"], tuple(map(_step, raw["steps"])), tuple(map(_whole, raw["answers"])))


def keep(mismatch: Mismatch) -> Path:
    """Write the case of a mismatch; a second one of the same sort has its seed in the name."""
    asked, upto = mismatch.sequence, mismatch.step + 1
    sort = sort_of(mismatch)
    names = (sort, f"{sort}-{asked.seed}")
    target = next((path for name in names if not (path := FOLDER / f"{name}.json").exists()), None)
    if target is None:
        return FOLDER / f"{names[-1]}.json"
    answers = tuple(answer.plain() for answer in mismatch.real[:upto])
    target.write_bytes(Case(asked.path, asked.steps[:upto], answers).written())
    return target


def sort_of(mismatch: Mismatch) -> str:
    """Kind, request and the place of the first difference, without what varies from object to object."""
    asked = mismatch.sequence.steps[mismatch.step]
    how = asked.content_type.removeprefix("application/").partition("+")[0] if asked.verb == "PATCH" else asked.verb
    place = re.sub(r"\[\d+\]|[^A-Za-z.]", "", mismatch.lines[0].partition(": ")[0])
    words = (mismatch.sequence.kind.kind, how, asked.subresource, ".".join(place.split(".")[:6]))
    return "-".join(word.strip(".").lower() for word in words if word)


def _plain(step: Step) -> dict[str, Any]:
    return {
        "verb": step.verb,
        "path": step.path,
        "type": step.content_type,
        "query": step.query,
        "body": step.body,
    }


def _step(raw: dict[str, Any]) -> Step:
    return Step(raw["verb"], raw["path"], raw["body"], content_type=raw["type"], query=raw["query"])


def _short(answer: dict[str, Any]) -> dict[str, Any]:
    """Mostly what is stored is what was answered."""
    return {**answer, "stored": SAME} if answer["stored"] == answer["body"] else answer


def _whole(answer: dict[str, Any]) -> dict[str, Any]:
    return {**answer, "stored": answer["body"]} if answer["stored"] == SAME else answer


async def main() -> None:
    from tests.embedded.fields.record import real_backend

    async with real_backend() as real:
        for path in files():
            case = read(path)
            answers: list[Answer] = await real.run(case)
            made = Case(case.path, case.steps, tuple(answer.plain() for answer in answers))
            await asyncio.to_thread(path.write_bytes, made.written())


if __name__ == "__main__":
    asyncio.run(main())
