"""Room for work: directories of this process that nobody else can look into, and that go away with it."""

from __future__ import annotations

import asyncio
import os
import tempfile
from contextlib import asynccontextmanager, suppress
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
            await asyncio.to_thread(remove_tree, root)
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
            await asyncio.to_thread(remove_tree, path)


def remove_tree(root: Path) -> None:
    """Remove a directory of ours with whatever somebody else put into it; what cannot be removed stays. Blocks.

    `shutil.rmtree` ends in an error of the interpreter when directories lie a thousand deep, and cannot enter those
    that forbid it.
    """
    waiting, entered = [os.fspath(root)], list[str]()
    while waiting:
        directory = waiting.pop()
        entered.append(directory)
        with suppress(OSError):
            os.chmod(directory, 0o700)  # noqa: PTH101 - thousands of times, on plain texts
            with os.scandir(directory) as entries:
                found = [(entry.path, entry.is_dir(follow_symlinks=False)) for entry in entries]
            for path, is_directory in found:
                if is_directory:
                    waiting.append(path)
                else:
                    os.unlink(path)  # noqa: PTH108
    for directory in reversed(entered):
        with suppress(OSError):
            os.rmdir(directory)  # noqa: PTH106


def _begin(parent: Path) -> tuple[Path, int]:
    parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    for other in parent.glob(f"{_PREFIX}*"):
        if not is_held(other / _LOCK) and _has_owner(other):
            remove_tree(other)
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
