"""Revisions of artifacts, old and new spelling."""

from __future__ import annotations

import re

_HASHES = {40: "sha1", 64: "sha256"}
_HEX = re.compile(r"[0-9a-f]+")


def modern(revision: str) -> str:
    """The revision as it is written today: `main/<hash>` is `main@sha1:<hash>`, `HEAD/<hash>` is `sha1:<hash>`."""
    if ":" in revision:
        return revision
    name, _, digits = revision.rpartition("/")
    algorithm = _HASHES.get(len(digits)) if _HEX.fullmatch(digits) else None
    if algorithm is None:
        return revision
    return f"{algorithm}:{digits}" if name in {"", "HEAD"} else f"{name}@{algorithm}:{digits}"


def same(first: str, second: str) -> bool:
    """Whether two revisions are the same, however they are written."""
    return modern(first) == modern(second)
