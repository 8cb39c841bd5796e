"""The embedded server answers as the real one does: every mismatch that was found once, again.

`test_sequences.py` compares new random sequences; `python -m tests.embedded.differential COUNT SEED` does so by hand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from penstock.embedded import cluster
from tests.embedded.differential.cases import files, read
from tests.embedded.differential.drive import backend
from tests.embedded.differential.normal import differences, normal
from tests.embedded.differential.steps import STEPS, sequence
from tests.embedded.fields.record import real_backend

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from _pytest.mark import ParameterSet

    from tests.embedded.differential.drive import Backend

CASES = [pytest.param(path, id=path.stem) for path in files()]
OPEN = {
    "clusterrole-put-body.rules": "an empty list in the answer to a PUT that changes nothing",
    "pod-delete-body.metadata.deletiongraceperiodseconds": "the answer to a dry-run delete of a pod that no node has",
    "pod-merge-patch-body.details.causes.message": "how the difference of two pods is shown",
    "pod-put-body.details.causes": "a node selector that goes away while the pod is gated",
    "replicationcontroller-apply-patch-body.details.causes": "a generateName beside a name is not looked at",
    "service-put-body.metadata.selflink": "a selfLink in the answer to a PUT",
}
"""What we answer otherwise still; whoever mends one takes it out, since the test says so."""


def ours() -> list[ParameterSet]:
    """All cases, with those that are open expected to differ."""
    return [
        pytest.param(path, id=path.stem, marks=pytest.mark.xfail(strict=True, reason=OPEN[path.stem]))
        if path.stem in OPEN
        else pytest.param(path, id=path.stem)
        for path in files()
    ]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def embedded() -> AsyncGenerator[Backend]:
    async with (
        cluster(controllers=False, workloads=False) as running,
        backend(running.server, token=running.token, authority=running.authority) as made,
    ):
        yield made


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def real() -> AsyncGenerator[Backend]:
    async with real_backend() as made:
        yield made


async def different(server: Backend, path: Path) -> list[list[str]]:
    """What a server answers otherwise than the file of a case says, step by step."""
    case = read(path)
    pairs = zip(case.answers, await server.run(case), strict=True)
    return [differences(expected, answer.plain()) for expected, answer in pairs]


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("path", ours())
async def test_a_mismatch_that_was_found_once(path: Path, embedded: Backend) -> None:
    found = await different(embedded, path)
    assert found == [[] for _ in found]


@pytest.mark.real
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("path", CASES)
async def test_the_real_server_still_says_so(path: Path, real: Backend) -> None:
    found = await different(real, path)
    assert found == [[] for _ in found]


def test_a_seed_makes_the_same_sequence_every_time() -> None:
    made = sequence(4711)
    assert made == sequence(4711)
    assert len(made.steps) == STEPS


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        pytest.param(
            r'Invalid value: "{\"uid\":\"01234567-89ab-cdef-0123-456789abcdef\",\"a\":\"\\u003c\"}": no',
            r'Invalid value: {"uid":"<uid>","a":"\\u003c"}: no',
            id="an object that is quoted keeps its keys in place",
        ),
        pytest.param('Invalid value: "-bad-": no', 'Invalid value: "-bad-": no', id="other values stay"),
        pytest.param("two errors:\n  .b: x\n  .a: y", "two errors:\n  .a: y\n  .b: x", id="errors of a schema"),
    ],
)
def test_what_differs_from_server_to_server_is_replaced(message: str, expected: str) -> None:
    assert normal(message, "message") == expected
