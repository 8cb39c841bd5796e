"""A pytest plugin: a blocking call of Penstock inside the event loop fails the test.

Tests themselves may read a file in passing; what counts is that no call has Penstock's code on its stack.
"""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING

import blockbuster
import pytest

if TYPE_CHECKING:
    from collections.abc import Generator


@pytest.fixture(autouse=True)
def nothing_blocks(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """Raise at the blocking call, and fail the test at its end even if somebody caught the error."""
    caught: list[str] = []

    class Blocked(blockbuster.BlockingError):
        def __init__(self, function: str) -> None:
            super().__init__(function)
            here = "".join(traceback.format_stack(limit=8)[:-2])  # without ourselves and the wrapper
            caught.append(f"{self}\n{here}")

    monkeypatch.setattr("blockbuster.blockbuster.BlockingError", Blocked)
    with blockbuster.blockbuster_ctx("penstock"):
        yield
    if caught:
        pytest.fail("the event loop was blocked:\n" + "\n".join(caught), pytrace=False)
