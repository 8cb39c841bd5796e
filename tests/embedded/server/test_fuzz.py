"""Whatever comes is answered properly, and in bounded memory."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
REQUESTS = 3000


@pytest.mark.timeout(180)
@pytest.mark.parametrize("seed", [int(os.environ.get("PENSTOCK_FUZZ_SEED", "1"))])
async def test_whatever_comes_is_answered_properly(seed: int) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.embedded.server.fuzzing", str(seed), str(REQUESTS)),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(170):
            out, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, out.decode()[-4000:]
