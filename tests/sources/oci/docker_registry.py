"""Debian's docker-registry on loopback, for as long as a test needs it."""

from __future__ import annotations

import re
import subprocess
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.debian import unpacked

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

_CONFIGURATION = """\
version: 0.1
log: {{level: info, accesslog: {{disabled: true}}}}
storage: {{filesystem: {{rootdirectory: {folder}}}, cache: {{blobdescriptor: inmemory}}}}
http: {{addr: "127.0.0.1:0"}}
"""
_LISTENING = re.compile(r"listening on (127\.0\.0\.1:[0-9]+)")


@contextmanager
def docker_registry(folder: Path) -> Generator[str]:
    """Host and port of a registry that keeps its images in this folder; the test is skipped where it cannot be had."""
    program = unpacked("docker-registry") / "usr/bin/docker-registry"
    configuration = folder / "registry.yml"
    configuration.write_text(_CONFIGURATION.format(folder=folder / "images"))
    command = [str(program), "serve", str(configuration)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        try:
            yield _address(process)
        finally:
            process.kill()


def _address(process: subprocess.Popen[str]) -> str:
    lines: list[str] = []
    if process.stderr is not None:
        for line in process.stderr:
            lines.append(line)
            if found := _LISTENING.search(line):
                # Somebody has to take what it says from now on, or it stops when the pipe is full.
                threading.Thread(target=process.stderr.read, daemon=True).start()
                return found[1]
    raise AssertionError(f"docker-registry did not start: {''.join(lines)}")
