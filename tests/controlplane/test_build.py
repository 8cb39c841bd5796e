from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.controlplane import build

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

ROOT = Path(__file__).parents[2]

# Plays `go`: tells its version; a build notes that it began, waits for the word if there is a gate, and writes.
GO = """#!/bin/sh
if [ "$1" = env ]; then echo "{version}"; exit 0; fi
echo "$@" >> "{folder}/builds"
if [ -p "{folder}/gate" ]; then read word < "{folder}/gate"; fi
while [ "$1" != -o ]; do shift; done
echo "$CGO_ENABLED" > "$2"
exit {status}
"""


@pytest.fixture
def fake_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Put a toolchain of our own first on the PATH, and the cache into the test's folder."""
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "cache"))

    def write(*, version: str = "go1.99.0", status: int = 0) -> None:
        (tmp_path / "go").write_text(GO.format(folder=tmp_path, version=version, status=status))
        (tmp_path / "go").chmod(0o755)

    write()
    return write


def builds(folder: Path) -> int:
    return len((folder / "builds").read_text().splitlines())


@pytest.fixture
def command() -> Generator[Callable[[], subprocess.Popen[str]]]:
    """Starts the command; whatever is left of it and its compiler ends with the test."""
    started: list[subprocess.Popen[str]] = []

    def start() -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.controlplane.build"],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def read_until(process: subprocess.Popen[str], words: str) -> None:
    assert process.stderr is not None
    assert any(words in line for line in process.stderr), f"{words!r} was never said"


def test_no_go_on_the_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(build.NoGo, match="no program called 'go' is on the PATH"):
        build.find_go()


def test_go_that_is_too_old(fake_go: Callable[..., None]) -> None:
    fake_go(version="go1.9.7")
    with pytest.raises(build.NoGo, match=r"is go1\.9\.7, and the control plane needs go1\.\d+\.\d+ or newer"):
        build.find_go()


def test_go_that_does_not_work(fake_go: Callable[..., None], tmp_path: Path) -> None:
    (tmp_path / "go").write_text("#!/bin/sh\necho 'go: cannot find GOROOT' >&2\nexit 2\n")
    with pytest.raises(build.NoGo, match="does not work: go: cannot find GOROOT"):
        build.find_go()


def test_the_second_build_is_a_look_up(
    fake_go: Callable[..., None], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = build.build()
    said = capfd.readouterr().err
    assert "takes about 6 minutes" in said
    assert "built the control plane in" in said
    assert build.build() == path
    assert capfd.readouterr().err == ""
    assert builds(tmp_path) == 1
    assert path.read_text() == "0\n", "built with CGO_ENABLED=0"


def test_the_version_is_linked_in(fake_go: Callable[..., None], tmp_path: Path) -> None:
    build.build()
    version = build.kubernetes_version()
    assert f"-X k8s.io/component-base/version.gitVersion={version} " in (tmp_path / "builds").read_text()
    assert version.startswith("v1.")


def test_another_toolchain_builds_anew(fake_go: Callable[..., None], tmp_path: Path) -> None:
    first = build.build()
    fake_go(version="go1.99.1")
    assert build.build() != first
    assert builds(tmp_path) == 2


def test_a_failed_build_leaves_nothing_that_looks_built(fake_go: Callable[..., None], tmp_path: Path) -> None:
    fake_go(status=1)
    with pytest.raises(build.BuildError, match="failed with exit code 1"):
        build.build()
    fake_go()
    assert build.build().exists()
    assert builds(tmp_path) == 2


def test_two_at_the_same_time_build_once(
    fake_go: Callable[..., None], command: Callable[[], subprocess.Popen[str]], tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "gate")
    first = command()
    read_until(first, "building the control plane")
    second = command()
    read_until(second, "waiting for another build")
    (tmp_path / "gate").write_text("go on\n")
    answers = [process.communicate(timeout=30)[0] for process in (first, second)]
    assert answers[0] == answers[1]
    assert Path(answers[0].strip()).exists()
    assert builds(tmp_path) == 1


def test_a_compiler_that_outlives_its_killed_parent_is_waited_for(
    fake_go: Callable[..., None], command: Callable[[], subprocess.Popen[str]], tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "gate")
    first = command()
    read_until(first, "building the control plane")
    gate = (tmp_path / "gate").open("w")  # returns once the compiler reads: it has begun
    first.kill()
    first.wait()
    second = command()
    read_until(second, "waiting for another build")
    (tmp_path / "gate").unlink()  # the second build needs no word
    gate.write("go on\n")
    gate.close()
    assert second.wait(timeout=30) == 0
    assert builds(tmp_path) == 2


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        pytest.param({"PENSTOCK_CACHE": "/own", "XDG_CACHE_HOME": "/xdg"}, "/own", id="our own variable wins"),
        pytest.param({"XDG_CACHE_HOME": "/xdg", "HOME": "/home/me"}, "/xdg/penstock", id="then the desktop's"),
        pytest.param({"HOME": "/home/me"}, "/home/me/.cache/penstock", id="then the home folder"),
    ],
)
def test_cache_folder(environment: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PENSTOCK_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert build.cache_folder() == Path(expected)
