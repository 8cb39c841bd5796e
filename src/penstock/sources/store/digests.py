"""Digests of files, written `<algorithm>:<hex>`."""

from __future__ import annotations

import hashlib
import re
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, BinaryIO, Protocol

from penstock.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

ALGORITHMS = ("sha256", "sha384", "sha512", "blake3", "sha1")
_CHUNK = 1 << 20
_HEX = re.compile(r"[0-9a-f]{8,128}")


class Hash(Protocol):
    """What all algorithms have in common."""

    def update(self, data: bytes, /) -> object: ...

    def hexdigest(self) -> str: ...


def hasher(algorithm: str) -> Hash:
    """A new hash; UsageError names the algorithms that there are."""
    if algorithm == "blake3":
        return _blake3()
    if algorithm not in ALGORITHMS:
        raise UsageError(f"'{algorithm[:40]}' is no digest algorithm; take one of {', '.join(ALGORITHMS)}")
    return hashlib.new(algorithm, usedforsecurity=False)


def split(digest: str) -> tuple[str, str]:
    """Algorithm and hex digits; a digest without an algorithm is a sha256."""
    algorithm, colon, digits = digest.rpartition(":")
    if not colon:
        algorithm = "sha256"
    if not _HEX.fullmatch(digits):
        raise UsageError(f"'{digest[:80]}' is no digest like sha256:<hex>")
    return algorithm, digits


def of_file(file: BinaryIO, algorithm: str) -> str:
    """The digest of the rest of an open file. Blocks."""
    total = hasher(algorithm)
    for part in iter(partial(file.read, _CHUNK), b""):
        total.update(part)
    return f"{algorithm}:{total.hexdigest()}"


def same(first: str, second: str) -> bool:
    """Whether two digests name the same content with the same algorithm."""
    return split(first) == split(second)


class Hashing:
    """A file to read from or write to that computes the digest of what passes."""

    def __init__(self, file: BinaryIO, algorithm: str) -> None:
        self._file, self._algorithm = file, algorithm
        self._hash = hasher(algorithm)
        self.size = 0

    @property
    def digest(self) -> str:
        return f"{self._algorithm}:{self._hash.hexdigest()}"

    def write(self, data: bytes) -> int:
        self._hash.update(data)
        self.size += len(data)
        return self._file.write(data)

    def read(self, count: int = -1) -> bytes:
        data = self._file.read(count)
        self._hash.update(data)
        self.size += len(data)
        return data


def _blake3() -> Hash:
    try:
        make: Callable[[], Hash] = import_module("blake3").blake3
    except ImportError:
        raise UsageError("the digest algorithm blake3 needs the package 'blake3' from the package index") from None
    return make()
