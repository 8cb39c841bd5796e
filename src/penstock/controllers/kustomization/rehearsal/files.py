"""The files of a rehearsal: an artifact of the cluster, or a directory of one's own that stands in for it."""

from __future__ import annotations

import asyncio
import tempfile
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from penstock.controllers.kustomization import source
from penstock.errors import PenstockError, UsageError
from penstock.kube.errors import NotFound
from penstock.paths import ArchiveError, IgnoreRules, pack, unpack
from penstock.paths.ignore import parse
from penstock.sources.store.fetch import ArtifactFetcher, FetchError
from penstock.sources.store.scratch import Scratch
from penstock.sources.store.trees import Trees

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from penstock.api.kustomization import Kustomization
    from penstock.kube import Client


class NoArtifact(PenstockError):
    """There is nothing to build from; the sentence says why."""


def locate(directory: Path, spec_path: str) -> tuple[Path, str]:
    """The root of the files that a directory belongs to, and the path of the directory below it. Blocks.

    As with `flux build`, the directory is the one that `spec.path` means. Its name tells where the root is, if it ends
    as `spec.path` does; else the repository around it is the root, else the directory itself.
    """
    if not directory.is_dir():
        raise UsageError(f"'{directory}' is not a directory")
    real = directory.resolve()
    wanted = [part for part in PurePosixPath(spec_path).parts if part not in ("/", ".")]
    if ".." not in wanted and list(real.parts[len(real.parts) - len(wanted) :]) == wanted:
        root = real.parents[len(wanted) - 1] if wanted else real
        return root, "/".join(wanted)
    root = next((folder for folder in (real, *real.parents) if (folder / ".git").exists()), real)
    return root, real.relative_to(root).as_posix()


@asynccontextmanager
async def copied(root: Path, ignore: Sequence[str]) -> AsyncGenerator[Path]:
    """A copy of the files without those that patterns in the syntax of .gitignore name, while the body runs."""
    async with _temporary() as folder:
        await asyncio.to_thread(_copy, root, folder, ignore)
        yield folder


def _copy(root: Path, into: Path, ignore: Sequence[str]) -> None:
    with tempfile.TemporaryFile() as packed:
        pack(root, packed, leaving_out=IgnoreRules(parse("\n".join(ignore))))
        packed.seek(0)
        unpack(packed, into)


@asynccontextmanager
async def _temporary() -> AsyncGenerator[Path]:
    folder = await asyncio.to_thread(tempfile.TemporaryDirectory[str])
    try:
        yield Path(folder.name)
    finally:
        await asyncio.to_thread(folder.cleanup)


@asynccontextmanager
async def artifact_of(client: Client, kustomization: Kustomization) -> AsyncGenerator[Path]:
    """The files of the source's artifact while the body runs; NoArtifact when there is none."""
    ref = source.reference(kustomization)
    try:
        found = source.summary(await client.get(source.KINDS[ref.kind], ref.name, ref.namespace))
    except NotFound as error:
        raise NoArtifact(f"{ref} is not there; name a directory with --path") from error
    if found.artifact is None:
        raise NoArtifact(f"{ref} has no artifact yet; wait for it, or name a directory with --path")
    async with AsyncExitStack() as stack:
        folder = await stack.enter_async_context(_temporary())
        scratch = await stack.enter_async_context(Scratch.below(folder))
        fetcher = await stack.enter_async_context(ArtifactFetcher.open(tries=1))
        try:
            root = await stack.enter_async_context(Trees(scratch, fetcher).use(found.artifact))
        except (FetchError, ArchiveError) as error:
            hint = "from outside of the cluster name a directory with --path"
            raise NoArtifact(f"the artifact of {ref} cannot be fetched: {error}; {hint}") from error
        yield root
