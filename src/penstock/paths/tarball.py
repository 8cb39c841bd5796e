"""Reads a tar archive entry by entry, compressed or not, and trusts nothing in it.

Python's `tarfile` tries to make sense of whatever it finds. This reader takes what our writer and the common tools
write (ustar, GNU long names, PAX paths and sizes) and refuses the rest.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

from penstock.paths.errors import FileError
from penstock.paths.packing import BLOCK

if TYPE_CHECKING:
    from collections.abc import Iterator

_CHUNK = 256 * 1024
_LONGEST_EXTENSION = 1 << 20
_OTHER_PACKERS = {b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"PK\x03\x04": "zip"}


class ArchiveError(FileError):
    """An archive that is broken, or that holds what we do not take."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing in an archive, as its header describes it."""

    name: bytes
    kind: bytes
    mode: int
    size: int

    @property
    def shown(self) -> str:
        """The name for a sentence: on one line, and never long."""
        text = self.name[:200].decode(errors="backslashreplace")
        return "".join(character if character.isprintable() else "?" for character in text)


class Unzipped:
    """The bytes of a stream, decompressed as they are asked for; `most` of them at the utmost."""

    def __init__(self, stream: BinaryIO, *, most: int) -> None:
        self._stream, self._most = stream, most
        self._given = 0
        self._raw = stream.read(_CHUNK)
        for magic, name in _OTHER_PACKERS.items():
            if self._raw.startswith(magic):
                raise ArchiveError(f"the archive is packed with {name}; only gzip is taken")
        self._gzip = zlib.decompressobj(zlib.MAX_WBITS | 16) if self._raw.startswith(b"\x1f\x8b") else None

    def exactly(self, count: int) -> bytes:
        """So many bytes; fewer only at the very end."""
        parts: list[bytes] = []
        while count > 0 and (part := self._some(count)):
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    def _some(self, count: int) -> bytes:
        count = min(count, _CHUNK)
        data = self._plain(count) if self._gzip is None else self._inflated(count)
        self._given += len(data)
        if self._given > self._most:
            raise ArchiveError(f"the archive unpacks to more than {self._most} bytes")
        return data

    def _plain(self, count: int) -> bytes:
        if not self._raw:
            self._raw = self._stream.read(_CHUNK)
        data, self._raw = self._raw[:count], self._raw[count:]
        return data

    def _inflated(self, count: int) -> bytes:
        while True:
            gzip = self._gzip
            assert gzip is not None  # noqa: S101 - the caller has looked
            try:
                data = gzip.decompress(self._raw, count)
            except zlib.error as error:
                raise ArchiveError(f"the archive is no valid gzip: {error}") from error
            self._raw = gzip.unconsumed_tail
            if gzip.eof:
                self._next_member(gzip.unused_data)
            if data:
                return data
            if not self._raw:
                self._raw = self._stream.read(_CHUNK)
                if not self._raw:
                    if self._gzip is gzip and not gzip.eof:
                        raise ArchiveError("the archive is cut off")
                    return b""

    def _next_member(self, rest: bytes) -> None:
        """A gzip file may hold several streams, one after the other."""
        self._raw = rest or self._stream.read(_CHUNK)
        if self._raw.strip(b"\x00"):
            self._gzip = zlib.decompressobj(zlib.MAX_WBITS | 16)
        else:
            self._raw = b""


