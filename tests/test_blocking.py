from __future__ import annotations

import pytest

# Compiled as if it stood in Penstock's own folder: that is what the plugin goes by.
TEST = """
import asyncio, contextlib, time
from pathlib import Path
import penstock

space = {{}}
source = "import time\\ndef block(): time.sleep(0)\\n"
exec(compile(source, str(Path(penstock.__file__).with_name("somewhere.py")), "exec"), space)

async def test_one():
    {body}
"""


@pytest.mark.parametrize(
    ("body", "failed"),
    [
        pytest.param("space['block']()", True, id="a blocking call of ours"),
        pytest.param(
            "with contextlib.suppress(Exception): space['block']()",
            True,
            id="one that was hushed up",
        ),
        pytest.param("time.sleep(0)", False, id="a test's own"),
        pytest.param("await asyncio.to_thread(space['block'])", False, id="in a thread"),
    ],
)
def test_blocking_calls(body: str, failed: bool, pytester: pytest.Pytester) -> None:
    pytester.makeconftest('pytest_plugins = ["tests.blocking"]')
    pytester.makeini("[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n")
    pytester.makepyfile(TEST.format(body=body))
    result = pytester.runpytest_inprocess()
    assert (result.ret != 0) == failed
    if failed:
        result.stdout.fnmatch_lines(["*the event loop was blocked:*", "Blocking call to time.sleep*", "*somewhere.py*"])
