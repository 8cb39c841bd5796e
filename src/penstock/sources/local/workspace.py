"""Which sources local directories stand for, and when their content changes."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from watchfiles import awatch

from penstock.api.kinds import KINDS, SOURCE_GROUP
from penstock.errors import UsageError
from penstock.kube.resources import ObjectRef
from penstock.sources.local.directory import LocalDirectory
from penstock.sources.local.git import same_place

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.kube.resources import Object

QUIET, LATEST = 50, 400
"""Milliseconds: a burst of saves is over after so much silence, and is told after so much time anyway."""
_GIT_NEWS = ("HEAD", "packed-refs")


@dataclass(frozen=True, slots=True)
class LocalSource:
    """One source by name, and the directory that stands for it."""

    ref: ObjectRef
    path: Path

    @classmethod
    def parse(cls, text: str) -> LocalSource:
        """Read `Kind/namespace/name=DIR`, as `--local-source` takes it."""
        name, equals, path = text.partition("=")
        parts = name.split("/")
        if not equals or not path or len(parts) != 3 or not all(parts):
            raise UsageError(f"--local-source: '{text}' is not like GitRepository/flux-system/apps=DIR")
        kind = next((kind for kind in KINDS.values() if kind.kind.lower() == parts[0].lower()), None)
        if kind is None or kind.group != SOURCE_GROUP:
            raise UsageError(f"--local-source: '{parts[0]}' is no kind of source")
        return cls(ObjectRef(kind.group, kind.kind, parts[1], parts[2]), Path(path))


class Workspace:
    """Local directories, and the sources that they stand for: those named, and those whose URL is a remote.

    A directory of `beside` has the name of its repository: without a remote, it stands for the Git repositories whose
    URL ends in that name.
    """

    def __init__(
        self,
        named: dict[ObjectRef, LocalDirectory],
        by_remote: Sequence[tuple[LocalDirectory, Sequence[str]]],
        beside: Sequence[LocalDirectory] = (),
    ) -> None:
        """Use `open`, which looks the remotes up."""
        self._named, self._by_remote = named, by_remote
        self._by_name = {directory.root.name: directory for directory in beside}

    @classmethod
    async def open(
        cls, paths: Sequence[Path], named: Sequence[LocalSource] = (), beside: Sequence[Path] = ()
    ) -> Workspace:
        """Directories whose remotes say what they stand for, those that are told, and those that their names tell."""
        directories = [await LocalDirectory.find(path) for path in paths]
        neighbours = [await LocalDirectory.at(path) for path in beside]
        by_remote = [(directory, await directory.remotes()) for directory in (*directories, *neighbours)]
        return cls({one.ref: await LocalDirectory.at(one.path) for one in named}, by_remote, neighbours)

    @property
    def directories(self) -> list[LocalDirectory]:
        return [*self._named.values(), *(directory for directory, _ in self._by_remote)]

    def stands_for(self, obj: Object) -> LocalDirectory | None:
        """The directory in place of this source, if there is one."""
        named = self._named.get(ObjectRef.of(obj))
        if named is not None:
            return named
        url = (obj.get("spec") or {}).get("url")
        if not isinstance(url, str) or obj.get("kind") != "GitRepository":
            return None
        for directory, remotes in self._by_remote:
            if any(same_place(url, one) for one in remotes):
                return directory
        return self._by_name.get(url.rstrip("/").rpartition("/")[2].removesuffix(".git"))

    async def run(self, changed: Callable[[LocalDirectory], None]) -> None:
        """Call `changed` soon after something is saved in a directory, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for directory in {one.root: one for one in self.directories}.values():
                group.create_task(_watch(directory, changed))


async def _watch(directory: LocalDirectory, changed: Callable[[LocalDirectory], None]) -> None:
    root = str(directory.root)
    saves = awatch(root, watch_filter=lambda _, path: _counts(root, path), debounce=LATEST, step=QUIET, recursive=True)
    async for _ in saves:
        changed(directory)


def _counts(root: str, path: str) -> bool:
    """Whether a change can mean another revision: of what Git keeps for itself, only what is checked out."""
    inside = path.removeprefix(root).lstrip("/").split("/")
    if ".git" not in inside:
        return True
    rest = inside[inside.index(".git") + 1 :]
    return (
        bool(rest)
        and (rest[0] == "refs" or (len(rest) == 1 and rest[0] in _GIT_NEWS))
        and not rest[-1].endswith(".lock")
    )
