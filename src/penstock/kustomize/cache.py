"""Parsed files, remembered by their content.

They are kept as JSON: reading that costs a fraction of parsing YAML, and every build gets objects of its own.
"""

from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any

from penstock.yaml import Document, documents

_NOTHING: Mapping[tuple[str, ...], str] = MappingProxyType({})


class ParseCache:
    """Parsed files, the least recently used dropped first; a size of 0 keeps none."""

    def __init__(self, size: int = 128 << 20) -> None:
        self._size = size  # bytes of manifests and of their parsed form
        self._used = 0
        self._files: OrderedDict[bytes, list[tuple[bytes, Document]]] = OrderedDict()

    def documents(self, content: bytes) -> list[Document]:
        """The documents of a file, as values that the caller may change."""
        if not self._size:
            return documents(content)
        known = self._files.get(content)
        if known is None:
            return self._parse(content)
        with suppress(KeyError):  # another thread may have dropped it by now
            self._files.move_to_end(content)
        loads = _json().loads
        return [document._replace(value=loads(data)) for data, document in known]

    def clear(self) -> None:
        """Forget everything."""
        self._files.clear()
        self._used = 0

    def _parse(self, content: bytes) -> list[Document]:
        found = documents(content)
        if any(document.written or document.schemas for document in found):
            return found
        dumps = _json().dumps
        kept: list[tuple[bytes, Document]] = []
        for document in found:
            data = dumps(document.value)
            # Most objects hold no null at all; a merge need not look for blank fields in them.
            nulls = document.nulls if b":null" in data else _NOTHING
            kept.append((data, Document(None, nulls, written=False)))
        self._keep(content, kept)
        return [document._replace(nulls=one.nulls) for document, (_, one) in zip(found, kept, strict=True)]

    def _keep(self, content: bytes, kept: list[tuple[bytes, Document]]) -> None:
        weight = _weight(content, kept)
        if weight > self._size // 8:
            return
        self._files[content] = kept
        self._used += weight
        while self._used > self._size and self._files:
            self._used -= _weight(*self._files.popitem(last=False))


def _weight(content: bytes, kept: list[tuple[bytes, Document]]) -> int:
    return len(content) + sum(len(data) for data, _ in kept)


def _json() -> Any:
    import orjson  # a command that builds once has no use for it

    return orjson


CACHE = ParseCache()
