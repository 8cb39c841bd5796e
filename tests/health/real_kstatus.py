"""The rules of Flux itself: a small Go program around its libraries, built once and kept outside the checkout."""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from tests.controlplane.build import cache_folder, find_go

if TYPE_CHECKING:
    from penstock.kube import Object

MODULE = Path(__file__).parent / "kstatus"


def program() -> Path:
    """The path of the program, built first where needed, which takes a minute or two; NoGo when there is no Go."""
    go = find_go()
    digest = hashlib.sha256(go.version.encode())
    for name in ("main.go", "go.mod", "go.sum"):
        digest.update((MODULE / name).read_bytes())
    built = cache_folder() / f"kstatus-{digest.hexdigest()[:16]}" / "kstatus"
    if built.exists():
        return built
    built.parent.mkdir(parents=True, exist_ok=True)
    with (built.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not built.exists():
            partial = built.with_suffix(".partial")
            command = [go.path, "build", "-trimpath", "-buildvcs=false", "-o", str(partial), "."]
            subprocess.run(command, cwd=MODULE, env={**os.environ, "CGO_ENABLED": "0"}, check=True)
            partial.rename(built)
    return built


def statuses(objects: list[Object]) -> list[str]:
    """What the real rules say of each object."""
    lines = b"".join(orjson.dumps(obj) + b"\n" for obj in objects)
    answered = subprocess.run([program()], input=lines, stdout=subprocess.PIPE, check=True)
    return answered.stdout.decode().splitlines()
