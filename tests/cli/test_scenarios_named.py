"""Every scenario of the specification that belongs to the verbs of every day is played by a test that says so."""

from __future__ import annotations

import re
from pathlib import Path

WANTED = {1, 2, *range(7, 17), 30}


def test_every_scenario_is_named() -> None:
    named = {
        int(number)
        for path in Path(__file__).parent.glob("test_*.py")
        for number in re.findall(r'pytest\.mark\.scenario\("cli-(\d+)"\)', path.read_text(encoding="utf-8"))
    }
    assert not WANTED - named, "no test is marked with these scenarios"
