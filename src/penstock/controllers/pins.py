"""Which revisions Kustomizations are pinned to, as the sources have to know it: what is pinned is kept.

`penstock.dev/revision: main@sha1:1a2b3c4d` on a Kustomization holds it there while its source moves on. The sources
spare the artifact of that revision, and fetch it again where it is gone and the remote can still give it.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from penstock.api.annotations import REVISION
from penstock.kube import ObjectRef

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from penstock.kube import Change, Object

ANNOTATION = REVISION
MOST = 16
"""Revisions of one source that are kept: whoever may write Kustomizations must not be able to fill the disk."""
_GROUP = "source.toolkit.fluxcd.io"


def wanted(annotations: Mapping[str, str]) -> str:
    """The revision that an object is pinned to; empty when it follows its source."""
    return annotations.get(ANNOTATION, "").strip()


class Pins:
    """Follows the cache of Kustomizations, and answers what of a source is pinned."""

    def __init__(self, *, cross_namespace: bool = True) -> None:
        """`cross_namespace` says whether a Kustomization of another namespace may hold a revision."""
        self._cross_namespace = cross_namespace
        self._holders: defaultdict[ObjectRef, dict[ObjectRef, str]] = defaultdict(dict)
        self._sources: dict[ObjectRef, ObjectRef] = {}
        self._troubles: dict[tuple[ObjectRef, str], str] = {}
        self._when_pinned: list[Callable[[ObjectRef, ObjectRef], None]] = []
        self._when_settled: list[Callable[[ObjectRef, ObjectRef], None]] = []

    def of(self, source: ObjectRef) -> list[str]:
        """The pinned revisions of a source, in a fixed order and no more than are kept."""
        return sorted(set(self._holders.get(source, {}).values()))[:MOST]

    async def follow(self, change: Change[Object]) -> None:
        """Take note of a Kustomization that came, changed or went."""
        if (before := self._sources.pop(change.ref, None)) is not None:
            self._forget(before, change.ref)
        found = self._pin(change.new)
        if found is None:
            return
        source, revision = found
        self._holders[source][change.ref] = revision
        self._sources[change.ref] = source
        if found != self._pin(change.old):
            for listener in self._when_pinned:
                listener(source, change.ref)

    def settle(self, source: ObjectRef, revision: str, trouble: str = "") -> None:
        """Say what came of fetching a pinned revision; who holds it is woken to see it."""
        known = self._troubles.pop((source, revision), "")
        if trouble:
            self._troubles[source, revision] = trouble
            if trouble == known:
                return
        for holder, held in list(self._holders.get(source, {}).items()):
            if held == revision:
                for listener in self._when_settled:
                    listener(holder, source)

    def trouble(self, source: ObjectRef, revision: str) -> str:
        """Why a pinned revision could not be fetched; empty when nobody has tried or it went well."""
        return self._troubles.get((source, revision), "")

    def when_pinned(self, listener: Callable[[ObjectRef, ObjectRef], None]) -> None:
        """Have the source told of every new pin, and of who holds it."""
        self._when_pinned.append(listener)

    def when_settled(self, listener: Callable[[ObjectRef, ObjectRef], None]) -> None:
        """Have the holder told when a pinned revision has come or cannot come, and from which source."""
        self._when_settled.append(listener)

    def _forget(self, source: ObjectRef, holder: ObjectRef) -> None:
        revision = self._holders[source].pop(holder, "")
        if revision not in self._holders[source].values():
            self._troubles.pop((source, revision), None)
        if not self._holders[source]:
            del self._holders[source]

    def _pin(self, obj: Object | None) -> tuple[ObjectRef, str] | None:
        metadata: dict[str, Any] = (obj or {}).get("metadata") or {}
        revision = wanted(metadata.get("annotations") or {})
        named = ((obj or {}).get("spec") or {}).get("sourceRef") or {}
        if not revision or not named.get("name"):
            return None
        namespace = named.get("namespace") or metadata.get("namespace", "")
        if namespace != metadata.get("namespace") and not self._cross_namespace:
            return None
        return ObjectRef(_GROUP, str(named.get("kind")), namespace, str(named["name"])), revision
