"""An archive as a directory, whoever wrote the archive.

Only regular files and directories come out, each below the root, each once. Two entries of one name are refused: of
the two, one reader would take the first and another the last, and what was reviewed would not be what is built. Names
that differ only by case or by Unicode form are different files, as they are in Git; a file system that takes them
for the same refuses the second one. Files are created through open directories, so that nothing that changes in the
tree meanwhile can lead out of it.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, Literal

from penstock.paths.packing import BLOCK, DEEPEST
from penstock.paths.tarball import ArchiveError, Tar, Unzipped

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from penstock.paths.tarball import Entry

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_KINDS = {
    b"1": "a hard link",
    b"2": "a symbolic link",
    b"3": "a device",
    b"4": "a device",
    b"6": "a named pipe",
    b"S": "a sparse file",
}


@dataclass(frozen=True, slots=True)
class Limits:
    """How much an archive may hold."""

    content: int = 1 << 30
    """Bytes of all files together."""
    entries: int = 200_000
    depth: int = DEEPEST
    """Directories above a file."""
    name: int = 4_096
    """Bytes of one path."""


@dataclass(frozen=True, slots=True)
class Unpacked:
    """What came out of an archive."""

    files: int
    content: int


def unpack(
    archive: BinaryIO, into: Path, *, limits: Limits | None = None, links: Literal["refuse", "skip"] = "refuse"
) -> Unpacked:
    """Put the files of a tar archive, plain or gzip, into a directory that is ours. Blocks: call it in a thread.

    Set-uid and its kin are dropped, and everything stays readable and deletable by its owner whatever the archive
    says. `links` tells what a symbolic link means; a hard link or a device is always an error. After an error the
    directory holds a part of the archive: throw it away.
    """
    limits = limits or Limits()
    # Headers and what is skipped take space too; a stream of nothing else ends here.
    tar = Tar(Unzipped(archive, most=limits.content + 4 * BLOCK * limits.entries))
    root = os.open(into, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    writer = _Writer(root)
    count = files = content = 0
    try:
        for entry in tar.entries():
            count += 1
            if count > limits.entries:
                raise ArchiveError(f"the archive holds more than {limits.entries} entries")
            path = _path(entry, limits)
            if entry.kind == b"2" and links == "skip":
                continue
            if entry.kind == b"5":
                writer.directory(path, entry)
                continue
            if entry.kind != b"0":
                raise ArchiveError(f"'{entry.shown}' in the archive is {_KINDS.get(entry.kind, 'of an unknown kind')}")
            files += 1
            content += entry.size
            if content > limits.content:
                raise ArchiveError(f"the archive unpacks to more than {limits.content} bytes")
            writer.file(path, entry, tar.content())
    finally:
        writer.close()
    return Unpacked(files, content)


def _path(entry: Entry, limits: Limits) -> list[bytes]:
    """The parts of an entry's name; empty for the root itself."""
    name = entry.name
    if not name or name.startswith(b"/") or b"\\" in name or b"\x00" in name:
        raise ArchiveError(f"'{entry.shown}' in the archive is no relative name")
    if len(name) > limits.name:
        raise ArchiveError(f"'{entry.shown}...' in the archive is longer than {limits.name} bytes")
    parts = [part for part in name.split(b"/") if part not in {b"", b"."}]
    if b".." in parts:
        raise ArchiveError(f"'{entry.shown}' in the archive leads out of its directory")
    if len(parts) > limits.depth + 1:
        raise ArchiveError(f"'{entry.shown}' in the archive lies more than {limits.depth} directories deep")
    if entry.kind == b"0" and (not parts or name.endswith((b"/", b"/."))):
        raise ArchiveError(f"'{entry.shown}' in the archive is a file with the name of a directory")
    return parts


class _Writer:
    """Creates files below a directory, and keeps the way to the last one open: the next is mostly near."""

    def __init__(self, root: int) -> None:
        self._handles = [root]
        self._names: list[bytes] = []

    def directory(self, path: list[bytes], entry: Entry) -> None:
        """Make a directory, or find it there already; it stays open to its owner."""
        try:
            handle = self._enter(path)
            if path:
                os.fchmod(handle, (entry.mode & 0o777) | stat.S_IRWXU)
        except OSError as error:
            raise _refused(entry, error) from error

    def file(self, path: list[bytes], entry: Entry, content: Iterator[bytes]) -> None:
        """Write a new file."""
        *parents, name = path
        mode = (entry.mode & 0o777) | stat.S_IRUSR | stat.S_IWUSR
        try:
            handle = os.open(name, _NEW_FILE, mode, dir_fd=self._enter(parents))
        except OSError as error:
            raise _refused(entry, error) from error
        with os.fdopen(handle, "wb", buffering=0) as file:
            for part in content:
                view = memoryview(part)
                while view:
                    view = view[file.write(view) or 0 :]

    def close(self) -> None:
        while self._handles:
            os.close(self._handles.pop())

    def _enter(self, path: list[bytes]) -> int:
        common = 0
        while common < min(len(path), len(self._names)) and path[common] == self._names[common]:
            common += 1
        while len(self._names) > common:
            self._names.pop()
            os.close(self._handles.pop())
        for name in path[common:]:
            self._handles.append(_opened(name, self._handles[-1]))
            self._names.append(name)
        return self._handles[-1]


def _opened(name: bytes, parent: int) -> int:
    try:
        return os.open(name, _DIRECTORY, dir_fd=parent)
    except FileNotFoundError:
        os.mkdir(name, 0o750, dir_fd=parent)
        return os.open(name, _DIRECTORY, dir_fd=parent)


def _refused(entry: Entry, error: OSError) -> ArchiveError:
    if isinstance(error, FileExistsError):
        return ArchiveError(f"'{entry.shown}' is in the archive twice; which one counts cannot be told")
    if isinstance(error, NotADirectoryError):
        return ArchiveError(f"'{entry.shown}' in the archive lies below something that is no directory")
    return ArchiveError(f"cannot unpack '{entry.shown}': {error.strerror}")
