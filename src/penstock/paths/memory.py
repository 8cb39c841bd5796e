"""A tree in memory, for callers that have the files already."""

import posixpath
from collections.abc import Mapping

from penstock.paths.errors import EscapeError, FileError
from penstock.paths.tree import is_within


class MemoryTree:
    """Files by name; relative names are taken from `/`."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = {posixpath.normpath(posixpath.join("/", name)): data for name, data in files.items()}
        self._directories = {"/"}
        for name in self._files:
            while (name := posixpath.dirname(name)) not in self._directories:
                self._directories.add(name)

    def directory(self, path: str) -> str:
        """The normal form of a directory's name."""
        path = posixpath.normpath(posixpath.join("/", path))
        if path not in self._directories:
            reason = "is not a directory" if path in self._files else "does not exist"
            raise FileError(f"'{path}' {reason}")
        return path

    def close(self) -> None:
        """Nothing is open."""

    def read(self, path: str, *, within: str | None = None) -> bytes:
        """The content of a file."""
        path = posixpath.normpath(posixpath.join("/", path))
        if within is not None and not is_within(path, within):
            raise EscapeError(f"'{path}' is not in or below '{within}'")
        content = self._files.get(path)
        if content is None:
            reason = "is a directory" if path in self._directories else "does not exist"
            raise FileError(f"cannot read '{path}': it {reason}")
        return content
