"""A directory as an archive: the same files always give the same bytes.

The format is that of Flux's artifacts: gzip around tar, the root first as `.`, names in the order of a lexical walk,
no owners, no times, three modes, and neither links nor devices. The headers are written here and not by `tarfile`,
which takes five times as long. The bytes depend on the deflate of the zlib that Python was built with: another zlib
can give another digest for the same files, and consumers only ever compare a digest with the status it stands in.
"""

from __future__ import annotations

import os
import stat
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, Protocol

from penstock.paths.errors import FileError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILE_MODE, PROGRAM_MODE, DIRECTORY_MODE = 0o600, 0o700, 0o750

BLOCK = 512
LEVEL = 6
_CHUNK = 1 << 20
DEEPEST = 100
"""Directories above a file, in what we pack and in what we unpack."""
_LARGEST_PLAIN = 8**11 - 1  # what eleven octal digits hold
# No name, no time, no operating system: only the content counts.
_GZIP_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"


class PackError(FileError):
    """A directory cannot be packed."""


class Excludes(Protocol):
    """What decides which paths stay out; `penstock.paths.IgnoreRules` does."""

    def excludes(self, path: str, *, directory: bool = False) -> bool: ...


@dataclass(frozen=True, slots=True)
class Packed:
    """What went into an archive."""

    files: int
    content: int
    """Bytes of the files before packing."""


def pack(directory: Path, out: BinaryIO, *, leaving_out: Excludes | None = None) -> Packed:
    """Write the archive of a directory. Blocks: call it in a thread.

    What is ignored is tested alone, path by path, so that a file can come back from an ignored directory. A link is
    never followed, also not one that appears while we read.
    """
    gzip = _Gzip(out)
    files = content = 0
    for path, entry, parent in _walk(directory):
        is_directory = stat.S_ISDIR(entry.st_mode)
        if path and leaving_out is not None and leaving_out.excludes(path, directory=is_directory):
            continue
        if is_directory:
            gzip.write(header(path or ".", mode=DIRECTORY_MODE, size=0, kind=b"5"))
        else:
            files += 1
            content += _add_file(gzip, path, entry, parent)
    gzip.write(bytes(2 * BLOCK))
    gzip.close()
    return Packed(files, content)


def _walk(directory: Path) -> Iterator[tuple[str, os.stat_result, int]]:
    """Directories and regular files, each directory before what is in it, with the open directory that holds them."""
    root = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield "", os.fstat(root), root
        yield from _below(root, "", 0)
    finally:
        os.close(root)


def _below(handle: int, prefix: str, depth: int) -> Iterator[tuple[str, os.stat_result, int]]:
    if depth > DEEPEST:
        raise PackError(f"'{prefix[:80]}...' lies more than {DEEPEST} directories deep")
    with os.scandir(handle) as found:
        # Go compares names as bytes; so does this, also where a name is no UTF-8.
        entries = sorted(found, key=lambda entry: os.fsencode(entry.name))
    for entry in entries:
        status = entry.stat(follow_symlinks=False)
        path = prefix + entry.name
        if stat.S_ISREG(status.st_mode):
            yield path, status, handle
        elif stat.S_ISDIR(status.st_mode):
            yield path, status, handle
            inner = os.open(entry.name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=handle)
            try:
                yield from _below(inner, path + "/", depth + 1)
            finally:
                os.close(inner)


def _add_file(gzip: _Gzip, path: str, entry: os.stat_result, parent: int) -> int:
    mode = PROGRAM_MODE if entry.st_mode & 0o111 else FILE_MODE
    name = path.rpartition("/")[2]
    try:
        handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=parent)
    except OSError as error:
        raise PackError(f"cannot read '{path}': {error.strerror}") from error
    try:
        content = os.read(handle, min(entry.st_size, _CHUNK) + 1)
        size = entry.st_size if entry.st_size > _CHUNK else len(content)
        gzip.write(header(path, mode=mode, size=size, kind=b"0"))
        gzip.write(content[:size])
        written = min(len(content), size)
        while written < size:
            content = os.read(handle, min(size - written, _CHUNK))
            if not content:
                raise PackError(f"'{path}' became shorter while it was read")
            gzip.write(content)
            written += len(content)
    finally:
        os.close(handle)
    gzip.write(bytes(-size % BLOCK))
    return size


def header(path: str, *, mode: int, size: int, kind: bytes) -> bytes:
    """The header of one entry, in the old form where it can say everything and with an extension otherwise."""
    raw = os.fsencode(path)
    split = _split(raw) if raw.isascii() else None
    if split is not None and size <= _LARGEST_PLAIN:
        return _block(split[1], split[0], mode=mode, size=size, kind=kind)
    records = b"" if split is not None else _record(b"path", raw)
    if size > _LARGEST_PLAIN:
        records += _record(b"size", str(size).encode())
    base = raw[-100:].rpartition(b"/")[2]
    extension = _block(b"PaxHeaders.0/" + base[:80], b"", mode=0, size=len(records), kind=b"x")
    short = _block(raw[:100].rstrip(b"/"), b"", mode=mode, size=min(size, _LARGEST_PLAIN), kind=kind)
    return extension + records + bytes(-len(records) % BLOCK) + short


def _split(raw: bytes) -> tuple[bytes, bytes] | None:
    """The name as prefix and rest, where it fits into the fields of a header."""
    if len(raw) <= 100:
        return b"", raw
    cut = raw.rfind(b"/", 0, 156)
    rest = raw[cut + 1 :]
    return (raw[:cut], rest) if cut > 0 and 0 < len(rest) <= 100 else None


def _record(key: bytes, value: bytes) -> bytes:
    """One record of an extension; it begins with its own length."""
    bare = len(key) + len(value) + 3  # the blank, the equals sign and the line break
    length = bare + len(str(bare))
    length = bare + len(str(length))
    return b"%d %s=%s\n" % (length, key, value)


def _block(name: bytes, prefix: bytes, *, mode: int, size: int, kind: bytes) -> bytes:
    front = name.ljust(100, b"\x00") + b"%07o\x000000000\x000000000\x00%011o\x0000000000000\x00" % (mode, size)
    back = kind + bytes(100) + b"ustar\x0000" + bytes(80) + prefix.ljust(155, b"\x00") + bytes(12)
    total = sum(front) + 8 * 32 + sum(back)
    return front + b"%06o\x00 " % total + back


class _Gzip:
    """A gzip stream without anything in its header."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._deflate = zlib.compressobj(LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
        self._crc = self._size = 0
        self._waiting = bytearray()
        out.write(_GZIP_HEADER)

    def write(self, data: bytes) -> None:
        self._waiting += data
        if len(self._waiting) >= _CHUNK:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._out.write(self._deflate.flush())
        self._out.write(self._crc.to_bytes(4, "little") + (self._size & 0xFFFFFFFF).to_bytes(4, "little"))

    def _flush(self) -> None:
        self._crc = zlib.crc32(self._waiting, self._crc)
        self._size += len(self._waiting)
        self._out.write(self._deflate.compress(self._waiting))
        self._waiting.clear()
