"""The real programs that we are compared with: built once from the Go module proxy, kept outside the checkout."""

from __future__ import annotations

import fcntl
import os
import subprocess
from pathlib import Path

from tests.controlplane.build import cache_folder, find_go


def installed(name: str, module: str, version: str) -> Path:
    """The path of the program, built first where needed; NoGo when there is no Go.

    `PENSTOCK_<NAME>` names a program to use instead. Two calls at the same time build once.
    """
    if given := os.environ.get(f"PENSTOCK_{name.upper()}"):
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
            environment = {**os.environ, "GOBIN": str(folder), "CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false"}
            subprocess.run([go.path, "install", f"{module}@{version}"], env=environment, check=True, cwd=folder)
    return program
