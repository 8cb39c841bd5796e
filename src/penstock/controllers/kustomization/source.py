"""Where the artifact of a Kustomization comes from: the source it names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from penstock.api.meta import Artifact
from penstock.controllers.kustomization.halt import Halt, Then, blocked
from penstock.kube import ObjectRef, Resource

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.api.kustomization import Kustomization
    from penstock.api.wire import Object
    from penstock.controllers.kustomization.settings import Settings
    from penstock.kube import WatchCache

GROUP = "source.toolkit.fluxcd.io"
KINDS = {
    kind: Resource(GROUP, "v1", plural, kind)
    for kind, plural in (
        ("GitRepository", "gitrepositories"),
        ("OCIRepository", "ocirepositories"),
        ("Bucket", "buckets"),
        ("ExternalArtifact", "externalartifacts"),
    )
}


@dataclass(frozen=True, slots=True)
class Source:
    """What a controller has to know of a source."""

    ref: ObjectRef
    artifact: Artifact | None


def summary(obj: Object) -> Source:
    """What the cache of a source kind keeps of each object."""
    raw = (obj.get("status") or {}).get("artifact")
    try:
        artifact = msgspec.convert(raw, Artifact) if raw else None
    except msgspec.ValidationError:
        artifact = None  # somebody wrote the status by hand: there is nothing that could be fetched
    return Source(ObjectRef.of(obj), artifact)


def reference(kustomization: Kustomization) -> ObjectRef:
    """The source that a Kustomization names."""
    named = kustomization.spec.source_ref
    return ObjectRef(GROUP, named.kind, named.namespace or kustomization.metadata.namespace, named.name)


def find(kustomization: Kustomization, caches: Mapping[str, WatchCache[Source]], settings: Settings) -> Source:
    """The source that a Kustomization names; a Halt says why it is none."""
    ref = reference(kustomization)
    _check_access(kustomization, ref, settings)
    if ref.kind not in caches:
        message = f"source `{ref.name}` kind '{ref.kind}' not supported"
        raise Halt("ArtifactFailed", message, then=Then.BACKOFF, event=None)
    source = caches[ref.kind].get(ref.name, ref.namespace)
    if source is None:
        message = f'{KINDS[ref.kind]} "{ref.name}" not found'
        raise Halt("ArtifactFailed", message, event=None)
    return source


def newest(source: Source, settings: Settings) -> Artifact:
    """The artifact that the source has now; a Halt when it has none yet."""
    if source.artifact is None:
        message = f"Source artifact not found, retrying in {settings.requeue_dependency}"
        raise Halt("ArtifactFailed", message, then=Then.DEPENDENCY, event=None)
    return source.artifact


def _check_access(kustomization: Kustomization, ref: ObjectRef, settings: Settings) -> None:
    if not settings.cross_namespace_references and ref.namespace != kustomization.metadata.namespace:
        raise blocked(f"can't access '{ref}', cross-namespace references have been blocked")
    if ref.kind == "ExternalArtifact" and not settings.gates.external_artifact:
        raise blocked(f"can't access '{ref}', ExternalArtifact feature gate is disabled")
