"""A tree on disk.

Checking a name first and opening it afterwards would leave a gap in which somebody can put a link in its
place. So the directory is opened first, and then it is the open directory that has to lie inside; its files are
opened from there.
"""

import os
import stat

from penstock.paths.errors import EscapeError, FileError
from penstock.paths.tree import is_within

_LARGEST = 64 << 20  # bytes
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NOT_NAMES = frozenset({"", ".", ".."})


class DiskTree:
    """Directories and files of this machine.

    The directory that was read from last stays open, so that its files need not be looked for from the root; `close`
    lets go of it.
    """

    def __init__(self, *, largest: int = _LARGEST) -> None:
        self._largest = largest
        self._real: dict[str, str] = {}  # directories that were resolved already
        self._folder = ""  # the directory that is open
        self._folder_handle = -1
        self._folder_real = ""  # where it really lay when it was opened

    def close(self) -> None:
        """Close what is open; the next read opens it again."""
        if self._folder_handle >= 0:
            os.close(self._folder_handle)
        self._folder, self._folder_handle = "", -1

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
        folder = self._real_directory(parent)
        try:
            if folder != self._folder:
                self._open_folder(folder)
            handle = os.open(name, _FLAGS, dir_fd=self._folder_handle)
        except OSError as error:
            target = f"{folder}/{name}"
            if not os.path.islink(target):  # noqa: PTH114
                raise FileError(f"cannot read '{path}': {error.strerror}") from error
            return self._read_link(target, path, within)
        try:
            if within is not None and not is_within(self._folder_real, within):
                raise EscapeError(f"'{path}' is not in or below '{within}'")
            return self._content(handle, path)
        finally:
            os.close(handle)

    def _read_link(self, link: str, path: str, within: str | None) -> bytes:
        target = os.path.realpath(link)
        handle = _open(target, path)
        try:
            if within is not None and not is_within(_really(handle, target), within):
                raise EscapeError(f"'{path}' is not in or below '{within}'")
            return self._content(handle, path)
        finally:
            os.close(handle)

    def _open_folder(self, folder: str) -> None:
        self.close()
        self._folder_handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._folder, self._folder_real = folder, _really(self._folder_handle, folder)

    def _real_directory(self, path: str) -> str:
        real = self._real.get(path)
        if real is None:
            real = self._real[path] = os.path.realpath(path)
        return real

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
        return os.open(target, _FLAGS)
    except OSError as error:
        raise FileError(f"cannot read '{path}': {error.strerror}") from error


def _really(handle: int, name: str) -> str:
    """Where something that is open lies; the directories above may have been swapped for links in between."""
    try:
        return os.readlink(f"/proc/self/fd/{handle}")  # noqa: PTH115
    except OSError:
        return os.path.realpath(name)
