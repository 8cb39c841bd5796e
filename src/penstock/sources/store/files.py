"""Files of the store on disk: written whole or not at all, swept after a crash, thinned out with time.

A new file is written under a name that is never served, locked by its writer, and then renamed. What a killed
process leaves behind is such a file without a lock: anybody can tell it from one that is being written.
"""

from __future__ import annotations

import os
import secrets
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from penstock.sources.store.locks import is_held, try_lock

if TYPE_CHECKING:
    from collections.abc import Collection, Generator

UNFINISHED = ".unfinished"
LOCK = ".lock"
MOST_FILES = 1_000
"""Files of one directory that are looked at in one go."""
BUDGET = 5.0
"""Seconds for thinning out one directory."""


@dataclass(frozen=True, slots=True)
class Retention:
    """Which older files are kept beside the current one."""

    ttl: float = 60.0
    """Seconds after which an old file goes."""
    records: int = 2
    """Files that are kept at most, the current one included."""


@contextmanager
def written(path: Path) -> Generator[BinaryIO]:
    """A file to write that takes its name when the body ends well, and is gone otherwise."""
    unfinished = path.with_name(f".{secrets.token_hex(8)}{UNFINISHED}")
    handle = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            try_lock(handle)
            yield file
            file.flush()
            unfinished.rename(path)
    except BaseException:
        with suppress(FileNotFoundError):
            unfinished.unlink()
        raise


def link(path: Path, target: str) -> None:
    """Make a link point at a file beside it, in one step."""
    unfinished = path.with_name(f".{secrets.token_hex(8)}{UNFINISHED}")
    unfinished.symlink_to(target)
    try:
        unfinished.rename(path)
    except OSError:
        unfinished.unlink()
        raise


def sweep(root: Path) -> int:
    """Remove what killed writers left behind; what is being written is let alone. The answer is how many files."""
    removed = 0
    for directory, _, names in os.walk(root):
        for name in names:
            path = Path(directory, name)
            if name.startswith(".") and name.endswith(UNFINISHED) and not is_held(path):
                path.unlink(missing_ok=True)
                removed += 1
    return removed


def identity_of(status: os.stat_result) -> tuple[int, ...]:
    """What changes whenever a file is replaced or written to."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def thin_out(directory: Path, kept: Collection[Path], retention: Retention, *, now: float) -> list[Path]:
    """Remove files that are too old, then the oldest of those that are too many; never those that are to be kept.

    `now` is the time of day in seconds. Lock files go with their file, links stay. The answer is what was removed.
    """
    until = time.monotonic() + BUDGET
    found = [(path, age) for path, age in _files(directory) if path not in kept]
    old = [path for path, age in found if now - age > retention.ttl]
    others = sorted((age, path) for path, age in found if path not in old)
    spare = max(retention.records - 1, 0)
    too_many = [path for _, path in others[: len(others) - spare]] if len(others) > spare else []
    removed: list[Path] = []
    for path in (*old, *too_many):
        if time.monotonic() > until:
            break
        path.unlink(missing_ok=True)
        path.with_name(path.name + LOCK).unlink(missing_ok=True)
        removed.append(path)
    return removed


def _files(directory: Path) -> list[tuple[Path, float]]:
    """The finished files of a directory and when each was written."""
    try:
        entries = os.scandir(directory)
    except FileNotFoundError:
        return []
    with entries:
        return [
            (Path(entry.path), entry.stat(follow_symlinks=False).st_mtime)
            for entry in islice(entries, MOST_FILES)
            if entry.is_file(follow_symlinks=False)
            and not entry.name.startswith(".")
            and not entry.name.endswith((LOCK, UNFINISHED))
        ]
