"""A kind of source whose place is a dictionary in the test."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from penstock.api import decode
from penstock.api.bucket import Bucket
from penstock.api.gitrepository import GitRepository
from penstock.controllers.sources import SourceKind, Surroundings
from penstock.sources import Fetched, Remote, SourceError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable
    from pathlib import Path

    from penstock.kube.resources import Object


def write(tree: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(content)


async def nothing() -> None:
    """The hook that does nothing."""


@dataclass
class Place:
    """Files under a revision; counts how often it is asked."""

    revision: str = "main@sha1:" + "1" * 40
    files: dict[str, str] = field(default_factory=lambda: {"a.yaml": "a"})
    resolves: bool = True
    verified: str = ""
    failure: SourceError | None = None
    opening: SourceError | None = None
    hold: Callable[[], Awaitable[None]] = nothing
    resolved: int = 0
    fetched: int = 0
    open: int = 0

    async def resolve(self) -> str | None:
        self.resolved += 1
        await self.hold()
        if self.failure:
            raise self.failure
        return self.revision if self.resolves else None

    async def fetch(self, into: Path) -> Fetched:
        self.fetched += 1
        await self.hold()
        if self.failure:
            raise self.failure
        await asyncio.to_thread(write, into, self.files)
        return Fetched(revision=self.revision, summary="commit 'Add a cache'", verified=self.verified)


class StandIn(SourceKind[GitRepository]):
    """GitRepositories whose URL does not matter."""

    name = "GitRepository"
    failed = "GitOperationFailed"

    def __init__(self, place: Place | None = None) -> None:
        self.place = place or Place()

    def decode(self, obj: Object) -> GitRepository:
        return decode(obj, GitRepository)

    @asynccontextmanager
    async def open(self, source: GitRepository, around: Surroundings) -> AsyncGenerator[Remote]:
        if source.spec.secret_ref is not None:
            await around.secret(source.spec.secret_ref.name)
        if self.place.opening:
            raise self.place.opening
        self.place.open += 1
        try:
            yield self.place
        finally:
            self.place.open -= 1

    def filename(self, source: GitRepository, revision: str) -> str:
        del source
        return f"{revision.rpartition(':')[2]}.tar.gz"

    def verifies(self, source: GitRepository) -> bool:
        return source.spec.verify is not None


class BucketStandIn(SourceKind[Bucket]):
    """Buckets, which have a fixed name that leads to the newest artifact."""

    name = "Bucket"
    alias = "latest.tar.gz"

    def __init__(self, place: Place) -> None:
        self.place = place

    def decode(self, obj: Object) -> Bucket:
        return decode(obj, Bucket)

    @asynccontextmanager
    async def open(self, source: Bucket, around: Surroundings) -> AsyncGenerator[Remote]:
        del source, around
        yield self.place

    def filename(self, source: Bucket, revision: str) -> str:
        del source
        return f"{revision.rpartition(':')[2]}.tar.gz"


def spec(**more: object) -> Object:
    return {"url": "https://git.example.com/apps", "interval": "1h", **more}


def refused(told: str = "the remote is away") -> SourceError:
    """What a place in trouble fails with."""
    return SourceError(told, reason="GitOperationFailed")
