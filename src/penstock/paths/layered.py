"""A directory that nobody may leave, with some files replaced in memory: the disk below is never written."""

import os
from collections.abc import Mapping

from penstock.paths.disk import DiskTree
from penstock.paths.errors import EscapeError
from penstock.paths.tree import is_within


class LayeredTree:
    """What lies in or below `root`, under real names; `files` are absolute names and stand in front of the disk."""

    def __init__(self, root: str | os.PathLike[str], files: Mapping[str, bytes] | None = None) -> None:
        self.root = os.path.realpath(root)
        self._disk = DiskTree()
        self._files: dict[str, bytes] = {}
        for name, content in (files or {}).items():
            self._files[self._real(name)] = content

    def directory(self, path: str) -> str:
        """The real name of a directory in or below the root."""
        real = self._disk.directory(path)
        if not is_within(real, self.root):
            raise self._escape(path)
        return real

    def close(self) -> None:
        """Let go of whatever is open."""
        self._disk.close()

    def read(self, path: str, *, within: str | None = None) -> bytes:
        """The content of a file that really lies in or below the root, and in or below `within`."""
        if self._files and (content := self._replaced(path, within)) is not None:
            return content
        try:
            return self._disk.read(path, within=self.root if within is None else within)
        except EscapeError as error:
            raise self._escape(path) from error

    def _replaced(self, path: str, within: str | None) -> bytes | None:
        real = self._real(path)
        content = self._files.get(real)
        if content is None and os.path.islink(real):  # noqa: PTH114  -- a stat, not an object, thousands of times
            real = os.path.realpath(real)
            content = self._files.get(real)
        if content is not None and within is not None and not is_within(real, within):
            raise self._escape(path)
        return content

    def _real(self, path: str) -> str:
        parent, name = os.path.split(os.path.normpath(os.path.join(self.root, path)))  # noqa: PTH118
        return f"{self._disk._real_directory(parent).rstrip('/')}/{name}"  # noqa: SLF001

    def _escape(self, path: str) -> EscapeError:
        return EscapeError(f"fs-security-constraint: '{path}' leads out of '{self.root}'")
