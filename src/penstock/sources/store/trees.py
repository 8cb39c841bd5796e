"""Unpacked artifacts, once for each digest, for everybody in this process who needs them."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, BinaryIO, cast

import structlog

from penstock.paths import Limits, unpack
from penstock.sources.store import digests
from penstock.sources.store.fetch import DigestMismatch, FetchError
from penstock.sources.store.scratch import remove_tree
from penstock.sources.store.store import ArtifactMissing

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from penstock.api.meta import Artifact
    from penstock.sources.store.fetch import ArtifactFetcher, Latest
    from penstock.sources.store.scratch import Scratch
    from penstock.sources.store.store import ArtifactStore

SPARE = 1 << 30
"""Bytes of unpacked files that are kept although nobody uses them now."""

log = structlog.get_logger()


@dataclass(slots=True)
class _Tree:
    """One unpacked artifact; the lock is held by whoever unpacks it."""

    path: Path
    users: int = 0
    size: int = 0
    ready: bool = False
    urls: set[str] = field(default_factory=set[str])
    """Where it was found."""
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Trees:
    """Gives out directories to read from. Who writes into one spoils it for all others.

    An artifact of our own store is unpacked from there, all others are fetched. Whatever way it came, its digest is
    computed from the very bytes that were unpacked.
    """

    def __init__(
        self,
        scratch: Scratch,
        fetcher: ArtifactFetcher,
        *,
        store: ArtifactStore | None = None,
        limits: Limits | None = None,
        spare: int = SPARE,
    ) -> None:
        self._scratch, self._fetcher, self._store = scratch, fetcher, store
        self._limits, self._spare = limits or Limits(), spare
        self._trees: dict[str, _Tree] = {}
        """By digest, the one that was used longest ago first."""
        self._made = 0

    @asynccontextmanager
    async def use(self, artifact: Artifact, *, latest: Latest = lambda: None) -> AsyncGenerator[Path]:
        """The files of an artifact while the body runs; raises FetchError or ArchiveError.

        `latest` is asked for a better address when the one of the artifact does not answer.
        """
        algorithm, digits = digests.split(artifact.digest)
        key = f"{algorithm}-{digits}"
        tree = self._trees.get(key)
        if tree is None:
            self._made += 1  # the same digest again gets another directory: the old one may not be gone yet
            tree = self._trees[key] = _Tree(self._scratch.root / f"tree-{self._made}-{digits[:16]}")
        tree.users += 1
        try:
            async with tree.lock:
                if not tree.ready:
                    tree.size = await self._unpack(artifact, tree.path, latest)
                    tree.ready = True
                elif artifact.url not in tree.urls and not self._is_local(artifact):
                    await self._fetcher.check(artifact)  # the same content at another address must be there too
                tree.urls.add(artifact.url)
            yield tree.path
        finally:
            tree.users -= 1
            if self._trees.get(key) is tree:
                self._trees[key] = self._trees.pop(key)
            await self._tidy()

    def _is_local(self, artifact: Artifact) -> bool:
        if self._store is None:
            return False
        try:
            return self._store.file(artifact).exists()
        except ArtifactMissing:
            return False

    async def _unpack(self, artifact: Artifact, path: Path, latest: Latest) -> int:
        async with self._scratch.directory("unpack") as room:
            new = room / "tree"
            size = await self._unpack_local(artifact, new)
            if size is None:
                size = await self._unpack_remote(artifact, new, room / "artifact", latest)
            await asyncio.to_thread(new.rename, path)
        return size

    async def _unpack_remote(self, artifact: Artifact, into: Path, file: Path, latest: Latest) -> int:
        """Fetch the file; while that does not work, our own store may get it: sources begin together with us."""

        async def is_stored() -> bool:
            return await asyncio.to_thread(self._is_local, artifact)

        if await self._fetcher.fetch(artifact, file, latest=latest, needless=is_stored):
            return await asyncio.to_thread(self._unpack_file, file, into, artifact)
        size = await self._unpack_local(artifact, into)
        if size is None:
            raise FetchError(f"the artifact '{artifact.path}' came and went")
        return size

    async def _unpack_local(self, artifact: Artifact, into: Path) -> int | None:
        """Take the file from our own store; None when it is not there, or not the right one any more."""
        if self._store is None:
            return None
        try:
            return await asyncio.to_thread(self._unpack_file, self._store.file(artifact), into, artifact)
        except (ArtifactMissing, FileNotFoundError, DigestMismatch):
            await asyncio.to_thread(remove_tree, into)
            return None

    def _unpack_file(self, file: Path, into: Path, artifact: Artifact) -> int:
        with file.open("rb") as raw:
            hashing = digests.Hashing(raw, digests.split(artifact.digest)[0])
            into.mkdir(mode=0o700)
            told = unpack(cast("BinaryIO", hashing), into, limits=self._limits, links="skip")
            while hashing.read(1 << 20):  # what comes after the archive's end is part of the digest too
                pass
        if not digests.same(hashing.digest, artifact.digest):
            raise DigestMismatch(
                f"the artifact '{artifact.path}' has the digest {hashing.digest}, not {artifact.digest}"
            )
        return told.content

    async def _tidy(self) -> None:
        """Remove what nobody uses: what never got ready, and the oldest beyond the spare room."""
        idle = [(key, tree) for key, tree in self._trees.items() if not tree.users]
        total = sum(tree.size for _, tree in idle)
        for key, tree in idle:
            if tree.ready and total <= self._spare:
                continue
            total -= tree.size
            del self._trees[key]
            if tree.ready:
                await asyncio.to_thread(remove_tree, tree.path)
