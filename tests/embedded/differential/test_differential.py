"""The embedded server answers as the real one does: every mismatch ever found, again.

`python -m tests.embedded.differential COUNT SEED` finds new ones: random sequences on both. Those that are known and
not mended yet stand in `open.txt`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import pytest
import pytest_asyncio

from penstock.embedded import cluster
from tests.embedded.differential.compare import CASES, expected, from_plain
from tests.embedded.differential.drive import backend
from tests.embedded.differential.normal import differences
from tests.embedded.differential.steps import STEPS, sequence

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from tests.embedded.differential.drive import Backend

OPEN = frozenset((Path(__file__).parent / "open.txt").read_text().split())


@dataclass(frozen=True)
class Replay:
    """A sequence from a case file."""

    path: str
    steps: tuple[Any, ...]

    def located(self) -> str:
        return self.path.replace("{namespace}", "differential")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def embedded() -> AsyncGenerator[Backend]:
    async with (
        cluster(controllers=False, workloads=False) as running,
        backend(running.server, token=running.token, authority=running.authority) as made,
    ):
        yield made


def _cases() -> list[Any]:
    still_open = pytest.mark.xfail(reason="a difference that is known and still open", strict=False)
    return [
        pytest.param(path, id=path.stem, marks=[still_open] if path.stem in OPEN else [])
        for path in sorted(CASES.glob("*.json"))
    ]


@pytest.fixture
def case(request: pytest.FixtureRequest) -> dict[str, Any]:
    path: Path = request.param
    read: dict[str, Any] = orjson.loads(path.read_bytes())
    return read


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("case", _cases(), indirect=True)
async def test_a_mismatch_that_was_found_once(case: dict[str, Any], embedded: Backend) -> None:
    replay = Replay(case["path"], tuple(from_plain(step) for step in case["steps"]))
    answers = await embedded.run(replay)
    pairs = zip(map(expected, case["answers"]), answers, strict=True)
    found = [differences(theirs, ours.plain()) for theirs, ours in pairs]
    assert found == [[] for _ in answers]


def test_a_seed_makes_the_same_sequence_every_time() -> None:
    made = sequence(4711)
    assert made == sequence(4711)
    assert len(made.steps) == STEPS
