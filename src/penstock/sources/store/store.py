"""The artifact store: what sources have fetched, as files in Flux's layout.

A file lies at `<kind>/<namespace>/<name>/<file>` below the root. Everything here may be deleted at any time: what is
missing or damaged is noticed in the next run of its source, and built again.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, BinaryIO, cast

import msgspec

from penstock.api.meta import Artifact
from penstock.errors import PenstockError
from penstock.paths import PackError, pack
from penstock.sources.remote import SourceError
from penstock.sources.store import digests, files, records
from penstock.sources.store.files import LOCK, UNFINISHED, Retention
from penstock.sources.store.locks import Held, locked

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from pathlib import Path

    from penstock.kube.resources import ObjectRef
    from penstock.paths.packing import Excludes

_CONDITION = "StorageOperationFailed"


class StoreError(SourceError):
    """The store could not keep or find a file."""

    def __init__(self, message: str, *, reason: str) -> None:
        super().__init__(message, reason=reason, condition=_CONDITION)


class ArtifactMissing(PenstockError):
    """The file of an artifact is not in the store."""


class ArtifactDamaged(PenstockError):
    """The file of an artifact is not what its digest says."""


class ArtifactStore:
    """Keeps artifacts below one directory and knows under which address they are served."""

    def __init__(
        self,
        root: Path,
        *,
        address: str,
        algorithm: str = "sha256",
        retention: Retention | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        """`address` is what consumers reach: `host:port`, or a URL."""
        self.root = root
        self.address = address
        self._algorithm = algorithm
        self._retention = retention or Retention()
        self._now = now
        self._known: dict[Path, tuple[tuple[int, ...], str]] = {}
        """Digests of files that have not changed since they were computed."""
        digests.hasher(algorithm)  # a wrong name is told at the start

    async def open(self) -> int:
        """Make the root where there is none, and sweep what a killed process left; the answer is how many files."""

        def run() -> int:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            return files.sweep(self.root)

        return await asyncio.to_thread(run)

    async def put_tree(
        self,
        owner: ObjectRef,
        filename: str,
        tree: Path,
        *,
        revision: str,
        leaving_out: Excludes | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> Artifact:
        """Pack a directory; the answer is the artifact for the status."""

        def fill(out: BinaryIO) -> None:
            pack(tree, out, leaving_out=leaving_out)

        return await self._put(owner, filename, fill, revision, metadata or {})

    async def put_file(
        self, owner: ObjectRef, filename: str, file: Path, *, revision: str, metadata: Mapping[str, str] | None = None
    ) -> Artifact:
        """Keep a copy of a file as it is."""

        def fill(out: BinaryIO) -> None:
            with file.open("rb") as source:
                shutil.copyfileobj(source, out, 1 << 20)

        return await self._put(owner, filename, fill, revision, metadata or {})

    async def check(self, artifact: Artifact) -> None:
        """Raise ArtifactMissing or ArtifactDamaged; a file that has not changed is not read again."""
        await asyncio.to_thread(self._check, artifact)

    async def digest(self, path: Path, algorithm: str | None = None) -> str | None:
        """The digest of a file of the store; None when there is no such file."""
        return await asyncio.to_thread(self._digest, path, algorithm or self._algorithm)

    def located(self, artifact: Artifact) -> Artifact:
        """The same artifact under the address at which the store is served now."""
        return msgspec.structs.replace(artifact, url=self.url(artifact.path))

    def url(self, path: str) -> str:
        """Where a file of the store is served."""
        base = self.address if self.address.startswith(("http://", "https://")) else f"http://{self.address}"
        return f"{base.rstrip('/')}/{path.lstrip('/')}"

    def file(self, artifact: Artifact) -> Path:
        """Where the file of an artifact of ours lies; a path that is not of our making is missing."""
        parts = artifact.path.split("/")
        if len(parts) != 4 or not all(map(is_part, parts)):
            raise ArtifactMissing(f"'{artifact.path[:200]}' is no path of the artifact store")
        return self.root.joinpath(*parts)

    def of(self, owner: ObjectRef, artifact: Artifact) -> Path:
        """The same, for an artifact out of the status of its owner: one that names others' files is missing.

        A status may have been written by somebody who wants to see or remove what is not his.
        """
        file = self.file(artifact)
        if file.parent != self._directory(owner):
            raise ArtifactMissing(f"'{artifact.path[:200]}' is no artifact of {owner}")
        return file

    async def link(self, artifact: Artifact, alias: str) -> str:
        """Let a fixed name lead to the file of an artifact; the answer is the URL of that name."""
        file = self.file(artifact)
        try:
            await asyncio.to_thread(files.link, file.with_name(alias), file.name)
        except OSError as error:
            raise StoreError(
                f"cannot set the link '{alias}': {error.strerror}", reason="SymlinkUpdateFailed"
            ) from error
        return self.url(artifact.path.rpartition("/")[0] + f"/{alias}")

    async def discard(self, artifact: Artifact) -> None:
        """Remove the file of an artifact, if it is there."""
        file = self.file(artifact)
        self._known.pop(file, None)
        for path in (file, records.beside(file)):
            await asyncio.to_thread(path.unlink, missing_ok=True)

    async def find(self, owner: ObjectRef, wanted: str) -> Artifact:
        """The artifact of a revision, new or old; RevisionMissing when it is not there, or could be several."""
        directory = self._directory(owner)
        known = await asyncio.to_thread(records.read, directory)
        return self.located(records.choose(known, wanted))

    async def collect(self, artifact: Artifact, *, sparing: Collection[str] = ()) -> int:
        """Thin out the older files beside the current one and the revisions to spare; the answer is how many went."""
        current = self.file(artifact)

        def run() -> list[Path]:
            kept = {current}
            if sparing:
                known = records.read(current.parent)
                kept |= {self.file(one) for one in known if any(records.matches(one.revision, w) for w in sparing)}
            gone = files.thin_out(current.parent, kept, self._retention, now=self._now())
            for path in gone:
                records.beside(path).unlink(missing_ok=True)
            return gone

        try:
            gone = await asyncio.to_thread(run)
        except OSError as error:
            raise StoreError(f"cannot collect garbage: {error}", reason="GarbageCollectionFailed") from error
        for path in gone:
            self._known.pop(path, None)
        return len(gone)

    async def remove(self, owner: ObjectRef) -> bool:
        """Remove everything of an object that is gone; False when there was nothing."""
        directory = self._directory(owner)
        for path in [path for path in self._known if path.parent == directory]:
            del self._known[path]

        def run() -> bool:
            if not directory.exists():
                return False
            shutil.rmtree(directory)
            for parent in (directory.parent, directory.parent.parent):
                try:
                    parent.rmdir()
                except OSError:  # others live there
                    break
            return True

        try:
            return await asyncio.to_thread(run)
        except OSError as error:
            raise StoreError(f"cannot remove the artifacts: {error}", reason="GarbageCollectionFailed") from error

    def _directory(self, owner: ObjectRef) -> Path:
        parts = (owner.kind.lower(), owner.namespace, owner.name)
        if not all(map(is_part, parts)):
            raise StoreError(f"{owner} cannot be the name of a directory", reason="InvalidPath")
        return self.root.joinpath(*parts)

    async def _put(
        self,
        owner: ObjectRef,
        filename: str,
        fill: Callable[[BinaryIO], None],
        revision: str,
        metadata: Mapping[str, str],
    ) -> Artifact:
        directory = self._directory(owner)
        if not is_part(filename) or filename.endswith((LOCK, UNFINISHED)):
            raise StoreError(f"'{filename[:200]}' cannot be the name of an artifact", reason="InvalidPath")
        target = directory / filename
        digest, size = await asyncio.to_thread(self._write, target, fill)
        path = f"{owner.kind.lower()}/{owner.namespace}/{owner.name}/{filename}"
        artifact = Artifact(
            digest=digest,
            last_update_time=datetime.fromtimestamp(int(self._now()), UTC),
            path=path,
            revision=revision,
            url=self.url(path),
            size=size,
            metadata=dict(metadata),
        )
        await asyncio.to_thread(_record, target, artifact)
        return artifact

    def _write(self, target: Path, fill: Callable[[BinaryIO], None]) -> tuple[str, int]:
        try:
            for parent in reversed(target.parents[:4]):  # `parents=True` would give the ones in between another mode
                parent.mkdir(mode=0o700, parents=parent == self.root, exist_ok=True)
        except OSError as error:
            raise StoreError(f"cannot make a directory: {error}", reason="DirectoryCreationFailed") from error
        if target.is_symlink() or (target.exists() and not target.is_file()):
            raise StoreError(f"invalid target path: '{target.name}' is not a regular file", reason="InvalidPath")
        try:
            with locked(target.with_name(target.name + LOCK)), files.written(target) as file:
                out = digests.Hashing(file, self._algorithm)
                fill(cast("BinaryIO", out))
                file.flush()
                digest, size = out.digest, out.size
        except Held:
            raise StoreError(f"somebody else is writing '{target.name}'", reason="AcquireLockFailed") from None
        except (OSError, PackError) as error:
            told = f"unable to archive artifact to storage: {error}"
            raise StoreError(told, reason="ArchiveOperationFailed") from error
        self._remember(target, digest)
        return digest, size

    def _remember(self, path: Path, digest: str) -> None:
        with suppress(OSError):
            self._known[path] = (files.identity_of(path.lstat()), digest)

    def _check(self, artifact: Artifact) -> None:
        path = self.file(artifact)
        algorithm = digests.split(artifact.digest)[0] if artifact.digest else self._algorithm
        found = self._digest(path, algorithm)
        if found is None:
            raise ArtifactMissing(f"'{artifact.path}' is not in the artifact store")
        if artifact.digest and not digests.same(found, artifact.digest):
            raise ArtifactDamaged(f"computed digest doesn't match '{artifact.digest}'")

    def opened(self, path: Path) -> tuple[BinaryIO, int, str]:
        """A file of the store, its size and its digest; a link is followed to a file beside it only. Blocks."""
        if path.is_symlink():
            target = os.readlink(path)  # noqa: PTH115 - the text itself, whatever it leads to
            if not is_part(target):
                raise ArtifactMissing(f"'{path.name}' leads out of its directory")
            path = path.with_name(target)
        file = _regular(path)
        if file is None:
            raise ArtifactMissing(f"'{path.name}' is not in the artifact store")
        try:
            digest = self._digest_of(file, path, self._algorithm)
            size = file.seek(0, os.SEEK_END)
            file.seek(0)
        except BaseException:
            file.close()
            raise
        return file, size, digest

    def _digest(self, path: Path, algorithm: str) -> str | None:
        file = _regular(path)
        if file is None:
            return None
        with file:
            return self._digest_of(file, path, algorithm)

    def _digest_of(self, file: BinaryIO, path: Path, algorithm: str) -> str:
        seen = files.identity_of(os.fstat(file.fileno()))
        known = self._known.get(path)
        if known is not None and known[0] == seen and known[1].startswith(algorithm + ":"):
            return known[1]
        digest = digests.of_file(file, algorithm)
        self._known[path] = (seen, digest)
        return digest


def _record(file: Path, artifact: Artifact) -> None:
    try:
        records.write(file, artifact)
    except OSError as error:
        told = f"unable to record artifact in storage: {error}"
        raise StoreError(told, reason="ArchiveOperationFailed") from error


def _regular(path: Path) -> BinaryIO | None:
    """A regular file, open for reading; None for everything else."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        return None
    return os.fdopen(handle, "rb")


def is_part(name: str) -> bool:
    """Whether a text can be one step of a path in the store; what begins with a dot is ours alone."""
    return 0 < len(name) <= 255 and not name.startswith(".") and not any(one in name for one in "/\\\x00")
