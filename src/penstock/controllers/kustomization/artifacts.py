"""Artifacts as a Kustomization needs them: unpacked, or a Halt that says why there is nothing to build from."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from penstock.controllers.kustomization.halt import Halt, Then
from penstock.paths import ArchiveError
from penstock.render import DecryptionFailed
from penstock.render.confined import confined
from penstock.sources.store.fetch import ArtifactGone, FetchError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from pathlib import Path

    from penstock.api.meta import Artifact
    from penstock.controllers.kustomization.settings import Settings
    from penstock.sources.store.trees import Trees


class Artifacts:
    """Gives out the files of artifacts, each unpacked once however many Kustomizations build from it."""

    def __init__(self, trees: Trees, settings: Settings) -> None:
        self._trees = trees
        self._settings = settings

    @asynccontextmanager
    async def tree(self, artifact: Artifact, path: str, *, latest: Callable[[], Artifact]) -> AsyncGenerator[Path]:
        """The files while the body runs; `path` has to be a directory among them.

        `latest` finds the artifact that the source has by then, or raises a Halt.
        """

        def known() -> Artifact | None:
            try:
                return latest()
            except Halt:
                return None  # its source may be about to make it again

        try:
            async with self._trees.use(artifact, latest=known) as root:
                if not await asyncio.to_thread(_has, root, path):
                    message = f"kustomization path not found: stat {path}: no such file or directory"
                    raise Halt("ArtifactFailed", message)
                yield root
        except ArtifactGone as error:
            raise Halt(
                "ArtifactFailed",
                f"Source is not ready, artifact not found, retrying in {self._settings.requeue_dependency}",
                then=Then.DEPENDENCY,
                event=None,
            ) from error
        except (FetchError, ArchiveError) as error:
            raise Halt("ArtifactFailed", str(error)) from error


def _has(root: Path, path: str) -> bool:
    """Whether there is such a directory; what leads outside is clamped to the root, and never followed."""
    try:
        return confined(root, path).is_dir()
    except DecryptionFailed:
        return False
