"""Locks on files, held by the kernel: whoever dies lets go, however he dies."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path


class Held(Exception):
    """Somebody else holds the lock."""


@contextmanager
def locked(path: Path) -> Generator[None]:
    """Hold the lock file while the body runs; Held when somebody else does. Never waits."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            if not try_lock(handle):
                raise Held(str(path))
            if not _is_still(path, handle):  # removed between our open and our lock: that one guards nothing any more
                continue
            yield
            return
        finally:
            os.close(handle)


def try_lock(handle: int) -> bool:
    """Lock an open file if nobody else has."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_held(path: Path) -> bool:
    """Whether a living process holds a lock on the file."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return not try_lock(handle)
    finally:
        os.close(handle)


def _is_still(path: Path, handle: int) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(os.stat(path), os.fstat(handle))  # noqa: PTH116 - beside fstat, which Path has not
    return False
