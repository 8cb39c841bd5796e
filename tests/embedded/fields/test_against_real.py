"""Random requests to a real API server, and the same with our functions."""

from __future__ import annotations

import os

import pytest

from tests.embedded.differential.steps import sequence
from tests.embedded.fields.record import real_backend, recorded
from tests.embedded.fields.replay import replayed

COUNT = int(os.environ.get("PENSTOCK_SEQUENCES", "200"))
FIRST = int(os.environ.get("PENSTOCK_SEED", "100000"))


@pytest.mark.real
@pytest.mark.timeout(600)
async def test_random_requests() -> None:
    print(f"seeds {FIRST} to {FIRST + COUNT - 1}")  # noqa: T201 - whoever sees it fail needs them
    different: list[str] = []
    compared = 0
    async with real_backend() as server:
        for seed in range(FIRST, FIRST + COUNT):
            for line in await recorded(server, sequence(seed)):
                ours, theirs = replayed(line)
                compared += 1
                if ours != theirs:
                    different.append(f"seed {seed}, step {line['step']}:\n  ours {ours}\n  real {theirs}")
    assert compared > COUNT
    assert not different, "\n".join(different)
