"""The kustomization files a build will read, found before the build: from one folder through local references."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from penstock.render.confined import confined, read_regular, relative
from penstock.render.decryption import DecryptionFailed
from penstock.sops import LoadError
from penstock.sops.tree import plain_data
from penstock.sops.yaml_load import load

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_LARGEST = 5 << 20  # bytes
_MOST = 10_000  # files in one build
NO_FILES: Mapping[Path, bytes] = MappingProxyType({})


class DeadEnd(DecryptionFailed):
    """A reference that leads to no folder: a URL, a plain file, or nothing. Ends the branch, not the walk."""


@dataclass(frozen=True, slots=True)
class KustomizationFile:
    """A kustomization file and the folder it stands in, relative to the root."""

    folder: str
    content: dict[str, Any]

    def paths(self, field: str) -> list[str]:
        """The texts in a list field; what is not text is for the build to refuse."""
        value = self.content.get(field)
        return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []

    def entries(self, field: str) -> list[dict[str, Any]]:
        """The mappings in a list field."""
        value = self.content.get(field)
        return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def walk(root: Path, path: str, files: Mapping[Path, bytes] = NO_FILES) -> Iterator[KustomizationFile]:
    """The kustomization file of a folder and all it refers to, each once, however they refer to each other.

    `files` stand in front of those on disk, by absolute path. DeadEnd when the folder itself is not there; any other
    error of a file that is there is an error of the walk.
    """
    visited: set[Path] = set()
    waiting = [path]
    while waiting:
        first = not visited
        try:
            file = _visit(root, waiting.pop(), visited, files)
        except DeadEnd:
            if first:
                raise
            continue
        if file is None:
            continue
        yield file
        references = [*file.paths("resources"), *file.paths("components")]
        waiting.extend(_joined(file.folder, reference) for reference in reversed(references))


def _visit(root: Path, path: str, visited: set[Path], files: Mapping[Path, bytes]) -> KustomizationFile | None:
    folder = confined(root, path)
    if folder in visited:
        return None
    if len(visited) >= _MOST:
        raise DecryptionFailed(f"more than {_MOST} kustomization files refer to each other")
    visited.add(folder)
    name = relative(str(root), str(folder))
    if not _there(folder):
        raise DeadEnd(f"lstat {name}: no such file or directory")
    if not folder.is_dir() or folder.is_symlink():
        raise DeadEnd(f"{name}: not a directory")
    return KustomizationFile(name, load_kustomization(root, name, files))


def _there(path: Path) -> bool:
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise DecryptionFailed(f"{path.name}: {error.strerror}") from None
    return True


def load_kustomization(root: Path, path: str, files: Mapping[Path, bytes] = NO_FILES) -> dict[str, Any]:
    """The content of the one kustomization file in a folder, with its defaults."""
    if path.startswith("/"):
        raise DecryptionFailed(f"path '{path}' must be relative")
    candidates = [confined(root, f"{path}/{name}") for name in _NAMES]
    found = [file for file in candidates if file in files or _there(file)]
    where = relative(str(root), str(confined(root, path)))
    if not found:
        raise DecryptionFailed(f"{where}: no kustomization file found")
    if len(found) > 1:
        raise DecryptionFailed(f"{where}: found multiple kustomization files")
    name = relative(str(root), str(found[0]))
    data = files.get(found[0])
    if data is None:
        if not found[0].is_file() or found[0].is_symlink():
            raise DecryptionFailed(f"expected {found[0].name} to be a regular file")
        data = read_regular(found[0], name=name, limit=_LARGEST)
    return {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"} | _content(data, name)


def _content(data: bytes, name: str) -> dict[str, Any]:
    try:
        documents = load(data)
    except LoadError as error:
        raise DecryptionFailed(f"failed to unmarshal kustomization file from '{name}': {error}") from error
    content = plain_data(documents[0]) if documents else {}
    return content if isinstance(content, dict) else {}


def is_remote(reference: str) -> bool:
    """True for a URL with a scheme and a host."""
    try:
        parts = urlsplit(reference)
    except ValueError:
        return False
    return bool(parts.scheme and parts.netloc)


def _joined(folder: str, reference: str) -> str:
    return reference if reference.startswith("/") else f"{folder}/{reference}"
