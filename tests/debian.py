"""Programs of Debian packages for tests: downloaded and unpacked once, outside the checkout. Nothing is installed."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.controlplane.build import cache_folder

if TYPE_CHECKING:
    from pathlib import Path

_SECONDS = 120


def unpacked(*packages: str) -> Path:
    """The folder in which these packages lie as they would below `/`; the test is skipped when they cannot be had.

    Packages that they need and that may be missing here have to be named too. Two calls at the same time unpack once.
    """
    digest = hashlib.sha256(" ".join(packages).encode()).hexdigest()[:8]
    folder = cache_folder() / "debian" / f"{packages[0]}-{digest}"
    if (folder / "whole").exists():
        return folder / "root"
    if not (shutil.which("apt-get") and shutil.which("dpkg")):
        pytest.skip(f"not here: the Debian package {packages[0]}, since there is no apt-get")
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "whole").exists():
            _unpack(folder, packages)
    return folder / "root"


def environment(root: Path) -> dict[str, str]:
    """Variables with which programs of unpacked packages find the libraries that came with them."""
    folders = sorted({str(path.parent) for path in root.glob("**/lib/**/*.so*")})
    return {"PATH": os.environ.get("PATH", os.defpath), "LD_LIBRARY_PATH": ":".join(folders)}


def _unpack(folder: Path, packages: tuple[str, ...]) -> None:
    try:
        _run(folder, "apt-get", "download", "--quiet", *packages)
        for package in sorted(folder.glob("*.deb")):
            _run(folder, "dpkg", "-x", package.name, "root")
    except (subprocess.SubprocessError, OSError) as error:
        pytest.skip(f"not here: the Debian package {' or '.join(packages)}: {error}")
    (folder / "whole").touch()


def _run(folder: Path, *command: str) -> None:
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=_SECONDS)
