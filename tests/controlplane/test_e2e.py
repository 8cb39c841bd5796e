from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.clusters import GIVEN

ROOT = Path(__file__).parents[2]


def run(**environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.controlplane.e2e"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )


@pytest.mark.parametrize("ci", [{}, {"CI": "true"}], ids=["at home", "in CI"])
def test_without_go_and_without_a_cluster_nothing_is_run_and_that_is_said(ci: dict[str, str], tmp_path: Path) -> None:
    ran = run(PATH=str(tmp_path), HOME=str(tmp_path), **ci)
    assert ran.returncode == 0
    edge, sentence, same_edge = ran.stdout.splitlines()
    assert "e2e NOT RUN: no program called 'go' is on the PATH" in sentence
    assert edge == same_edge == "+" + "-" * (len(sentence) - 2) + "+"


def test_a_kubeconfig_that_is_not_there_is_a_wrong_use(tmp_path: Path) -> None:
    ran = run(PATH=str(tmp_path), **{GIVEN: str(tmp_path / "nowhere")})
    assert ran.returncode == 2
    assert f"{GIVEN} names {tmp_path / 'nowhere'}, and there is no such file" in ran.stdout


def test_a_build_that_fails_fails_the_run(tmp_path: Path) -> None:
    go = tmp_path / "go"
    go.write_text("#!/bin/sh\n[ $1 = env ] && echo go1.99.0 || exit 1\n")
    go.chmod(0o755)
    ran = run(PATH=f"{tmp_path}:/usr/bin:/bin", PENSTOCK_CACHE=str(tmp_path / "cache"))
    assert ran.returncode == 1
    assert "NOT RUN" not in ran.stdout
    assert "error: 'go build'" in ran.stdout
