"""The five formats: how each is recognised, read and written, and where it keeps the metadata."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from penstock.sops import dotenv_store, ini_store, json_store, yaml_emit, yaml_load
from penstock.sops.errors import EmitError, LoadError
from penstock.sops.flatten import flatten, unflatten
from penstock.sops.metadata import Metadata, read, write
from penstock.sops.values import Branch, Key, Value

if TYPE_CHECKING:
    from collections.abc import Callable

_ENTRY = "sops"
_PREFIX = "sops_"


class Format(Enum):
    """A file format; its value is the name people use."""

    YAML = "YAML"
    JSON = "JSON"
    DOTENV = "dotenv"
    INI = "INI"
    BINARY = "binary"


@dataclass(frozen=True, slots=True)
class _Store:
    load: Callable[[bytes], list[Branch]]
    emit: Callable[[list[Branch]], bytes]
    load_encrypted: Callable[[bytes], list[Branch]]
    emit_encrypted: Callable[[list[Branch]], bytes]
    marker: bytes
    """What an encrypted file of this format contains, and hardly anything else does."""


def _store(load: Callable[[bytes], list[Branch]], emit: Callable[[list[Branch]], bytes], marker: bytes) -> _Store:
    return _Store(load, emit, load, emit, marker)


_STORES = {
    Format.YAML: _store(yaml_load.load, yaml_emit.emit, b"mac: ENC["),
    Format.JSON: _store(json_store.load, json_store.emit, b'"mac": "ENC['),
    Format.DOTENV: _store(dotenv_store.load, dotenv_store.emit, b"sops_mac=ENC["),
    Format.INI: _store(ini_store.load, ini_store.emit, b"[sops]"),
    Format.BINARY: _Store(
        json_store.load_binary, json_store.emit_binary, json_store.load, json_store.emit, b'"mac": "ENC['
    ),
}
_SUFFIXES = {
    ".yaml": Format.YAML,
    ".yml": Format.YAML,
    ".json": Format.JSON,
    ".env": Format.DOTENV,
    ".ini": Format.INI,
}


def by_name(name: str) -> Format:
    """The format that a file name promises; any other is binary."""
    return next((form for suffix, form in _SUFFIXES.items() if name.endswith(suffix)), Format.BINARY)


def is_marked(data: bytes, form: Format) -> bool:
    """True when the bytes contain the mark of an encrypted file of this format."""
    return _STORES[form].marker in data


def by_mark(data: bytes) -> Format | None:
    """The format of an encrypted file, by what it contains.

    A binary file is a JSON file in its encrypted form; the two are read alike, so JSON stands for both.
    """
    marked = (Format.JSON, Format.YAML, Format.DOTENV, Format.INI)
    return next((form for form in marked if is_marked(data, form)), None)


def load_plain(data: bytes, form: Format) -> list[Branch]:
    """The documents of a plain file."""
    return _STORES[form].load(data)


def emit_plain(documents: list[Branch], form: Format) -> bytes:
    """A plain file."""
    return _STORES[form].emit(documents)


def load_encrypted(data: bytes, form: Format) -> tuple[list[Branch], Metadata]:
    """The encrypted documents of a file, and its metadata."""
    documents = _STORES[form].load_encrypted(data)
    if not documents:
        raise LoadError("sops metadata not found: the file is empty")
    block = _take_flat(documents[0]) if form is Format.DOTENV else _take(documents)
    if block is None:
        raise LoadError("sops metadata not found: the file is not encrypted")
    return documents, read(_unescaped(block) if form is Format.INI else block)


def emit_encrypted(documents: list[Branch], metadata: Metadata, form: Format) -> bytes:
    """An encrypted file."""
    block = write(metadata)
    if form in (Format.DOTENV, Format.INI):
        block = flatten(block, _PREFIX if form is Format.DOTENV else "")
        block = _escaped(block) if form is Format.INI else block
    return _STORES[form].emit_encrypted([_with(document, block, form) for document in documents])


def is_reserved(key: Key, form: Format) -> bool:
    """True for the names that are SOPS' own."""
    if not isinstance(key, str):
        return False
    return key.startswith(_PREFIX) if form is Format.DOTENV else key == _ENTRY


def _with(document: Branch, block: Branch, form: Format) -> Branch:
    taken = next((key for key, _ in document if is_reserved(key, form)), None)
    if taken is not None:
        raise EmitError(f"the key {taken!r} belongs to SOPS; name it otherwise, or decrypt the file first")
    if form is Format.DOTENV:
        return Branch([*document, *block])
    return Branch([*document, (_ENTRY, block)])


def _take(documents: list[Branch]) -> Value:
    """Take the block out of all documents; the first one's counts."""
    found = [value for key, value in documents[0] if key == _ENTRY]
    if len(found) > 1:
        raise LoadError("the sops entry is there twice")
    for document in documents:
        document.pairs = [(key, value) for key, value in document if key != _ENTRY]
    return found[0] if found else None


def _take_flat(document: Branch) -> Value:
    names = [(key, value) for key, value in document if isinstance(key, str) and key.startswith(_PREFIX)]
    block = Branch((key.removeprefix(_PREFIX), value) for key, value in names)
    document.pairs = [(key, value) for key, value in document if not _is_flat(key)]
    return unflatten(block) if block else None


def _is_flat(key: Key) -> bool:
    return isinstance(key, str) and key.startswith(_PREFIX)


def _escaped(block: Branch) -> Branch:
    return Branch((key, value.replace("\n", "\\n") if isinstance(value, str) else value) for key, value in block)


def _unescaped(block: Value) -> Value:
    if not isinstance(block, Branch):
        return block
    texts = ((key, value.replace("\\n", "\n") if isinstance(value, str) else value) for key, value in block)
    return unflatten(Branch(texts))
