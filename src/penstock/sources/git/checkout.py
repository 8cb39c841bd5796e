"""The files of a commit, written as they are stored: no filters, no line end conversion, no links, nothing runs.

Everything here runs in a thread and reads two pipes of `git`; a tree is hostile, so its names and its size are checked
before anything is written.
"""

from __future__ import annotations

import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.sources.git.errors import GitFailed
from penstock.sources.git.program import ProgramFailed, listening, output_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from io import BufferedReader
    from pathlib import Path

    from penstock.sources.git.program import Job, Setting

_CHUNK = 1 << 20
_EXECUTABLE, _SUBMODULE = b"100755", b"160000"
_FILES = (b"100644", b"100755", b"100664")
_WORTH_TWO = 1000  # files
_HINT = "leave some out with spec.sparseCheckout"
_REFUSED_NAMES = frozenset({b"", b".", b".."})


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much a tree may hold."""

    files: int = 500_000
    size: int = 4 << 30
    """Bytes of all files together."""
    depth: int = 256


@dataclass(frozen=True, slots=True)
class Entry:
    """A file of a commit."""

    path: bytes
    name: str
    """The hash of its content."""
    executable: bool


@dataclass(frozen=True, slots=True)
class Tree:
    """What a commit holds: files to write, and where other repositories belong."""

    files: list[Entry]
    submodules: dict[str, str]
    """The commit for each path."""


def listed(job: Job, setting: Setting, commit: str, directories: Sequence[str], bounds: Bounds) -> Tree:
    """The files of a commit that lie in these directories, or all; links are left out."""
    wanted = tuple(directory.encode("utf-8", "surrogateescape") for directory in directories)
    tree = Tree([], {})
    command = ["ls-tree", "-r", "-z", "--full-tree", commit]
    with job.started(command, setting) as process, listening(process) as words:
        for mode, name, path in _entries(output_of(process)):
            if not _is_wanted(path, wanted):
                continue
            if mode == _SUBMODULE:
                tree.submodules[_checked(path, bounds).decode("utf-8", "surrogateescape")] = name
            elif mode in _FILES:
                tree.files.append(Entry(_checked(path, bounds), name, mode == _EXECUTABLE))
            if len(tree.files) + len(tree.submodules) > bounds.files:
                raise GitFailed(f"the commit holds more than {bounds.files} files; {_HINT}")
        code = process.wait()
    if code != 0:
        raise ProgramFailed(words())
    return tree


def write(job: Job, setting: Setting, tree: Tree, into: Path, bounds: Bounds) -> None:
    """Put the files of a tree below a directory in which nobody else writes; after an error, throw it away."""
    room, root = _Room(bounds.size), os.fsencode(into)
    half = len(tree.files) // 2
    if half < _WORTH_TWO:
        _write(job, setting, tree.files, root, room)
        return
    # Two readers and two writers: most of it is waiting for the system, which has a core for each.
    with ThreadPoolExecutor(1, thread_name_prefix="git-write") as other:
        second = other.submit(_write, job, setting, tree.files[half:], root, room)
        try:
            _write(job, setting, tree.files[:half], root, room)
        except BaseException:
            job.stop()  # the other half has no reason to go on
            raise
        second.result()


class _Room:
    """Bytes that may still be written; two threads that take from it may both take the last."""

    def __init__(self, size: int) -> None:
        self._size = self._left = size

    def take(self, length: int) -> None:
        self._left -= length
        if self._left < 0:
            raise GitFailed(f"the commit holds more than {self._size >> 20} MiB of files; {_HINT}")


def _write(job: Job, setting: Setting, files: Sequence[Entry], root: bytes, room: _Room) -> None:
    with tempfile.TemporaryFile() as asked:
        asked.write(b"".join(entry.name.encode("ascii") + b"\n" for entry in files))
        asked.seek(0)
        command = ["cat-file", "--batch", "--buffer"]
        with job.started(command, setting, stdin=asked) as process, listening(process):
            _write_all(output_of(process), files, root, room)


def _write_all(source: BufferedReader, files: Iterable[Entry], root: bytes, room: _Room) -> None:
    made = {b""}
    for entry in files:
        header = source.readline(256).split()
        if len(header) != 3 or header[1] != b"blob":
            raise ProgramFailed(f"object {entry.name} is missing")
        length = int(header[2])
        room.take(length)
        parent = entry.path.rpartition(b"/")[0]
        if parent not in made:
            _make(root, parent, made)
        _write_file(source, length, root + b"/" + entry.path, executable=entry.executable)
        source.read(1)  # the line end after the content


def _make(root: bytes, directory: bytes, made: set[bytes]) -> None:
    at = b""
    for part in directory.split(b"/"):
        at = at + b"/" + part if at else part
        if at in made:
            continue
        # A directory that is there is fine; a file of the same name is not, and shows as soon as it is used.
        with suppress(FileExistsError):
            os.mkdir(root + b"/" + at, 0o755)  # noqa: PTH102  -- names are bytes, and there are thousands
        made.add(at)


def _write_file(source: BufferedReader, length: int, path: bytes, *, executable: bool) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        handle = os.open(path, flags, 0o755 if executable else 0o644)
    except OSError as error:
        raise GitFailed(f"the commit holds '{_text(path)}' twice, or under a name that cannot be a file") from error
    try:
        while length > 0:
            chunk = source.read(min(length, _CHUNK))
            if not chunk:
                raise ProgramFailed("its output is cut off")
            length -= len(chunk)
            while chunk:
                chunk = chunk[os.write(handle, chunk) :]
    finally:
        os.close(handle)


def _entries(source: BufferedReader) -> Iterator[tuple[bytes, str, bytes]]:
    """Mode, hash and path of everything in a tree, as they come."""
    rest = b""
    while chunk := source.read1(_CHUNK):
        *lines, rest = (rest + chunk).split(b"\0")
        if len(rest) > _CHUNK:
            raise GitFailed("the commit holds a path of more than 1 MiB")
        for line in lines:
            facts, _, path = line.partition(b"\t")
            mode, _, name = facts.split()
            yield mode, name.decode("ascii"), path


def _is_wanted(path: bytes, directories: tuple[bytes, ...]) -> bool:
    return not directories or any(path == one or path.startswith(one + b"/") or not one for one in directories)


def _checked(path: bytes, bounds: Bounds) -> bytes:
    parts = path.split(b"/")
    if len(parts) > bounds.depth:
        raise GitFailed(f"the commit holds a directory more than {bounds.depth} levels deep")
    for part in parts:
        if part in _REFUSED_NAMES or part.lower() == b".git":
            raise GitFailed(f"the commit holds the path '{_text(path)}', which no repository may have")
    return path


def _text(path: bytes) -> str:
    return path[-200:].decode("utf-8", "replace")
