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


CASES = "shared/conformance/kustomize"


@pytest.mark.parametrize(
    ("breaks", "beside", "status", "calls"),
    [
        pytest.param("nothing", "", 0, ["check test", "e2e"], id="all is well"),
        pytest.param("check", "", 3, ["check test"], id="a failed check ends it"),
        pytest.param("e2e", "", 3, ["check test", "e2e"], id="a failed e2e fails it"),
        pytest.param(
            "nothing", CASES, 0, ["check test", f"conformance CASES=../{CASES}", "e2e"], id="cases beside it are run"
        ),
        pytest.param(
            "conformance", CASES, 3, ["check test", f"conformance CASES=../{CASES}"], id="failed cases end it"
        ),
    ],
)
def test_run(breaks: str, beside: str, status: int, calls: list[str], tmp_path: Path) -> None:
    make = tmp_path / "bin/make"
    make.parent.mkdir()
    make.write_text(MAKE.format(breaks=breaks))
    make.chmod(0o755)
    (tmp_path / beside).mkdir(parents=True, exist_ok=True)
    script = tmp_path / "checkout/.ci/run"
    script.parent.mkdir(parents=True)
    script.write_bytes((ROOT / ".ci/run").read_bytes())
    environment = {**os.environ, "PATH": f"{make.parent}:{os.environ['PATH']}"}
    ran = subprocess.run(["bash", script], env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == status
    assert ran.stdout.splitlines() == [f"CI=true make {call}" for call in calls]
