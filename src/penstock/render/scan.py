"""What a directory without a kustomization file holds: its manifests, and directories that have one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from penstock.kustomize import BuildError, Options
from penstock.kustomize.context import Context
from penstock.kustomize.kustomization import NAMES
from penstock.kustomize.manifests import load
from penstock.paths import FileError
from penstock.render.errors import BuildFailed
from penstock.yaml import YAMLError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.paths import LayeredTree

_EXTENSIONS = (".yaml", ".yml")
_DEEPEST = 100


def resources_of(tree: LayeredTree, folder: str) -> list[str]:
    """Paths such as `./app/service.yaml`, in lexical order; BuildFailed for a file that is no manifest.

    No ignore rules count here: what is not meant for the cluster was left out of the artifact by its source.
    """
    context = Context(Options(), None)
    found: list[str] = []
    for path, is_folder in _walk(folder, ".", 0):
        if not is_folder:
            _check(tree, folder, path, context)
        found.append(path)
    return found


def _walk(folder: str, path: str, depth: int) -> Iterator[tuple[str, bool]]:
    if depth > _DEEPEST:
        raise BuildFailed(f"'{path}' lies more than {_DEEPEST} directories deep")
    with os.scandir(f"{folder}/{path}") as entries:
        ordered = sorted(entries, key=lambda entry: entry.name)
    for entry in ordered:
        inner = f"{path}/{entry.name}"
        if not entry.is_dir(follow_symlinks=False):
            if entry.name.endswith(_EXTENSIONS):
                yield inner, False
        elif any(os.path.isfile(f"{entry.path}/{name}") for name in NAMES):  # noqa: PTH113
            yield inner, True
        else:
            yield from _walk(folder, inner, depth + 1)


def _check(tree: LayeredTree, folder: str, path: str, context: Context) -> None:
    """Parsed once: the build takes the documents from the same cache."""
    try:
        load(tree.read(f"{folder}/{path}"), context)
    except (BuildError, YAMLError, FileError, RecursionError) as error:
        name = os.path.relpath(f"{folder}/{path}", tree.root)
        raise BuildFailed(f"failed to decode Kubernetes YAML from {name}: {error}") from error
