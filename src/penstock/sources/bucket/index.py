"""What a bucket holds, as a value: keys, and the etags that the revision is made of."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def revision(etags: Mapping[str, str]) -> str:
    """The digest of all keys and etags, whatever order they were listed in."""
    hasher = hashlib.sha256()
    for key in sorted(etags, key=str.encode):  # by bytes, as Go sorts
        hasher.update(f"{key} {etags[key]}\n".encode())
    return f"sha256:{hasher.hexdigest()}"


def location(key: str) -> str:
    """Where an object lies below a directory, whatever its key says: a `..` ends at the root, as in a jail."""
    parts: list[str] = []
    for part in key.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)
