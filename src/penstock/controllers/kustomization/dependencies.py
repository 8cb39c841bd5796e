"""What has to be ready before a Kustomization runs, and in which order several of them should.

Beside `spec.dependsOn`, the annotation `penstock.dev/depends-on` names objects of any kind:
`HelmRelease/apps/database, Deployment.apps/web/api`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.controllers.kustomization import pinning
from penstock.controllers.kustomization.halt import Halt, Then
from penstock.controllers.kustomization.source import reference
from penstock.errors import PenstockError
from penstock.kube import ObjectRef
from penstock.runtime.conditions import READY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from penstock.api.kustomization import Kustomization
    from penstock.api.references import Dependency

GROUP, KIND = "kustomize.toolkit.fluxcd.io", "Kustomization"
ANNOTATION = "penstock.dev/depends-on"
_TARGET = re.compile(r"(?P<kind>[A-Za-z0-9]+)(?:\.(?P<group>[a-z0-9.-]+))?/(?P<namespace>[^/\s]*)/(?P<name>[^/\s]+)")


class CircularDependency(PenstockError):
    """Kustomizations that wait for each other."""


class BadDependency(PenstockError):
    """An annotation that names no object."""


@dataclass(frozen=True, slots=True)
class Target:
    """An object of any kind that has to be healthy first."""

    kind: str
    group: str | None
    """None: whichever group serves the kind."""
    namespace: str
    name: str

    def __str__(self) -> str:
        place = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind}/{place}"


def refs(kustomization: Kustomization) -> list[ObjectRef]:
    """The Kustomizations that this one depends on."""
    return [_ref(kustomization, dependency) for dependency in kustomization.spec.depends_on]


def targets(kustomization: Kustomization) -> list[Target]:
    """The objects of any kind that the annotation names."""
    text = kustomization.metadata.annotations.get(ANNOTATION, "")
    found: list[Target] = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        match = _TARGET.fullmatch(part)
        if match is None:
            raise BadDependency(f"{ANNOTATION}: {part[:100]!r} is not Kind/namespace/name or Kind.group/namespace/name")
        found.append(Target(match["kind"], match["group"], match["namespace"], match["name"]))
    return found


def check_builtin(kustomization: Kustomization, dependency: Kustomization, revision: str) -> None:
    """Raise a Halt unless the dependency has settled, with the same revision where it has the same source."""
    status, metadata = dependency.status, dependency.metadata
    name = f"{metadata.namespace}/{metadata.name}"
    ready = status.condition(READY)
    if ready is None or metadata.generation != status.observed_generation or ready.status != "True":
        raise NotReady(f"dependency '{name}' is not ready")
    if reference(dependency) == reference(kustomization) and not _is_up_to_date(kustomization, dependency, revision):
        raise NotReady(f"dependency '{name}' revision is not up to date")


def _is_up_to_date(kustomization: Kustomization, dependency: Kustomization, revision: str) -> bool:
    """Whether it has what it should have by now: the same revision, unless one of the two is pinned to its own."""
    if pinning.revision(dependency):
        return pinning.is_at(dependency, dependency.status.last_applied_revision)
    return bool(pinning.revision(kustomization)) or dependency.status.last_applied_revision == revision


class NotReady(PenstockError):
    """A dependency that has to be waited for."""


def not_ready(error: PenstockError | str, retry: object) -> Halt:
    """How a run ends that has to wait for a dependency."""
    return Halt(
        "DependencyNotReady",
        str(error),
        then=Then.DEPENDENCY,
        event=f"Dependencies do not meet ready condition, retrying in {retry}",
        severity="info",
    )


def order(wanted: Iterable[Kustomization], find: Callable[[ObjectRef], Kustomization | None]) -> list[ObjectRef]:
    """Dependencies before their dependents; those that were not asked for come too.

    CircularDependency names the circle.
    """
    done: dict[ObjectRef, None] = {}
    path: dict[ObjectRef, None] = {}

    def visit(ref: ObjectRef, kustomization: Kustomization | None) -> None:
        # By hand instead of by recursion: a chain of dependencies may be as long as a tenant likes.
        stack: list[tuple[ObjectRef, list[ObjectRef]]] = [(ref, refs(kustomization) if kustomization else [])]
        path[ref] = None
        while stack:
            current, rest = stack[-1]
            if not rest:
                stack.pop()
                del path[current]
                done[current] = None
                continue
            following = rest.pop(0)
            if following in done:
                continue
            if following in path:
                circle = [*path][[*path].index(following) :]
                names = " -> ".join(f"{one.namespace}/{one.name}" for one in (*circle, following))
                raise CircularDependency(f"circular dependency detected: {names}")
            path[following] = None
            found = find(following)
            stack.append((following, refs(found) if found else []))

    for kustomization in wanted:
        ref = own_ref(kustomization)
        if ref not in done:
            visit(ref, kustomization)
    return list(done)


def own_ref(kustomization: Kustomization) -> ObjectRef:
    """The Kustomization itself."""
    return ObjectRef(GROUP, KIND, kustomization.metadata.namespace, kustomization.metadata.name)


def _ref(kustomization: Kustomization, dependency: Dependency) -> ObjectRef:
    return ObjectRef(GROUP, KIND, dependency.namespace or kustomization.metadata.namespace, dependency.name)
