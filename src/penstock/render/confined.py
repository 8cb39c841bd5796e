"""Paths that cannot leave a root: `..` stops there, and links are followed as if the root were `/`."""

from __future__ import annotations

import os
import stat
from pathlib import Path, PurePosixPath

from penstock.render.decryption import DecryptionFailed

_MOST_LINKS = 255


def relative(root: str, path: str) -> str:
    """A path without the root in front of it; what is not below the root is taken as relative to it."""
    clean_root, clean = os.path.normpath(f"/{root}"), os.path.normpath(f"/{path}")
    clean_root, clean = clean_root.replace("//", "/", 1), clean.replace("//", "/", 1)
    if clean == clean_root:
        return "."
    if clean_root != "/" and clean.startswith(f"{clean_root}/"):
        clean = clean[len(clean_root) :]
    return clean.lstrip("/") or "."


def confined(root: Path, path: str) -> Path:
    """The absolute path that a path means inside the root; it need not exist."""
    inside = relative(str(root), path) if path.startswith("/") else path
    waiting = list(reversed(PurePosixPath(inside).parts))
    done: list[str] = []
    links = 0
    while waiting:
        part = waiting.pop()
        if part in ("/", "."):
            continue
        if part == "..":
            done = done[:-1]
            continue
        target = _link(root.joinpath(*done, part))
        if target is None:
            done.append(part)
            continue
        links += 1
        if links > _MOST_LINKS:
            raise DecryptionFailed(f"{path}: too many symbolic links")
        if target.startswith("/"):
            done = []
        waiting.extend(reversed(PurePosixPath(target).parts))
    return root.joinpath(*done)


def read_regular(path: Path, *, name: str, limit: int) -> bytes:
    """The bytes of a regular file of bounded size; a link at its end is not followed."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        raise DecryptionFailed(f"lstat {name}: no such file or directory") from None
    except OSError:
        # A link, a socket, or a file that is not ours to read: all irregular.
        raise DecryptionFailed(f"{name}: cannot decrypt irregular file as it has file mode type bits set") from None
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise DecryptionFailed(f"{name}: cannot decrypt irregular file as it has file mode type bits set")
        size = status.st_size
        if size > limit:
            raise DecryptionFailed(f"{name}: cannot decrypt file with size ({size} bytes) exceeding limit ({limit})")
        with open(handle, "rb", closefd=False) as file:
            return file.read(limit + 1)
    finally:
        os.close(handle)


def _link(path: Path) -> str | None:
    try:
        return str(path.readlink())
    except OSError:
        return None
