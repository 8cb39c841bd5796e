"""What wakes a Kustomization besides its own spec: a new revision, a changed Secret, a dependency that got ready."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from penstock.controllers.kustomization import dependencies, pinning
from penstock.controllers.kustomization.dependencies import CircularDependency
from penstock.runtime import conditions
from penstock.runtime.conditions import READY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from penstock.api.kustomization import Kustomization
    from penstock.controllers.kustomization.index import Index
    from penstock.controllers.kustomization.source import Source
    from penstock.kube import Change, Object, ObjectRef

log = structlog.get_logger()


class Wakers:
    """Maps changes of other objects to the Kustomizations that have to run for them, dependencies first."""

    def __init__(self, index: Index, *, waits: Callable[[ObjectRef], bool], runs: Callable[[ObjectRef], bool]) -> None:
        """`waits` says who waits for a dependency, `runs` who is being worked on; a status says so only later."""
        self._index = index
        self._waits, self._runs = waits, runs

    def of_source(self, change: Change[Source]) -> Iterable[ObjectRef]:
        """Who builds from this source and has not tried its revision yet, or is at another one right now."""
        if change.new is None or change.new.artifact is None:
            return []
        revision = change.new.artifact.revision
        return self._ordered(
            one
            for one in self._index.naming(change.ref)
            if not _has_tried(one, revision) or self._runs(dependencies.own_ref(one))
        )

    def of_config(self, change: Change[str]) -> Iterable[ObjectRef]:
        """Who reads this ConfigMap or Secret."""
        return self._ordered(self._index.naming(change.ref))

    def of_dependency(self, change: Change[Object]) -> Iterable[ObjectRef]:
        """Who waits for this Kustomization, when it has come further."""
        if change.new is None or _progress(change.new) == _progress(change.old):
            return []
        dependents = (dependencies.own_ref(one) for one in self._index.naming(change.ref))
        return [ref for ref in dependents if self._waits(ref)]

    def _ordered(self, kustomizations: Iterable[Kustomization]) -> Iterable[ObjectRef]:
        wanted = list(kustomizations)
        try:
            return dependencies.order(wanted, self._index.get)
        except CircularDependency:
            return self._without_circles(wanted)

    def _without_circles(self, kustomizations: list[Kustomization]) -> Iterable[ObjectRef]:
        """Those that wait for each other are left out; everybody else who uses the same source is not to suffer."""
        found: dict[ObjectRef, None] = {}
        for one in kustomizations:
            try:
                found |= dict.fromkeys(dependencies.order([one], self._index.get))
            except CircularDependency as error:
                log.error("not queued", name=one.metadata.name, error=str(error))  # noqa: TRY400 - a fault of the spec
        return found


def new_revision(change: Change[Source]) -> bool:
    """The source came, went, or has another revision than before."""
    if change.old is None or change.new is None:
        return True
    return _revision(change.new) != _revision(change.old)


def _revision(source: Source) -> str:
    return source.artifact.revision if source.artifact else ""


def _has_tried(kustomization: Kustomization, revision: str) -> bool:
    status = kustomization.status
    settled = conditions.is_ready(status.conditions) or conditions.is_reconciling(status.conditions)
    if pinning.revision(kustomization):
        return settled and pinning.is_at(kustomization, status.last_attempted_revision)
    return settled and status.last_attempted_revision == revision


def _progress(obj: Object | None) -> tuple[object, ...]:
    """What dependents look at."""
    status = (obj or {}).get("status") or {}
    ready: Object = next((one for one in status.get("conditions") or () if one.get("type") == READY), {})
    return status.get("observedGeneration"), status.get("lastAppliedRevision"), ready.get("status")
