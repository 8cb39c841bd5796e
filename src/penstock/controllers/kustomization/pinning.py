"""Pinned to a revision: the annotation `penstock.dev/revision` holds a Kustomization while its source moves on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.controllers.kustomization.halt import Halt
from penstock.controllers.pins import ANNOTATION, wanted
from penstock.sources.store import RevisionMissing
from penstock.sources.store.records import matches

if TYPE_CHECKING:
    from penstock.api.kustomization import Kustomization
    from penstock.api.meta import Artifact
    from penstock.controllers.kustomization.source import Source
    from penstock.controllers.pins import Pins
    from penstock.kube import Change, Object
    from penstock.sources.store import ArtifactStore

MARK = " (pinned)"
"""How the message of Ready ends while the annotation holds the object."""
_PREFIX = "penstock.dev/"


def revision(kustomization: Kustomization) -> str:
    """The revision that it is pinned to; empty when it follows its source."""
    return wanted(kustomization.metadata.annotations)


def is_at(kustomization: Kustomization, seen: str) -> bool:
    """Whether a revision is the one that it is pinned to."""
    return bool(revision(kustomization)) and matches(seen, revision(kustomization))


def annotated(change: Change[Object]) -> bool:
    """One of the annotations that decide about a run has changed; these do not change the generation."""
    return _ours(change.old) != _ours(change.new)


class Pinned:
    """Finds the artifacts of pinned revisions."""

    def __init__(self, pins: Pins, store: ArtifactStore | None) -> None:
        """Without a store, in a process that has no sources, only the newest revision of a source can be had."""
        self.pins = pins
        self._store = store

    async def find(self, kustomization: Kustomization, source: Source) -> Artifact:
        """The artifact of the pinned revision; a Halt says what there is instead, and what to do."""
        newest, asked = source.artifact, revision(kustomization)
        if newest is not None and matches(newest.revision, asked):
            return newest
        if self._store is None:
            there = f"its source is at '{newest.revision}'" if newest else "its source has no artifact"
            raise _missing(
                f"pinned to revision '{asked}', and {there}; older revisions are kept only where the components "
                f"source and kustomize run in one process: pin before the source moves on, or remove {ANNOTATION}"
            )
        try:
            return await self._store.find(source.ref, asked)
        except RevisionMissing as error:
            trouble = self.pins.trouble(source.ref, asked)
            why = f": {trouble}" if trouble else ""
            raise _missing(f"pinned by {ANNOTATION}, but {error}{why}") from error


def _missing(message: str) -> Halt:
    return Halt("ArtifactFailed", message, attempted=False)


def _ours(obj: Object | None) -> dict[str, str]:
    annotations: dict[str, str] = ((obj or {}).get("metadata") or {}).get("annotations") or {}
    return {key: value for key, value in annotations.items() if key.startswith(_PREFIX)}
