"""Sources whose place is a local directory: they run whenever something is saved there. Others may be out of reach."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.kube.resources import ObjectRef
from penstock.runtime.line import Priority
from penstock.sources import Stalled

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from penstock.kube.cache import WatchCache
    from penstock.kube.resources import Object
    from penstock.runtime.controller import Controller
    from penstock.sources import Fetched, Remote
    from penstock.sources.local import LocalDirectory, Workspace


class LocalSources:
    """Ties a workspace to the controllers of sources."""

    def __init__(self, workspace: Workspace, *, offline: bool = False) -> None:
        """With `offline`, a source for which no directory stands is reported, and nothing is fetched."""
        self._workspace = workspace
        self._offline = offline
        self._followers: list[tuple[WatchCache[Object], Controller]] = []

    @property
    def instead(self) -> Callable[[Object], Remote | None]:
        """What `source_controller` wants: the directory that stands in for a source."""
        return self._place

    def follow(self, cache: WatchCache[Object], controller: Controller) -> None:
        """Let saves run the sources of this controller."""
        self._followers.append((cache, controller))

    async def run(self) -> None:
        """Watch the directories, until cancelled."""
        await self._workspace.run(self._saved)

    def _place(self, obj: Object) -> Remote | None:
        found = self._workspace.stands_for(obj)
        if found is not None or not self._offline:
            return found
        return OutOfReach(ObjectRef.of(obj))

    def _saved(self, directory: LocalDirectory) -> None:
        for cache, controller in self._followers:
            for obj in cache.values():
                found = self._workspace.stands_for(obj)
                if found is not None and found.root == directory.root:
                    controller.add(ObjectRef.of(obj), Priority.ASKED)


class OutOfReach:
    """The place of a source that is not to be fetched."""

    def __init__(self, ref: ObjectRef) -> None:
        self._name = f"{ref.kind}/{ref.namespace}/{ref.name}"

    async def resolve(self) -> str | None:
        raise self._missing()

    async def fetch(self, into: Path) -> Fetched:  # noqa: ARG002 - a place has this shape
        raise self._missing()

    def _missing(self) -> Stalled:
        told = f"nothing is fetched with --offline; name a directory with --local-source {self._name}=DIR"
        return Stalled(told, reason="Offline")
