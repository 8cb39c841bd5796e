"""The real `sops`, built once from the Go module proxy and kept outside the checkout.

`PENSTOCK_SOPS` names a program to use instead.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from penstock.sops.metadata import VERSION
from tests.peers import installed

if TYPE_CHECKING:
    from pathlib import Path


def program() -> Path:
    """The path of the program, built first where needed; NoGo when there is no Go."""
    return installed("sops", "github.com/getsops/sops/v3/cmd/sops", f"v{VERSION}")


@dataclass(frozen=True)
class RealSops:
    """Runs the program with an environment of its own: no keys but those given, no home."""

    path: Path
    folder: Path
    environment: dict[str, str] = field(default_factory=dict[str, str])

    def run(self, *arguments: str | Path) -> subprocess.CompletedProcess[bytes]:
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder), **self.environment}
        command = [str(self.path), *map(str, arguments)]
        return subprocess.run(command, env=environment, capture_output=True, check=False, cwd=self.folder)

    def encrypt(self, file: Path, *arguments: str) -> bytes | None:
        """The encrypted file, or None when the program refuses."""
        done = self.run("encrypt", *arguments, file)
        return None if done.returncode else done.stdout

    def decrypt(self, data: bytes, suffix: str) -> bytes | None:
        """The plain text, or None when the program refuses."""
        file = self.folder / f"encrypted{suffix}"
        file.write_bytes(data)
        done = self.run("decrypt", file)
        return None if done.returncode else done.stdout
