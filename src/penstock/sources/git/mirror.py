"""What was fetched before: a bare, shallow repository a place and login, from which only what is new has to be fetched.

Mirrors are a cache. They can be deleted at any time, they are bounded in size and age, and one that was left behind by
a killed process heals: whoever locks it first sweeps away what the dead one left.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import json
import os
import shutil
import time
import uuid
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from typing import IO, TYPE_CHECKING
from weakref import WeakValueDictionary

from penstock.sources.git.memory import in_memory
from penstock.sources.git.program import ProgramFailed, Setting

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from penstock.sources.git.listing import Place
    from penstock.sources.git.program import Job, Program

_REFS = "refs/penstock/"
_MOST_PACKS = 20
_UNUSED_SECONDS = 7 * 24 * 3600.0


@dataclass(frozen=True, slots=True)
class Limits:
    """How large the cache gets, in bytes."""

    mirror: int = 1 << 30
    total: int = 8 << 30


class Mirror:
    """One bare repository, ours alone while it is open."""

    def __init__(self, program: Program, path: Path, held: IO[bytes] | None) -> None:
        """`held` is the open lock file; programs inherit it, so that one that outlives us still keeps others out."""
        self._program = program
        self.path = path
        self._inherited = () if held is None else (held.fileno(),)

    @property
    def setting(self) -> Setting:
        """How to read it: without a way to any other machine."""
        return Setting(repository=self.path, descriptors=self._inherited)

    async def fetch(self, calling: Setting, url: str, wanted: str) -> None:
        """Bring a ref or a commit, without its history."""
        await self._fetch(calling, url, f"+{wanted}:{slot(wanted)}", "--depth=1")

    async def fetch_history(self, calling: Setting, url: str, branches: str) -> None:
        """Bring branches (a name or `*`) with all their history: for servers that give no commit by its hash."""
        is_shallow = await asyncio.to_thread((self.path / "shallow").exists)
        refspec = f"+refs/heads/{branches}:{_REFS}heads/{branches}"
        await self._fetch(calling, url, refspec, *(["--unshallow"] if is_shallow else []))

    async def _fetch(self, calling: Setting, url: str, refspec: str, *options: str) -> None:
        command = ["fetch", "--quiet", "--no-tags", "--no-auto-gc", "--no-write-fetch-head", "--force", *options]
        descriptors = (*calling.descriptors, *self._inherited)
        setting = replace(calling, repository=self.path, descriptors=descriptors)
        await self._program.output([*command, "--", url, refspec], setting)

    async def value(self, wanted: str) -> str:
        """The object that was fetched for a ref or commit; empty when none was."""
        return await asyncio.to_thread(_content, self.path / slot(wanted))

    async def keep(self, commit: str) -> None:
        """Hold on to a commit that came along with a branch."""
        await self._program.output(["update-ref", "--", slot(commit), commit], self.setting)

    async def read(self, name: str) -> tuple[str, bytes]:
        """The type and content of an object; ProgramFailed when it is not there."""
        return await self._program.do(_read, self.setting, name)


class Mirrors:
    """All mirrors, in one folder."""

    def __init__(self, program: Program, folder: Path, limits: Limits | None = None) -> None:
        self._program, self._folder, self._limits = program, folder, limits or Limits()
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def open(self, place: Place, *, sha256: bool) -> AsyncGenerator[Mirror]:
        """The mirror of a place, or a fresh one for this once when another process is at work in it."""
        name = hashlib.sha256(json.dumps([*place.key, sha256]).encode()).hexdigest()[:40]
        lock = self._locks.setdefault(name, asyncio.Lock())
        async with lock:
            held = await asyncio.to_thread(self._lock, name)
            path = self._folder / (name if held else f"once-{uuid.uuid4().hex}")
            try:
                mirror = Mirror(self._program, path, held)
                await self._prepare(mirror, sha256=sha256)
                yield mirror
                await self._tend(mirror)
            finally:
                await asyncio.shield(asyncio.to_thread(self._leave, path, held))

    async def discard(self, mirror: Mirror) -> None:
        """Throw a damaged mirror away; the next use begins anew."""
        await asyncio.to_thread(shutil.rmtree, mirror.path, ignore_errors=True)

    async def sweep(self, *, now: float | None = None) -> None:
        """Remove mirrors that nobody used for a week, the oldest of too many bytes, and what killed processes left."""
        await asyncio.to_thread(self._sweep, time.time() if now is None else now)

    def _lock(self, name: str) -> IO[bytes] | None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = (self._folder / f"{name}.lock").open("ab")
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            handle.close()
            return None
        return handle

    async def _prepare(self, mirror: Mirror, *, sha256: bool) -> None:
        is_whole = await asyncio.to_thread(_healed, mirror.path)
        if is_whole:
            return
        await self.discard(mirror)
        form = "sha256" if sha256 else "sha1"
        command = ["init", "--quiet", "--bare", "--template=", f"--object-format={form}", "--", str(mirror.path)]
        await self._program.output(command, Setting())
        await asyncio.to_thread((mirror.path / "whole").touch)

    async def _tend(self, mirror: Mirror) -> None:
        """Keep it small: packs of old commits go, and a mirror that is too large begins anew."""
        packs, size = await asyncio.to_thread(_measure, mirror.path)
        if size > self._limits.mirror:
            await self.discard(mirror)
        elif packs > _MOST_PACKS:
            with suppress(ProgramFailed):
                await self._program.output(["repack", "-a", "-d", "-q"], mirror.setting)

    def _leave(self, path: Path, held: IO[bytes] | None) -> None:
        if held is None:
            shutil.rmtree(path, ignore_errors=True)
            return
        with suppress(OSError):
            os.utime(path)
        held.close()

    def _sweep(self, now: float) -> None:
        if not self._folder.is_dir():
            return
        found = sorted((path.stat().st_mtime, path) for path in self._folder.iterdir() if path.is_dir())
        total = sum(_measure(path)[1] for _, path in found)
        for used, path in found:
            if now - used < _UNUSED_SECONDS and total <= self._limits.total:
                break
            if (held := self._lock(path.name)) is None:
                continue
            total -= _measure(path)[1]
            shutil.rmtree(path, ignore_errors=True)
            (self._folder / f"{path.name}.lock").unlink(missing_ok=True)
            held.close()


def slot(wanted: str) -> str:
    """Our own ref for what was fetched, whatever it is called over there."""
    return _REFS + hashlib.sha256(wanted.encode("utf-8", "surrogateescape")).hexdigest()[:40]


def _content(path: Path) -> str:
    """What a ref holds: ours are files, since nobody packs them."""
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        return ""


def _read(job: Job, setting: Setting, name: str) -> tuple[str, bytes]:
    with in_memory(name.encode("ascii") + b"\n") as asked:
        os.lseek(asked, 0, os.SEEK_SET)
        printed = job.output(["cat-file", "--batch"], setting, stdin=asked)
    header, _, content = printed.partition(b"\n")
    words = header.decode("latin-1").split()
    if len(words) != 3:
        raise ProgramFailed(f"object {name} is missing")
    return words[1], content[: int(words[2])]


def _healed(path: Path) -> bool:
    """Remove what a killed process left; False when the repository was never finished."""
    if not (path / "whole").is_file():
        return False
    for leftover in (*path.glob("*.lock"), *path.glob("refs/**/*.lock"), *path.glob("objects/**/tmp_*")):
        leftover.unlink(missing_ok=True)
    return True


def _measure(path: Path) -> tuple[int, int]:
    """How many packs there are, and how many bytes in all."""
    sizes = [(file.suffix, file.stat().st_size) for file in path.glob("objects/pack/*")]
    return sum(suffix == ".pack" for suffix, _ in sizes), sum(size for _, size in sizes)
