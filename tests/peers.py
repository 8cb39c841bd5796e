"""The real programs that we are compared with: built once from the Go module proxy, kept outside the checkout."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from tests.controlplane.build import cache_folder, find_go

FLUX = "v2.9.5"


def installed(name: str, module: str, version: str) -> Path:
    """The path of the program, built first where needed; NoGo when there is no Go.

    `PENSTOCK_<NAME>` names a program to use instead. Two calls at the same time build once.
    """
    if given := os.environ.get(f"PENSTOCK_{name.upper()}"):
        return Path(given)
    go = find_go()
    folder = cache_folder() / f"{name}-{version}-{go.version}"
    return _made(folder, name, [go.path, "install", f"{module}@{version}"], within=folder)


def built(name: str, module: Path) -> Path:
    """The path of a program built from a Go module of these tests; NoGo when there is no Go."""
    go = find_go()
    digest = hashlib.sha256(b"\0".join(file.read_bytes() for file in sorted(module.iterdir()))).hexdigest()[:16]
    folder = cache_folder() / f"{name}-{digest}-{go.version}"
    return _made(folder, name, [go.path, "build", "-o", str(folder / name), "."], within=module)


def flux() -> Path:
    """The path of the real `flux` command; NoGo when there is no Go. The first build takes some minutes.

    Its module does not hold the manifests that it embeds, so it is built from a copy with a placeholder in their place.
    """
    if given := os.environ.get("PENSTOCK_FLUX"):
        return Path(given)
    go = find_go()
    folder = cache_folder() / f"flux-{FLUX}-{go.version}"
    program = folder / "flux"
    if program.exists():
        return program
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "copy-lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.exists():
            with tempfile.TemporaryDirectory(dir=folder) as copy:
                _copied(go.path, f"github.com/fluxcd/flux2/v2@{FLUX}", Path(copy))
                manifests = Path(copy, "cmd/flux/manifests")
                manifests.mkdir(exist_ok=True)
                (manifests / "placeholder.yaml").write_text("# nothing is installed from here\n")
                _made(folder, "flux", [go.path, "build", "-o", str(program), "./cmd/flux"], within=Path(copy))
    return program


def _copied(go: str, module: str, into: Path) -> None:
    """Put the files of a module into a directory, writable."""
    answer = subprocess.run([go, "mod", "download", "-json", module], check=True, capture_output=True, cwd=into)
    shutil.copytree(json.loads(answer.stdout)["Dir"], into, dirs_exist_ok=True, copy_function=shutil.copyfile)
    for folder, names, _ in os.walk(into):
        for name in (".", *names):
            Path(folder, name).chmod(0o700)


def _made(folder: Path, name: str, command: list[str], *, within: Path) -> Path:
    program = folder / name
    if program.exists():
        return program
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.exists():
            environment = {**os.environ, "GOBIN": str(folder), "CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false"}
            subprocess.run(command, env=environment, check=True, cwd=within)
    return program


def flux_controller(name: str, version: str) -> Path:
    """A controller of Flux, such as source-controller, built from a copy of its module; NoGo when there is no Go.

    Their modules point at a folder beside them for their API, which a module from the proxy does not have. The copy
    takes that API from the proxy too.
    """
    if given := os.environ.get(f"PENSTOCK_{name.upper().replace('-', '_')}"):
        return Path(given)
    go = find_go()
    folder = cache_folder() / f"{name}-{version}-{go.version}"
    program = folder / name
    if program.exists():
        return program
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.exists():
            _build_copy(go.path, f"github.com/fluxcd/{name}", version, program)
    return program


def _build_copy(go: str, module: str, version: str, program: Path) -> None:
    sources = program.parent / "src"
    told = subprocess.run([go, "mod", "download", "-json", f"{module}@{version}"], check=True, capture_output=True)
    shutil.rmtree(sources, ignore_errors=True)
    shutil.copytree(json.loads(told.stdout)["Dir"], sources, copy_function=shutil.copyfile)
    for directory in (sources, *(path for path in sources.rglob("*") if path.is_dir())):
        directory.chmod(0o755)
    environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=mod -buildvcs=false -trimpath"}
    partial = program.with_suffix(".partial")
    for command in (
        [go, "mod", "edit", f"-dropreplace={module}/api"],
        [go, "build", "-ldflags", "-s -w", "-o", str(partial), "."],
    ):
        subprocess.run(command, env=environment, check=True, cwd=sources)
    partial.rename(program)
    shutil.rmtree(sources)
