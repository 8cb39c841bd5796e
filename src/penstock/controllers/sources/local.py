"""Sources whose place is a local directory: they run whenever something is saved there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.kube.resources import ObjectRef
from penstock.runtime.line import Priority

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.kube.cache import WatchCache
    from penstock.kube.resources import Object
    from penstock.runtime.controller import Controller
    from penstock.sources import Remote
    from penstock.sources.local import LocalDirectory, Workspace


class LocalSources:
    """Ties a workspace to the controllers of sources."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._followers: list[tuple[WatchCache[Object], Controller]] = []

    @property
    def instead(self) -> Callable[[Object], Remote | None]:
        """What `source_controller` wants: the directory that stands in for a source."""
        return self._workspace.stands_for

    def follow(self, cache: WatchCache[Object], controller: Controller) -> None:
        """Let saves run the sources of this controller."""
        self._followers.append((cache, controller))

    async def run(self) -> None:
        """Watch the directories, until cancelled."""
        await self._workspace.run(self._saved)

    def _saved(self, directory: LocalDirectory) -> None:
        for cache, controller in self._followers:
            for obj in cache.values():
                found = self._workspace.stands_for(obj)
                if found is not None and found.root == directory.root:
                    controller.add(ObjectRef.of(obj), Priority.ASKED)
