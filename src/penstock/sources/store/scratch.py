"""Room for work: directories of this process that nobody else can look into, and that go away with it."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.sources.remote import SourceError
from penstock.sources.store.locks import is_held, try_lock

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

_PREFIX = "scratch-"
_LOCK = ".lock"


class Scratch:
    """A directory of this process below a parent that several may share.

    Its owner holds a lock on a file in it. What a killed process left is a directory without such a lock: the next
    one that starts removes it.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    @classmethod
    @asynccontextmanager
    async def below(cls, parent: Path) -> AsyncGenerator[Scratch]:
        """Make room, sweep what dead processes left, and remove everything at the end."""
        root, handle = await asyncio.to_thread(_begin, parent)
        try:
            yield cls(root)
        finally:
            await asyncio.to_thread(shutil.rmtree, root, ignore_errors=True)
            os.close(handle)

    @asynccontextmanager
    async def directory(self, name: str = "work") -> AsyncGenerator[Path]:
        """An empty directory, removed with all its content at the end."""
        try:
            path = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix=f"{name[:60]}-", dir=self.root))
        except OSError as error:
            told = f"failed to create temporary working directory: {error.strerror}"
            raise SourceError(told, reason="DirectoryCreationFailed", condition="StorageOperationFailed") from error
        try:
            yield path
        finally:
            await asyncio.to_thread(shutil.rmtree, path, ignore_errors=True)


def _begin(parent: Path) -> tuple[Path, int]:
    parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    for other in parent.glob(f"{_PREFIX}*"):
        if not is_held(other / _LOCK) and _has_owner(other):
            shutil.rmtree(other, ignore_errors=True)
    # The lock is there before the directory has its name: nobody can find it without one.
    new = Path(tempfile.mkdtemp(prefix=".new-", dir=parent))
    handle = os.open(new / _LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try_lock(handle)
    root = parent / new.name.replace(".new-", _PREFIX)
    new.rename(root)
    return root, handle


def _has_owner(directory: Path) -> bool:
    """Whether it is one of ours; a directory that only looks like one is let alone."""
    return (directory / _LOCK).is_file() and not directory.is_symlink()
