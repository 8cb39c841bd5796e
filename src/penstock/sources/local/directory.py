"""A directory that somebody works in, as a place to fetch from.

The revision is `<branch>@sha1:<commit>` while everything is committed. As soon as something is not, twelve digits of
a digest over all files follow the commit, as in `main@sha1:<commit>-0123456789ab`: every saved change is a revision
of its own, and going back to an earlier content gives the earlier revision again. Outside of a Git repository it is
`local@sha256:<digest>`.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.errors import UsageError
from penstock.sources.local import git
from penstock.sources.remote import Fetched, SourceError

if TYPE_CHECKING:
    from collections.abc import Iterator

DIGITS = 12
_CHUNK = 1 << 20
_MOST = 200_000
_Seen = tuple[tuple[int, ...], bytes]


class LocalDirectory:
    """The files of one directory: in a repository those that Git does not ignore, else all."""

    def __init__(self, root: Path, *, repository: bool) -> None:
        """Use `find`, which knows the root."""
        self.root = root
        self.repository = repository
        self._contents = Contents(root)

    @classmethod
    async def find(cls, path: Path) -> LocalDirectory:
        """The directory, or the root of the repository that it lies in."""
        if not await asyncio.to_thread(path.is_dir):
            raise UsageError(f"'{path}' is not a directory")
        root = await git.toplevel(path)
        if root is not None:
            return cls(Path(root), repository=True)
        return cls(await asyncio.to_thread(path.resolve), repository=False)

    @classmethod
    async def at(cls, path: Path) -> LocalDirectory:
        """The directory itself, also where it is only a part of a repository."""
        found = await cls.find(path)
        root = await asyncio.to_thread(path.resolve)
        # What Git ignores as a whole has no files for it: an installed package in a checkout, for example.
        return cls(root, repository=found.repository and not await git.is_ignored(root))

    async def remotes(self) -> list[str]:
        """The addresses of the repository's remotes."""
        return await git.remotes(self.root) if self.repository else []

    async def resolve(self) -> str:
        """The revision of what is saved now."""
        committed = await self._committed()
        if committed is not None:
            return committed.revision
        names = await self._names()
        return await self._revision(await asyncio.to_thread(self._contents.digest, names))

    async def fetch(self, into: Path) -> Fetched:
        """Copy the files; the revision is that of the copy, whatever is saved meanwhile."""
        before = await self._committed()
        names = await self._names()
        await asyncio.to_thread(_copy, self.root, into, names)
        if before is not None and before == await self._committed():
            return Fetched(revision=before.revision, summary=f"commit '{before.subject[:50]}'")
        digest = await asyncio.to_thread(Contents(into).digest, names)
        return Fetched(revision=await self._revision(digest), summary=f"the files in '{self.root.name}'")

    async def _committed(self) -> git.Head | None:
        """The commit that all files are in; None when there is none."""
        if not self.repository or not await git.is_clean(self.root):
            return None
        return await git.head(self.root)

    async def _revision(self, digest: str) -> str:
        if not self.repository:
            return f"local@sha256:{digest}"
        return f"{(await git.head(self.root)).revision}-{digest[:DIGITS]}"

    async def _names(self) -> list[str]:
        names = await git.files(self.root) if self.repository else await asyncio.to_thread(_walk, self.root)
        if len(names) > _MOST:
            raise SourceError(f"'{self.root}' holds more than {_MOST} files", reason="Failed")
        return names


class Contents:
    """Digests over the files of a directory; a file that has not changed since the last time is not read again."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._seen: dict[str, _Seen] = {}

    def digest(self, names: list[str]) -> str:
        """A digest over names, contents, and which files are programs. Blocks."""
        total = hashlib.sha256()
        seen: dict[str, _Seen] = {}
        for name, status in _regular(self._root, names):
            identity = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
            known = self._seen.get(name)
            content = known[1] if known is not None and known[0] == identity else _content(self._root / name)
            seen[name] = (identity, content)
            program = b"x" if status.st_mode & 0o111 else b"-"
            total.update(os.fsencode(name) + b"\0" + program + content)
        self._seen = seen
        return total.hexdigest()


def _regular(root: Path, names: list[str]) -> Iterator[tuple[str, os.stat_result]]:
    """The regular files among the names; a file that is gone since was there a moment ago."""
    for name in names:
        try:
            status = (root / name).lstat()
        except OSError:
            continue
        if stat.S_ISREG(status.st_mode):
            yield name, status


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").digest()
    except OSError:
        return b""


def _copy(root: Path, into: Path, names: list[str]) -> None:
    for name, status in _regular(root, names):
        target = into / name
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            with (root / name).open("rb") as source, target.open("xb") as copy:
                while part := source.read(_CHUNK):
                    copy.write(part)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise SourceError(f"cannot copy '{name}': {error.strerror}", reason="Failed") from error
        if status.st_mode & 0o111:
            target.chmod(0o700)


def _walk(root: Path) -> list[str]:
    found: list[str] = []
    for directory, names, files in os.walk(root):
        names[:] = [name for name in names if name != ".git"]
        base = Path(directory).relative_to(root)
        found.extend(str(base / name) for name in files)
        if len(found) > _MOST:
            break
    return sorted(found)
