"""The real programs that we are compared with: built once from the Go module proxy, kept outside the checkout."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from tests.controlplane.build import NoGo, cache_folder, find_go

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

FLUX = "v2.9.5"
FLUX_LIBRARIES = Path(__file__).parent / "fluxpeer"


class Answer(NamedTuple):
    """What a library said: a value, or the words of its error."""

    value: Any
    error: str


def installed(name: str, module: str, version: str) -> Path:
    """The path of the program, built first where needed; NoGo when there is no Go.

    `PENSTOCK_<NAME>` names a program to use instead. Two calls at the same time build once.
    """
    if given := _given(name):
        return given
    go = find_go()
    program = cache_folder() / f"{name}-{version}-{go.version}" / name
    with _once(program) as missing:
        if missing:
            _go([go.path, "install", f"{module}@{version}"], within=program.parent, GOBIN=str(program.parent))
    return program


def built(name: str, module: Path) -> Path:
    """The path of a program built from a Go module of these tests; NoGo when there is no Go."""
    go = find_go()
    content = b"\0".join(file.read_bytes() for file in sorted(module.iterdir()))
    program = cache_folder() / f"{name}-{hashlib.sha256(content).hexdigest()[:16]}-{go.version}" / name
    with _once(program) as missing:
        if missing:
            _go([go.path, "build", "-trimpath", "-o", str(program), "."], within=module)
    return program


def flux() -> Path:
    """The path of the real `flux` command; NoGo when there is no Go. The first build takes some minutes.

    Its module does not hold the manifests that it embeds, so it is built from a copy with a placeholder in their place.
    """
    if given := _given("flux"):
        return given
    go = find_go()
    program = cache_folder() / f"flux-{FLUX}-{go.version}" / "flux"
    with _once(program) as missing:
        if missing:
            with _copied(go.path, f"github.com/fluxcd/flux2/v2@{FLUX}", program.parent) as copy:
                manifests = copy / "cmd/flux/manifests"
                manifests.mkdir(exist_ok=True)
                (manifests / "placeholder.yaml").write_text("# nothing is installed from here\n")
                _go([go.path, "build", "-o", str(program), "./cmd/flux"], within=copy)
    return program


def flux_controller(name: str, version: str) -> Path:
    """A controller of Flux, such as source-controller, built from a copy of its module; NoGo when there is no Go.

    Their modules point at a folder beside them for their API, which a module from the proxy does not have. The copy
    takes that API from the proxy too.
    """
    if given := _given(name):
        return given
    go, module = find_go(), f"github.com/fluxcd/{name}"
    program = cache_folder() / f"{name}-{version}-{go.version}" / name
    with _once(program) as missing:
        if missing:
            with _copied(go.path, f"{module}@{version}", program.parent) as copy:
                flags = {"GOFLAGS": "-mod=mod -buildvcs=false -trimpath"}
                _go([go.path, "mod", "edit", f"-dropreplace={module}/api"], within=copy, **flags)
                _go([go.path, "build", "-ldflags", "-s -w", "-o", str(program), "."], within=copy, **flags)
    return program


def flux_libraries() -> Path:
    """The path of a program around the libraries of Flux; NoGo when there is no Go."""
    return built(FLUX_LIBRARIES.name, FLUX_LIBRARIES)


def flux_says(verb: str, questions: Iterable[Any]) -> list[Answer]:
    """What Flux's own libraries answer; the test is skipped where they cannot be built."""
    try:
        program = flux_libraries()
    except NoGo as error:
        pytest.skip(f"not here: {error}")
    asked = "".join(f"{json.dumps(question)}\n" for question in questions)
    done = subprocess.run(
        [program, verb],
        input=asked,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
        env={**os.environ, "GOGC": "800"},  # it lives for seconds: a third of its time went into tidying up
    )
    return [Answer(**json.loads(line)) for line in done.stdout.splitlines()]


def _given(name: str) -> Path | None:
    given = os.environ.get(f"PENSTOCK_{name.upper().replace('-', '_')}")
    return Path(given) if given else None


@contextmanager
def _once(program: Path) -> Generator[bool]:
    """Whether the program has to be built; others who want it wait until the body is over."""
    if program.exists():
        yield False
        return
    program.parent.mkdir(parents=True, exist_ok=True)
    with (program.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield not program.exists()


def _go(command: list[str], *, within: Path, **environment: str) -> None:
    settings = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false", **environment}
    subprocess.run(command, env=settings, check=True, cwd=within)


@contextmanager
def _copied(go: str, module: str, beside: Path) -> Generator[Path]:
    """The files of a module in a directory that can be written, removed in the end."""
    with tempfile.TemporaryDirectory(dir=beside) as copy:
        answer = subprocess.run([go, "mod", "download", "-json", module], check=True, capture_output=True, cwd=copy)
        shutil.copytree(json.loads(answer.stdout)["Dir"], copy, dirs_exist_ok=True, copy_function=shutil.copyfile)
        for folder, names, _ in os.walk(copy):
            for name in (".", *names):
                Path(folder, name).chmod(0o700)
        yield Path(copy)
