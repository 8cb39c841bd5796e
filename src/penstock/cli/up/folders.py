"""Which folder of a directory says what runs in a cluster.

A repository keeps one folder a cluster, most often `clusters/NAME`. PATH may be such a repository, a folder inside
one, or a folder in which several repositories lie side by side, of which one has the clusters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from penstock.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

SYNC = "gotk-sync.yaml"
_FLUX = b"kustomize.toolkit.fluxcd.io/"
_PATH = re.compile(r"^\s+path:\s*(\S+)\s*$", re.MULTILINE)
_ENDINGS = (".yaml", ".yml")
_DEEPEST = 4
"""How far below the root a bootstrap is looked for where there is no folder `clusters`."""


@dataclass(frozen=True, slots=True)
class Place:
    """A repository with its clusters, and what lies beside it."""

    root: Path
    clusters: tuple[str, ...]
    """Folders below the root, as in `clusters/staging`; `.` is the root itself."""
    beside: tuple[Path, ...] = ()
    """Other repositories: they stand for the sources whose URL ends in their name."""
    first: tuple[Path, ...] = ()
    """Files with what is in no repository, such as keys: applied before everything else."""

    def choose(self, wanted: str | None, ask: Callable[[tuple[str, ...]], str] | None = None) -> str:
        """The folder of the cluster that is meant; who cannot be asked gets the list as an error."""
        if wanted is not None:
            named = [folder for folder in self.clusters if wanted in (folder, Path(folder).name)]
            if len(named) != 1:
                raise UsageError(f"--cluster: there is no {wanted!r} in '{self.root}'; there are {self._listed}")
            return named[0]
        if len(self.clusters) == 1:
            return self.clusters[0]
        if ask is None:
            raise UsageError(f"'{self.root}' has several clusters: {self._listed}; choose one with --cluster NAME")
        return self.choose(ask(self.clusters))

    @property
    def _listed(self) -> str:
        return ", ".join(Path(folder).name or "." for folder in self.clusters)


def find(path: Path) -> Place:
    """Look for the clusters of a directory. Blocks."""
    if not path.is_dir():
        raise UsageError(f"'{path}' is not a directory")
    path = path.resolve()
    return _inside(path) or _repository(path) or _side_by_side(path) or _around(path) or _alone(path)


def manifests(folder: Path) -> list[Path]:
    """The YAML files that lie directly in a folder."""
    return sorted(file for file in folder.iterdir() if file.suffix in _ENDINGS and file.is_file())


def _inside(path: Path) -> Place | None:
    """The path is one of the folders in `clusters`."""
    if path.parent.name != "clusters" or not _is_cluster(path):
        return None
    return Place(path.parents[1], (f"clusters/{path.name}",))


def _repository(path: Path) -> Place | None:
    found = _clusters(path)
    return Place(path, found) if found else None


def _side_by_side(path: Path) -> Place | None:
    folders = sorted(one for one in path.iterdir() if one.is_dir() and not one.name.startswith("."))
    having = [place for place in map(_repository, folders) if place is not None]
    if not having:
        return None
    if len(having) > 1:
        names = ", ".join(place.root.name for place in having)
        raise UsageError(f"several folders of '{path}' have clusters: {names}; name one of them")
    beside = tuple(folder for folder in folders if folder != having[0].root)
    return Place(having[0].root, having[0].clusters, beside, tuple(manifests(path)))


def _around(path: Path) -> Place | None:
    """The path is somewhere in a Git repository."""
    top = next((one for one in (path, *path.parents) if (one / ".git").exists()), None)
    if top is None:
        return None
    above = [one for one in path.parents if one.is_relative_to(top)]
    return next((place for place in map(_repository, above) if place is not None), None)


def _alone(path: Path) -> Place:
    """Without a folder for it, the directory is the cluster; but only if it looks like one."""
    if _is_cluster(path):
        return Place(path, (".",))
    raise UsageError(
        f"there is no cluster in '{path}': it has no folder clusters/NAME with Flux Kustomizations or {SYNC}, "
        "and no kustomization.yaml of its own"
    )


def _clusters(root: Path) -> tuple[str, ...]:
    clusters = root / "clusters"
    if clusters.is_dir():
        found = [one for one in sorted(clusters.iterdir()) if one.is_dir() and _is_cluster(one)]
        if found:
            return tuple(f"clusters/{one.name}" for one in found)
    patterns = ("/".join([*["*"] * depth, SYNC]) for depth in range(1, _DEEPEST + 1))
    syncs = sorted(sync for pattern in patterns for sync in root.glob(pattern))
    folders = [(sync, sync.parents[1].relative_to(root).as_posix()) for sync in syncs]
    # What does not say the path from here belongs to a repository further down.
    return tuple(folder for sync, folder in folders if _normal(folder) in map(_normal, _paths(sync)))


def _paths(sync: Path) -> list[str]:
    """The values of all fields `path` of a file, roughly: it need not be valid yet."""
    return _PATH.findall(sync.read_text(encoding="utf-8", errors="replace"))


def _normal(path: str) -> str:
    return PurePosixPath(path.strip("\"'")).as_posix()


def _is_cluster(folder: Path) -> bool:
    files = manifests(folder)
    if any(file.stem == "kustomization" for file in files):
        return True
    return _any_flux(files) or any(_any_flux(manifests(one)) for one in folder.iterdir() if one.is_dir())


def _any_flux(files: Iterable[Path]) -> bool:
    return any(_FLUX in file.read_bytes() for file in files)