class Tar:
    """The entries of an archive, in order; the content of each is read before the next is asked for."""

    def __init__(self, stream: Unzipped) -> None:
        self._stream = stream
        self._left = self._padding = 0

    def entries(self) -> Iterator[Entry]:
        overrides: dict[bytes, bytes] = {}
        while True:
            self._skip()
            block = self._stream.exactly(BLOCK)
            if not block or block.count(0) == BLOCK:
                if not block:
                    raise ArchiveError("the archive is cut off: it has no end marker")
                return
            entry = _parse(block)
            if entry.kind in {b"x", b"L", b"K", b"g"}:
                text = self._extension(entry)
                if entry.kind != b"g":  # what holds for the whole archive is a comment of git's; nothing else is taken
                    overrides |= _long_name(entry.kind, text) if entry.kind != b"x" else _records(text)
                elif _records(text).keys() - {b"comment"}:
                    raise ArchiveError("the archive sets attributes for all its entries, which is not taken")
                continue
            entry = _overridden(entry, overrides)
            overrides = {}
            self._left, self._padding = entry.size, -entry.size % BLOCK
            yield entry

    def content(self) -> Iterator[bytes]:
        """What is in the entry at hand."""
        while self._left:
            part = self._stream.exactly(min(self._left, _CHUNK))
            if not part:
                raise ArchiveError("the archive is cut off inside a file")
            self._left -= len(part)
            yield part

    def _skip(self) -> None:
        for _ in self.content():
            pass
        self._stream.exactly(self._padding)
        self._padding = 0

    def _extension(self, entry: Entry) -> bytes:
        if entry.size > _LONGEST_EXTENSION:
            raise ArchiveError(f"an extended header of {entry.size} bytes is too long")
        text = self._stream.exactly(entry.size)
        self._stream.exactly(-entry.size % BLOCK)
        if len(text) < entry.size:
            raise ArchiveError("the archive is cut off inside an extended header")
        return text


def _parse(block: bytes) -> Entry:
    if len(block) < BLOCK:
        raise ArchiveError("the archive is cut off inside a header")
    stored = _number(block[148:156], "checksum")
    if stored != sum(block) - sum(block[148:156]) + 8 * 32:
        raise ArchiveError("a header of the archive has a wrong checksum")
    name = block[:100].partition(b"\x00")[0]
    if block[257:262] == b"ustar" and (prefix := block[345:500].partition(b"\x00")[0]) and block[263:265] == b"00":
        name = prefix + b"/" + name
    kind = block[156:157]
    size = _number(block[124:136], "size")
    if kind in {b"1", b"2", b"3", b"4", b"5", b"6"}:  # what these say about a size is not followed by content
        size = 0
    return Entry(name, b"0" if kind == b"\x00" else kind, _number(block[100:108], "mode") & 0o7777, size)


def _number(field: bytes, what: str) -> int:
    if field[0] & 0x80:
        value = int.from_bytes(field, "big", signed=False) - (0x80 << 8 * (len(field) - 1))
        if field[0] & 0x40 or value >= 1 << 62:
            raise ArchiveError(f"a header of the archive has a negative or overflowing {what}")
        return value
    text = field.strip(b" \x00")
    if not text:
        return 0
    if not text.isdigit() or b"8" in text or b"9" in text:
        raise ArchiveError(f"a header of the archive has no valid {what}")
    return int(text, 8)


def _long_name(kind: bytes, text: bytes) -> dict[bytes, bytes]:
    return {b"path": text.rstrip(b"\x00")} if kind == b"L" else {}


def _records(text: bytes) -> dict[bytes, bytes]:
    records: dict[bytes, bytes] = {}
    while text:
        digits, blank, _ = text.partition(b" ")
        if not blank or not digits.isdigit() or len(digits) > 8:
            raise ArchiveError("an extended header of the archive is malformed")
        length = int(digits)
        record = text[len(digits) + 1 : length]
        key, equals, value = record[:-1].partition(b"=")
        if length > len(text) or not record.endswith(b"\n") or not equals:
            raise ArchiveError("an extended header of the archive is malformed")
        if key.startswith(b"GNU.sparse"):
            raise ArchiveError("the archive holds a sparse file, which is not taken")
        records[key] = value
        text = text[length:]
    return records


def _overridden(entry: Entry, records: dict[bytes, bytes]) -> Entry:
    """The entry as its extended header wants it; only names and sizes are taken from there."""
    size = records.get(b"size")
    if size is not None and (not size.isdigit() or len(size) > 18):
        raise ArchiveError("an extended header of the archive has no valid size")
    return Entry(
        records.get(b"path", entry.name),
        entry.kind,
        entry.mode,
        entry.size if size is None or entry.kind not in {b"0", b"7"} else int(size),
    )
