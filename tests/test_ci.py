"""The one script that CI calls."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAKE = """#!/bin/sh
echo "CI=$CI make $*"
case "$*" in *{breaks}*) exit 3 ;; esac
"""


@pytest.mark.parametrize(
    ("breaks", "status", "calls"),
    [
        pytest.param("nothing", 0, ["check test", "e2e"], id="all is well"),
        pytest.param("check", 3, ["check test"], id="a failed check ends it"),
        pytest.param("e2e", 3, ["check test", "e2e"], id="a failed e2e fails it"),
    ],
)
def test_run(breaks: str, status: int, calls: list[str], tmp_path: Path) -> None:
    make = tmp_path / "make"
    make.write_text(MAKE.format(breaks=breaks))
    make.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    ran = subprocess.run([ROOT / ".ci" / "run"], env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == status
    assert ran.stdout.splitlines() == [f"CI=true make {call}" for call in calls]
