"""Every scenario of the specification is played by a test that says so."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parents[2]
WANTED = {*range(1, 39), *range(47, 53)}


def test_every_scenario_is_named() -> None:
    named = {
        int(number)
        for path in TESTS.rglob("test_*.py")
        for number in re.findall(r'pytest\.mark\.scenario\("sources-(\d+)"\)', path.read_text())
    }
    missing = WANTED - named
    assert not missing, f"no test is marked with scenario {sorted(missing)}"
    assert named <= {*WANTED, *range(39, 47)}, "only scenarios that exist are named"
