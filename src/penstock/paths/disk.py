"""A tree on disk.

Checking a name first and opening it afterwards would leave a gap in which somebody can put a link in its
place. So the file is opened first, and then it is the open file that has to be one that lies inside.
"""

import os
import stat

from penstock.paths.errors import EscapeError, FileError
from penstock.paths.tree import is_within

_LARGEST = 64 << 20  # bytes
_NOT_NAMES = frozenset({"", ".", ".."})


class DiskTree:
    """Directories and files of this machine."""

    def __init__(self, *, largest: int = _LARGEST) -> None:
        self._largest = largest
        self._real: dict[str, str] = {}  # directories that were resolved already

    def directory(self, path: str) -> str:
        """The real name of a directory, all links resolved."""
        real = self._real_directory(os.path.normpath(path))
        if not os.path.isdir(real):  # noqa: PTH112  -- a stat, not an object, thousands of times a build
            reason = "is not a directory" if os.path.lexists(real) else "does not exist"
            raise FileError(f"'{path}' {reason}")
        return real

    def read(self, path: str, *, within: str | None = None) -> bytes:
        """The content of a regular file.

        A link is followed, but what it leads to must be a file in or below `within`.
        """
        parent, _, name = path.rpartition("/")
        if name in _NOT_NAMES or parent not in self._real:
            parent, name = os.path.split(os.path.normpath(path))
        target = f"{self._real_directory(parent)}/{name}"
        try:
            handle = os.open(target, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            if not os.path.islink(target):  # noqa: PTH114
                raise FileError(f"cannot read '{path}': {error.strerror}") from error
            target = os.path.realpath(target)
            handle = _open(target, path)
        try:
            if within is not None:
                self._confine(handle, target, path, within)
            return self._content(handle, path)
        finally:
            os.close(handle)

    def _real_directory(self, path: str) -> str:
        real = self._real.get(path)
        if real is None:
            real = self._real[path] = os.path.realpath(path)
        return real

    def _confine(self, handle: int, target: str, path: str, within: str) -> None:
        if not is_within(target, within):
            raise EscapeError(f"'{path}' is not in or below '{within}'")
        # The directories above may have been swapped for links since they were resolved.
        try:
            real = os.readlink(f"/proc/self/fd/{handle}")  # noqa: PTH115
        except OSError:
            real = os.path.realpath(target)
        if real != target and not is_within(real, within):
            raise EscapeError(f"'{path}' is not in or below '{within}'")

    def _content(self, handle: int, path: str) -> bytes:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise FileError(f"'{path}' is not a regular file")
        if status.st_size > self._largest:
            raise FileError(f"'{path}' is larger than {self._largest} bytes")
        content = os.read(handle, status.st_size + 1)
        while len(content) < status.st_size and (more := os.read(handle, status.st_size)):
            content += more
        return content


def _open(target: str, path: str) -> int:
    try:
        return os.open(target, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise FileError(f"cannot read '{path}': {error.strerror}") from error
