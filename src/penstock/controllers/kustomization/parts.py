"""Everything that the runs of Kustomizations share."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from penstock.kube import Resource
from penstock.runtime import OwnWrites

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from penstock.controllers.kustomization.artifacts import Artifacts
    from penstock.controllers.kustomization.builds import Builds
    from penstock.controllers.kustomization.pinning import Pinned
    from penstock.controllers.kustomization.settings import Settings
    from penstock.controllers.kustomization.source import Source
    from penstock.controllers.kustomization.target import Targets
    from penstock.kube import Client, Object, ObjectRef, WatchCache
    from penstock.runtime.announcing import Announcer

KUSTOMIZATIONS = Resource("kustomize.toolkit.fluxcd.io", "v1", "kustomizations", "Kustomization")


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a run works with; the same for all."""

    client: Client
    settings: Settings
    kustomizations: WatchCache[Object]
    sources: Mapping[str, WatchCache[Source]]
    artifacts: Artifacts
    pinned: Pinned
    builds: Builds
    targets: Targets
    announcer: Announcer
    resource: Resource = KUSTOMIZATIONS
    writes: OwnWrites = field(default_factory=OwnWrites)
    now: Callable[[], datetime] = _now

    def current(self, key: ObjectRef) -> Object | None:
        """The object as the watch or our own last write shows it, whichever is newer."""
        cached = self.kustomizations.get(key.name, key.namespace)
        return None if cached is None else self.writes.newest(cached)
