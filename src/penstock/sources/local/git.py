"""What Git knows about a directory that somebody works in. Only reads; Git's own files stay as they are."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from penstock.sources.remote import SourceError

if TYPE_CHECKING:
    from pathlib import Path

PATIENCE = 30.0
"""Seconds for one question."""
REASON = "GitOperationFailed"
_SCP = re.compile(r"(?:[^@/]+@)?(?P<host>[^:/]+):(?P<path>(?!//).+)")
_ALGORITHMS = {40: "sha1", 64: "sha256"}


@dataclass(frozen=True, slots=True)
class Head:
    """What is checked out."""

    branch: str
    """Empty when no branch is."""
    commit: str
    """Empty before the first commit."""
    subject: str

    @property
    def revision(self) -> str:
        if not self.commit:
            return f"{self.branch or 'HEAD'}@sha1:{'0' * 40}"
        named = f"{_ALGORITHMS.get(len(self.commit), 'sha1')}:{self.commit}"
        return f"{self.branch}@{named}" if self.branch else named


async def toplevel(directory: Path) -> str | None:
    """The root of the repository that the directory lies in; None when it lies in none, or there is no Git."""
    if await asyncio.to_thread(shutil.which, "git") is None:
        return None
    code, out, _ = await _git(directory, "rev-parse", "--show-toplevel")
    return os.fsdecode(out.removesuffix(b"\n")) if code == 0 else None


async def head(root: Path) -> Head:
    """Branch and commit that are checked out."""
    _, branch, _ = await _git(root, "symbolic-ref", "--quiet", "--short", "HEAD")
    code, commit, _ = await _git(root, "log", "-1", "--no-show-signature", "--format=%H%n%s")
    lines = commit.decode(errors="replace").split("\n") if code == 0 else ["", ""]
    return Head(branch.decode(errors="replace").strip(), lines[0], lines[1])


async def is_clean(root: Path) -> bool:
    """Whether everything in the directory that Git does not ignore is committed."""
    options = ("--porcelain", "-z", "--untracked-files=normal", "--ignore-submodules=none")
    return not await _asked(root, "status", *options, "--", ".")


async def is_ignored(directory: Path) -> bool:
    """Whether Git ignores the whole directory."""
    code, _, _ = await _git(directory, "check-ignore", "--quiet", ".")
    return code == 0


async def files(root: Path) -> list[str]:
    """The files that belong to the work: tracked ones, and new ones that are not ignored."""
    listed = await _asked(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate")
    return sorted(os.fsdecode(name) for name in listed.split(b"\0") if name)


async def remotes(root: Path) -> list[str]:
    """The addresses of the repository's remotes."""
    code, out, _ = await _git(root, "config", "--get-regexp", r"^remote\..*\.url$")
    return [line.partition(" ")[2] for line in out.decode(errors="replace").splitlines()] if code == 0 else []


def same_place(first: str, second: str) -> bool:
    """Whether two addresses mean the same repository, whatever the protocol, the user and the ending `.git`."""
    return _place(first) == _place(second) != ("", "")


def _place(address: str) -> tuple[str, str]:
    if "://" in address:
        parts = urlsplit(address)
        host, path = parts.hostname or "", parts.path
    elif found := _SCP.fullmatch(address):
        host, path = found["host"], found["path"]
    else:
        return "", ""
    return host.lower(), path.strip("/").removesuffix(".git")


async def _asked(root: Path, *arguments: str) -> bytes:
    code, out, error = await _git(root, *arguments)
    if code != 0:
        told = error.decode(errors="replace").strip().splitlines() or [f"exit code {code}"]
        raise SourceError(f"git {arguments[0]} failed in '{root}': {told[-1]}", reason=REASON)
    return out


async def _git(directory: Path, *arguments: str) -> tuple[int, bytes, bytes]:
    # Without optional locks Git does not write its index while it looks: we would see that as a change.
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    process = await asyncio.create_subprocess_exec(
        *("git", "-c", "core.fsmonitor=false", "-c", "core.quotepath=off", *arguments),
        cwd=directory,
        env=environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(PATIENCE):
            out, error = await process.communicate()
    except TimeoutError:
        raise SourceError(f"git {arguments[0]} does not end in '{directory}'", reason=REASON) from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode or 0, out, error
