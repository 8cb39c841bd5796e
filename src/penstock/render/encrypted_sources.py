"""Files that a build reads and that SOPS encrypted: those of secret generators, and patches.

Their plain text is laid over the tree in memory. It is written to disk only where the caller owns the copy of the tree.
A ConfigMap generator that uses the same file sees the plain text too, as it does with Flux.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock import sops
from penstock.render.confined import confined, read_regular, relative
from penstock.render.decryption import PROVIDER, DecryptionFailed, format_of
from penstock.render.kustomization_files import NO_FILES, KustomizationFile, is_remote, walk
from penstock.sops import Format, formats
from penstock.yaml import YAMLError, documents

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LARGEST = 5 << 20  # bytes of an encrypted file
_MARK = "sops"


@dataclass(frozen=True, slots=True)
class _Source:
    """A file as it was read, the format it should be in, and its name for people."""

    path: Path
    name: str
    form: Format
    data: bytes = field(repr=False)

    async def decrypted(self, keyring: sops.Keyring, *, verify: bool) -> bytes | None:
        if not sops.is_marked(self.data, self.form):
            return None
        try:
            return await sops.decrypt(self.data, keyring, form=self.form, verify=verify)
        except sops.SopsError as error:
            raise DecryptionFailed(f"{self.name}: {error}") from error


@dataclass(frozen=True, slots=True)
class DecryptedSources:
    """The plain text of the files that were encrypted, by absolute path; and all files that were looked at."""

    files: dict[Path, bytes] = field(default_factory=dict[Path, bytes], repr=False)
    visited: frozenset[Path] = frozenset()

    def write(self) -> None:
        """Put the plain text in place of the ciphertext, readable by the owner only."""
        for path, data in self.files.items():
            handle = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW)
            with os.fdopen(handle, "wb") as file:
                os.fchmod(file.fileno(), 0o600)
                file.write(data)


async def decrypt_sources(
    root: Path,
    path: str,
    keyring: sops.Keyring,
    *,
    provider: str | None,
    verify: bool = False,
    limit: int = LARGEST,
    files: Mapping[Path, bytes] = NO_FILES,
) -> DecryptedSources:
    """Decrypt what the kustomization file at `path`, and all it refers to inside `root`, generates and patches from.

    `files` are kustomization files that stand in front of those on disk, by absolute path.
    """
    if provider != PROVIDER:
        return DecryptedSources()
    try:
        found = await asyncio.to_thread(lambda: {source.path: source for source in _sources(root, path, limit, files)})
        opened = [(source.path, await source.decrypted(keyring, verify=verify)) for source in found.values()]
    except DecryptionFailed as error:
        raise type(error)(f"error decrypting sources: {error}") from error
    return DecryptedSources({path: data for path, data in opened if data is not None}, frozenset(found))


async def decrypt_file(
    path: Path, form: Format, keyring: sops.Keyring, *, limit: int = LARGEST, name: str = "", verify: bool = False
) -> bytes | None:
    """The plain text of a file, or None when it does not carry the mark of an encrypted file of this format."""
    name = name or path.name
    data = await asyncio.to_thread(read_regular, path, name=name, limit=limit)
    return await _Source(path, name, form, data).decrypted(keyring, verify=verify)


async def verify_resources(
    root: Path, path: str, keyring: sops.Keyring, *, files: Mapping[Path, bytes] = NO_FILES
) -> None:
    """Check the MACs of all encrypted manifests that a build reads; DecryptionFailed names the first bad file.

    After the build it is too late: names, namespaces and labels that it adds are not under the MAC.
    """
    for source in await asyncio.to_thread(lambda: list(_manifests(root, path, files))):
        try:
            for text in _parts(source.data, source.form):
                await sops.open_file(text, keyring, form=source.form, verify=True)
        except sops.SopsError as error:
            raise DecryptionFailed(f"{source.name}: {error}") from error


def _manifests(root: Path, path: str, files: Mapping[Path, bytes]) -> Iterator[_Source]:
    """The encrypted files among the resources of a build."""
    for kustomization in walk(root, path, files):
        for reference in kustomization.paths("resources"):
            file = confined(root, _joined(kustomization.folder, reference))
            if is_remote(reference) or not file.is_file():
                continue
            name = relative(str(root), str(file))
            form = Format.JSON if name.endswith(".json") else Format.YAML
            data = read_regular(file, name=name, limit=LARGEST)
            if _is_encrypted(data, name):
                yield _Source(file, name, form, data)


def _is_encrypted(data: bytes, name: str) -> bool:
    """Whether the build will find encrypted objects here: by what is read, for a mark can be written in many ways."""
    try:
        found = [document.value for document in documents(data)]
    except YAMLError:
        return False  # the build says more about it
    if any(_MARK in item for value in found for item in _listed(value)):
        raise DecryptionFailed(f"{name}: an encrypted object inside of a List has no MAC that could be checked")
    return any(isinstance(value, dict) and _MARK in value for value in found)


def _listed(value: Any) -> Iterator[dict[str, Any]]:
    """What is inside of a List, however deep; a build takes Lists of Lists apart, too."""
    items = value.get("items") if isinstance(value, dict) else None
    for item in items if isinstance(items, list) else ():
        if isinstance(item, dict):
            yield item
            yield from _listed(item)


def _parts(data: bytes, form: Format) -> list[bytes]:
    """The pieces of a file that were each encrypted on their own; mostly there is one."""
    if form is not Format.YAML:
        return [data]
    pieces: list[tuple[str, list[bytes]]] = []
    for document in formats.load_plain(data, form):
        text = formats.emit_plain([document], form)
        _, metadata = formats.load_encrypted(text, form) if sops.is_marked(text, form) else (None, None)
        mac = metadata.mac if metadata else ""
        if not pieces or pieces[-1][0] != mac:
            pieces.append((mac, []))
        pieces[-1][1].append(text)
    return [b"---\n".join(texts) for mac, texts in pieces if mac]


def _sources(root: Path, path: str, limit: int, files: Mapping[Path, bytes]) -> Iterator[_Source]:
    """All files that a build generates or patches from; of one that is named twice, the first name counts."""
    seen: set[Path] = set()
    for kustomization in walk(root, path, files):
        for reference, form in _references(kustomization):
            file = confined(root, _joined(kustomization.folder, reference))
            if file in seen:
                continue
            seen.add(file)
            name = relative(str(root), str(file))
            yield _Source(file, name, form, read_regular(file, name=name, limit=limit))


def _references(kustomization: KustomizationFile) -> Iterator[tuple[str, Format]]:
    """The files that may be encrypted, and the format each is in."""
    for generator in kustomization.entries("secretGenerator"):
        for source in _texts(generator.get("files")):
            key, _, file = source.partition("=")
            yield file or key, format_of(key)
        for source in _texts(generator.get("envs")) + _texts([generator.get("env")]):
            form = format_of(source)
            yield source, Format.DOTENV if form is Format.BINARY else form
    for patch in kustomization.entries("patches"):
        path = patch.get("path")
        if isinstance(path, str) and path and not is_remote(path):
            yield path, format_of(path)


def _texts(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str) and item] if isinstance(value, list) else []


def _joined(folder: str, reference: str) -> str:
    return reference if reference.startswith("/") else f"{folder}/{reference}"
