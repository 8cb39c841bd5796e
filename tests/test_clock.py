"""Time in tests: virtual where a test is marked so, and only there."""

from __future__ import annotations

import asyncio
import time

import pytest


@pytest.mark.looptime
async def test_a_marked_test_sleeps_an_hour_in_no_time() -> None:
    begun = time.monotonic()
    await asyncio.sleep(3600)
    assert asyncio.get_running_loop().time() == 3600
    assert time.monotonic() - begun < 60


async def test_any_other_test_has_the_time_of_the_machine() -> None:
    assert abs(asyncio.get_running_loop().time() - time.monotonic()) < 1
