"""Side by side with the real `flux`: what one pushes the other pulls."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from penstock.cli import main
from tests.controlplane.build import NoGo
from tests.peers import flux
from tests.sources.oci.docker_registry import docker_registry

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

pytestmark = [pytest.mark.real, pytest.mark.timeout(1800)]

FROM = ["--source", "https://git.example/app", "--revision", "main@sha1:abc", "-a", "team=a"]


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    with docker_registry(tmp_path_factory.mktemp("registry")) as address:
        yield address


@pytest.fixture(scope="module")
def program() -> Path:
    try:
        return flux()
    except NoGo as error:
        pytest.skip(f"not here: {error}")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    (folder / "dir/deeper").mkdir(parents=True)
    (folder / ".git").mkdir()
    for name in ("a.yaml", "dir/b.yaml", "dir/deeper/ü.yaml", "c.jpg", ".git/config", ".sourceignore"):
        (folder / name).write_text(f"{name}\n" * 100)
    (folder / "dir/run.sh").write_text("#!/bin/sh\n")
    (folder / "dir/run.sh").chmod(0o755)
    return folder


def run(program: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program, *arguments], check=True, capture_output=True, text=True, timeout=120)


def tree(folder: Path) -> dict[str, tuple[str, bool]]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): (path.read_text(), os.access(path, os.X_OK)) for path in found}


def empty(folder: Path) -> Path:
    folder.mkdir()
    return folder


def test_each_pulls_what_the_other_pushed(
    registry: str, program: Path, files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ours, theirs = f"oci://{registry}/ours:v1", f"oci://{registry}/theirs:v1"
    assert main(["push", "artifact", ours, "-f", str(files), *FROM, "-o", "json"]) == 0
    own = json.loads(capsys.readouterr().out)
    real = json.loads(run(program, "push", "artifact", theirs, "-f", str(files), *FROM, "-o", "json").stdout)
    assert own.keys() == real.keys()
    assert (own["tag"], own["repository"]) == (real["tag"], real["repository"].replace("theirs", "ours"))

    told = run(program, "pull", "artifact", ours, "-o", str(empty(tmp_path / "by-flux")))
    assert main(["pull", "artifact", theirs, "-o", str(empty(tmp_path / "by-us"))]) == 0
    assert tree(tmp_path / "by-flux") == tree(tmp_path / "by-us")
    assert set(tree(tmp_path / "by-us")) == {
        "a.yaml", "dir/b.yaml", "dir/deeper/ü.yaml", "dir/run.sh", ".sourceignore"
    }  # fmt: skip
    said = told.stderr.replace("by-flux", "by-us").replace("/ours", "/theirs").replace(own["digest"], real["digest"])
    assert capsys.readouterr().err.splitlines() == said.splitlines()


def test_each_compares_with_what_the_other_pushed(registry: str, program: Path, files: Path) -> None:
    url = f"oci://{registry}/compared:v1"
    run(program, "push", "artifact", url, "-f", str(files), *FROM)
    assert main(["diff", "artifact", url, "--path", str(files)]) == 0
    (files / "a.yaml").write_text("changed")
    assert main(["diff", "artifact", url, "--path", str(files)]) == 1


def test_lists_and_tags_are_the_same(
    registry: str, program: Path, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"oci://{registry}/listed"
    assert main(["push", "artifact", f"{url}:1.0.0", "-f", str(files), *FROM]) == 0
    run(program, "push", "artifact", f"{url}:1.1.0", "-f", str(files), *FROM)
    run(program, "tag", "artifact", f"{url}:1.0.0", "--tag", "stable")
    assert main(["tag", "artifact", f"{url}:1.1.0", "--tag", "latest"]) == 0
    for more in ([], ["--filter-semver", ">1.0"], ["--filter-regex", "^st"]):
        real = run(program, "list", "artifacts", url, *more).stdout
        capsys.readouterr()
        assert main(["list", "artifacts", url, *more]) == 0
        assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
            line.split() for line in real.splitlines()
        ]
