"""From a Kustomization to those among its objects, and on to theirs."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.api import decode
from penstock.api.kustomization import Kustomization
from penstock.controllers.kustomization import source
from penstock.controllers.kustomization.parts import KUSTOMIZATIONS
from penstock.controllers.kustomization.rehearsal.building import Inputs, Rehearsed, rehearse
from penstock.kube.resources import group_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
    from pathlib import Path

    from penstock.kube import Object, ObjectRef


@dataclass(frozen=True, slots=True)
class Files:
    """Where files lie: those of the first Kustomization, and those that stand in for the sources of others."""

    root: Path
    sources: Mapping[ObjectRef, Path]


@dataclass(frozen=True, slots=True)
class Act:
    """One Kustomization of a rehearsal."""

    kustomization: Kustomization
    rehearsed: Rehearsed
    warnings: tuple[str, ...] = ()


async def descend(
    first: Kustomization, files: Files, inputs: Callable[[Kustomization], Awaitable[Inputs]]
) -> AsyncGenerator[Act]:
    """The Kustomization, and then every one below it whose source has files here; each once, parents first."""
    waiting: deque[tuple[Kustomization, Path]] = deque([(first, files.root)])
    known = {(first.metadata.namespace, first.metadata.name)}
    while waiting:
        kustomization, root = waiting.popleft()
        given = await inputs(kustomization)
        rehearsed = await rehearse(kustomization, root, given)
        yield Act(kustomization, rehearsed, given.warnings)
        for child in _children(rehearsed.objects):
            place, key = files.sources.get(source.reference(child)), (child.metadata.namespace, child.metadata.name)
            if place is not None and key not in known:
                known.add(key)
                waiting.append((child, place))


def _children(objects: list[Object]) -> Iterator[Kustomization]:
    for obj in objects:
        if obj.get("kind") == KUSTOMIZATIONS.kind and group_of(obj.get("apiVersion") or "") == KUSTOMIZATIONS.group:
            yield decode(obj, Kustomization)
