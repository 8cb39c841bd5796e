"""Random sequences of requests get the same answers from the embedded server and from the real one.

The top of the run tells the seeds. A test tells each of its chunks and how to run one seed alone. The two classes are
there to be shared by two workers, each of which keeps one real and one embedded server for all its chunks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from penstock.embedded import cluster
from tests.embedded.differential.compare import findings
from tests.embedded.differential.drive import backend
from tests.embedded.differential.seeds import COUNT, first_seed
from tests.embedded.fields.record import real_backend

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from tests.embedded.differential.drive import Backend

CHUNKS = 8
SIZE = COUNT // CHUNKS
FEW = SIZE // 25
"""How many sequences of a chunk the real server may answer now this way, now that way."""

pytestmark = [pytest.mark.real, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="class")]


@pytest_asyncio.fixture(scope="class", loop_scope="class")
async def servers() -> AsyncGenerator[tuple[Backend, Backend]]:
    """The real one and the embedded one, both without controllers."""
    async with (
        real_backend() as real,
        cluster(controllers=False, workloads=False) as running,
        backend(running.server, token=running.token, authority=running.authority) as embedded,
    ):
        yield real, embedded


async def compare(servers: tuple[Backend, Backend], chunk: int) -> None:
    first = first_seed() + chunk * SIZE
    found = await findings(*servers, range(first, first + SIZE))
    wavering = f"the real server wavers at {found.wavering}"
    print(f"seeds {first} to {first + SIZE - 1}; {wavering}")  # noqa: T201 - whoever sees it fail needs them
    assert not found.mismatches, "\n".join(map(str, found.mismatches))
    assert len(found.wavering) <= FEW, wavering


class TestFirstHalf:
    @pytest.mark.parametrize("chunk", range(CHUNKS // 2))
    async def test_the_same_answers(self, servers: tuple[Backend, Backend], chunk: int) -> None:
        await compare(servers, chunk)


class TestSecondHalf:
    @pytest.mark.parametrize("chunk", range(CHUNKS // 2, CHUNKS))
    async def test_the_same_answers(self, servers: tuple[Backend, Backend], chunk: int) -> None:
        await compare(servers, chunk)
