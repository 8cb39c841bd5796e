"""Files that a build reads and that SOPS encrypted: those of secret generators, and patches.

Their plain text is laid over the tree in memory. It is written to disk only where the caller owns the copy of the tree.
A ConfigMap generator that uses the same file sees the plain text too, as it does with Flux.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from penstock import sops
from penstock.render.confined import confined, read_regular, relative
from penstock.render.decryption import PROVIDER, DecryptionFailed, format_of
from penstock.render.kustomization_files import KustomizationFile, is_remote, walk
from penstock.sops import Format, formats

if TYPE_CHECKING:
    from collections.abc import Iterator

LARGEST = 5 << 20  # bytes of an encrypted file


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
    root: Path, path: str, keyring: sops.Keyring, *, provider: str | None, verify: bool = False, limit: int = LARGEST
) -> DecryptedSources:
    """Decrypt what the kustomization file at `path`, and all it refers to inside `root`, generates and patches from."""
    if provider != PROVIDER:
        return DecryptedSources()
    files: dict[Path, bytes] = {}
    visited: set[Path] = set()
    try:
        for kustomization in walk(root, path):
            for reference, form in _references(kustomization):
                file = confined(root, _joined(kustomization.folder, reference))
                if file in visited:
                    continue
                plain = await _decrypted(root, file, form, keyring, verify=verify, limit=limit)
                visited.add(file)
                if plain is not None:
                    files[file] = plain
    except DecryptionFailed as error:
        raise type(error)(f"error decrypting sources: {error}") from error
    return DecryptedSources(files, frozenset(visited))


async def decrypt_file(
    path: Path, form: Format, keyring: sops.Keyring, *, limit: int = LARGEST, name: str = "", verify: bool = False
) -> bytes | None:
    """The plain text of a file, or None when it does not carry the mark of an encrypted file of this format."""
    name = name or path.name
    data = read_regular(path, name=name, limit=limit)
    if not sops.is_marked(data, form):
        return None
    try:
        return await sops.decrypt(data, keyring, form=form, verify=verify)
    except sops.SopsError as error:
        raise DecryptionFailed(f"{name}: {error}") from error


async def verify_resources(root: Path, path: str, keyring: sops.Keyring) -> None:
    """Check the MACs of all encrypted manifests that a build reads; DecryptionFailed names the first bad file.

    After the build it is too late: names, namespaces and labels that it adds are not under the MAC.
    """
    for kustomization in walk(root, path):
        for reference in kustomization.paths("resources"):
            file = confined(root, _joined(kustomization.folder, reference))
            if is_remote(reference) or not file.is_file():
                continue
            await _verify(file, relative(str(root), str(file)), keyring)


async def _verify(file: Path, name: str, keyring: sops.Keyring) -> None:
    data = read_regular(file, name=name, limit=LARGEST)
    form = Format.JSON if name.endswith(".json") else Format.YAML
    if not sops.is_marked(data, form):
        return
    try:
        for text in _parts(data, form):
            await sops.open_file(text, keyring, form=form, verify=True)
    except sops.SopsError as error:
        raise DecryptionFailed(f"{name}: {error}") from error


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


async def _decrypted(
    root: Path, file: Path, form: Format, keyring: sops.Keyring, *, verify: bool, limit: int
) -> bytes | None:
    return await decrypt_file(file, form, keyring, limit=limit, name=relative(str(root), str(file)), verify=verify)


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
