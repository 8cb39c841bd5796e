"""Files of other GitRepositories, added to what was fetched (`spec.include`)."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from penstock.api import KINDS, InvalidObject, decode
from penstock.api.gitrepository import GitRepository
from penstock.controllers.sources.ready import INCLUDE_UNAVAILABLE, STORAGE_FAILED
from penstock.kube.resources import ObjectRef, Resource
from penstock.paths import ArchiveError, unpack
from penstock.sources import SourceError, Waiting
from penstock.sources.store import ArtifactDamaged, ArtifactMissing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.api.gitrepository import GitInclude
    from penstock.api.meta import Artifact
    from penstock.controllers.sources.surroundings import Surroundings

_KIND = KINDS["GitRepository"]
_RESOURCE = Resource(_KIND.group, _KIND.version, _KIND.plural, _KIND.kind)


async def included_artifacts(includes: Sequence[GitInclude], around: Surroundings) -> list[Artifact]:
    """The artifacts that are to be included, in the order of the spec; Waiting when one is not there yet."""
    return [await _artifact(include.repository.name, around) for include in includes]


async def stored_archive(include: GitInclude, artifact: Artifact, around: Surroundings) -> Path:
    """The file of an artifact, after a look whether it is still what its digest says."""
    try:
        await around.store.check(artifact)
        # A status may name a file of somebody else.
        owner = ObjectRef(_RESOURCE.group, _RESOURCE.kind, around.namespace, include.repository.name)
        return around.store.of(owner, artifact)
    except (ArtifactMissing, ArtifactDamaged) as error:
        raise _failed(f"failed to copy '{include.repository.name}' include: {error}", "CopyFailure") from error


def add_included(include: GitInclude, archive: Path, tree: Path) -> None:
    """Put what an archive holds where the spec wants it; blocking.

    What is there already is never overwritten: neither repository could tell what the result would be.
    """
    name = include.repository.name
    target = _inside(tree, include.destination)
    if target is None:
        raise _failed(f"path calculation for include '{name}' failed: it leads out of the artifact", "IllegalPath")
    told = f"failed to copy '{name}' include from {include.from_path or '.'} to {include.destination}"
    with tempfile.TemporaryDirectory(dir=tree.parent, prefix="include-") as folder:
        content = Path(folder)
        try:
            with archive.open("rb") as packed:
                unpack(packed, content)
        except (OSError, ArchiveError) as error:
            raise _failed(f"{told}: its artifact cannot be read: {error}", "CopyFailure") from error
        source = _inside(content, include.from_path)
        if source is None or not source.exists():
            raise _failed(f"{told}: there is no '{include.from_path}' in it", "CopyFailure")
        if target.exists():
            raise _failed(f"{told}: '{include.destination}' is there already", "CopyFailure")
        _move(source, target, told)


async def _artifact(name: str, around: Surroundings) -> Artifact:
    found = await around.get(_RESOURCE, name)
    if found is None:
        told = f"could not get resource for include '{name}': it does not exist"
        raise Waiting(told, reason="NotFound", condition=INCLUDE_UNAVAILABLE)
    try:
        artifact = decode(found, GitRepository).status.artifact
    except InvalidObject:
        artifact = None
    if artifact is None:
        told = f"no artifact available for include '{name}'"
        raise Waiting(told, reason="NoArtifact", condition=INCLUDE_UNAVAILABLE)
    return artifact


def _inside(root: Path, path: str) -> Path | None:
    """A path below a directory in which there are no links; None when it leads out."""
    parts = PurePosixPath(path.lstrip("/")).parts
    return None if ".." in parts or "\0" in path else root.joinpath(*parts)


def _move(source: Path, target: Path, told: str) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(source, target)
    except OSError as error:
        raise _failed(f"{told}: {error.strerror or error}", "CopyFailure") from error


def _failed(message: str, reason: str) -> SourceError:
    return SourceError(message, reason=reason, condition=STORAGE_FAILED)
