"""Builds the Go program with the control plane once, and keeps it outside the checkout.

`python -m tests.controlplane.build` prints the path of the program, building it first where needed.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.errors import PenstockError

if TYPE_CHECKING:
    from collections.abc import Generator

MODULE = Path(__file__).parent
SOURCES = ("main.go", "go.mod", "go.sum")
FLAGS = ("-trimpath", "-buildvcs=false")
STILL_BUILDING_SECONDS = 60


class NoGo(PenstockError):
    """There is no Go toolchain here that could build the control plane; the sentence says why."""


class BuildError(PenstockError):
    """The Go toolchain is here, but the build failed; its own words are above."""


@dataclass(frozen=True, slots=True)
class Go:
    """A Go toolchain that is new enough for our module."""

    path: str
    version: str


def find_go() -> Go:
    """The Go toolchain of this machine, or `NoGo`.

    A toolchain that is too old but may fetch a newer one (`GOTOOLCHAIN=auto`) does so here.
    """
    path = shutil.which("go")
    if path is None:
        raise NoGo("no program called 'go' is on the PATH")
    asked = subprocess.run([path, "env", "GOVERSION"], cwd=MODULE, capture_output=True, text=True, check=False)
    if asked.returncode != 0:
        words = asked.stderr.strip().splitlines() or [f"exit code {asked.returncode}"]
        raise NoGo(f"{path} does not work: {words[-1]}")
    version = asked.stdout.strip()
    needed = _required("go")
    if _numbers(version) < _numbers(needed):
        raise NoGo(f"{path} is {version}, and the control plane needs go{needed} or newer")
    return Go(path, version)


def kubernetes_version() -> str:
    """The Kubernetes release that go.mod names, such as v1.36.4."""
    return _required("k8s.io/kubernetes")


def cache_folder() -> Path:
    """Where built programs lie: `$PENSTOCK_CACHE`, else penstock in `$XDG_CACHE_HOME` or `~/.cache`."""
    if own := os.environ.get("PENSTOCK_CACHE"):
        return Path(own).absolute()
    shared = os.environ.get("XDG_CACHE_HOME")
    return (Path(shared) if shared else Path.home() / ".cache") / "penstock"


def program_path(go: Go) -> Path:
    """Where the program built by this toolchain from these sources lies, whether or not it is there yet."""
    digest = hashlib.sha256()
    for name in SOURCES:
        digest.update((MODULE / name).read_bytes() + b"\0")
    digest.update("\0".join((go.version, *FLAGS, _linker_flags())).encode())
    return cache_folder() / f"controlplane-{digest.hexdigest()[:16]}" / "controlplane"


def build() -> Path:
    """The path of the program; the first call builds it, which takes minutes, and says so on stderr.

    Two calls at the same time build once: the second waits for the first.
    """
    go = find_go()
    program = program_path(go)
    if program.exists():
        return program
    program.parent.mkdir(parents=True, exist_ok=True)
    with _lock(program.with_suffix(".lock")) as lock:
        if not program.exists():
            _compile(go, program, lock)
    return program


def _compile(go: Go, program: Path, lock: int) -> None:
    _say(
        f"building the control plane for tests: Kubernetes {kubernetes_version()} with {go.version}. "
        f"The first time takes about 6 minutes on 2 cores; the result is kept in {program.parent}"
    )
    started = time.monotonic()
    partial = program.with_suffix(".partial")
    command = [go.path, "build", *FLAGS, "-ldflags", _linker_flags(), "-o", str(partial), "."]
    # The compiler holds the lock too: if we are killed, the next run waits until it is really gone.
    compiler = subprocess.Popen(
        command, cwd=MODULE, env={**os.environ, "CGO_ENABLED": "0"}, stdout=sys.stderr, pass_fds=[lock]
    )
    try:
        status = _wait(compiler, started)
    finally:
        if compiler.poll() is None:
            compiler.terminate()
            compiler.wait()
    if status != 0:
        raise BuildError(f"'go build' in {MODULE} failed with exit code {status}; its own words are above")
    partial.rename(program)
    _say(f"built the control plane in {time.monotonic() - started:.0f} s")


def _wait(compiler: subprocess.Popen[bytes], started: float) -> int:
    while True:
        try:
            return compiler.wait(STILL_BUILDING_SECONDS)
        except subprocess.TimeoutExpired:
            _say(f"still building the control plane, {time.monotonic() - started:.0f} s so far")


def _linker_flags() -> str:
    """Strip the symbols and set the version; without it kubectl and discovery see v0.0.0."""
    version = kubernetes_version()
    major, minor = version.removeprefix("v").split(".")[:2]
    facts = {"gitVersion": version, "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
    return " ".join(["-s -w", *(f"-X k8s.io/component-base/version.{key}={value}" for key, value in facts.items())])


def _required(module: str) -> str:
    """The version that go.mod gives for a module, or for `go` itself."""
    found = re.search(rf"^\s*{re.escape(module)} (\S+)", (MODULE / "go.mod").read_text(), re.MULTILINE)
    if found is None:
        raise BuildError(f"{MODULE / 'go.mod'} gives no version for {module}")
    return found.group(1)


def _numbers(version: str) -> tuple[int, ...]:
    """A Go version to compare by: go1.26.8 and 1.26.0 -> (1, 26, 8) and (1, 26, 0)."""
    found = re.match(r"(?:go)?(\d+(?:\.\d+)*)", version)
    return tuple(int(part) for part in found.group(1).split(".")) if found else ()


@contextmanager
def _lock(path: Path) -> Generator[int]:
    """Hold a lock file, waiting for whoever has it; the kernel lets go of it when the last holder ends."""
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _say("waiting for another build of the control plane")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield file.fileno()


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)  # noqa: T201 - progress of minutes, for a person


def main() -> int:
    try:
        path = build()
    except PenstockError as error:
        _say(f"error: {error}")
        return error.exit_code
    print(path)  # noqa: T201 - the answer
    return 0


if __name__ == "__main__":
    sys.exit(main())
