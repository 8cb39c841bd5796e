"""What lies beside each artifact: which revision it is of, so that an older one is found again.

A record is a small hidden file. It is written after its artifact and goes with it; one that is missing or cannot be
read only means that nobody finds the artifact by its revision.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from penstock.api.meta import Artifact
from penstock.errors import PenstockError
from penstock.sources.store import files

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_SUFFIX = ".record"
_MOST_BYTES = 1 << 20
_DIGITS = re.compile(r"[0-9a-f]{7,}")


class RevisionMissing(PenstockError):
    """No artifact, or more than one, is of the wanted revision."""


def beside(file: Path) -> Path:
    """Where the record of an artifact lies."""
    return file.with_name(f".{file.name}{_SUFFIX}")


def write(file: Path, artifact: Artifact) -> None:
    """Note down what an artifact is."""
    with files.written(beside(file)) as out:
        out.write(msgspec.json.encode(artifact))


def read(directory: Path) -> list[Artifact]:
    """The artifacts of a directory that have a record, the newest first."""
    found: list[Artifact] = []
    for path in directory.glob(f".*{_SUFFIX}"):
        file = path.with_name(path.name.removeprefix(".").removesuffix(_SUFFIX))
        try:
            if not file.is_file() or path.stat().st_size > _MOST_BYTES:
                continue
            found.append(msgspec.json.decode(path.read_bytes(), type=Artifact))
        except (OSError, msgspec.DecodeError):
            continue
    return sorted(found, key=lambda one: one.last_update_time, reverse=True)


def matches(revision: str, wanted: str) -> bool:
    """Whether a revision is the wanted one: written the same, or with a hash that begins as the wanted one does.

    `main@sha1:1a2b3c4d`, `sha1:1a2b3c4d` and `1a2b3c4d` all mean the same commit, whatever branch led to it. Seven
    digits are the least; a name alone means nothing, since it moves.
    """
    if revision == wanted:
        return True
    digits = digits_of(wanted)
    return _DIGITS.fullmatch(digits) is not None and digits_of(revision).startswith(digits)


def digits_of(revision: str) -> str:
    """The hash in a revision."""
    return revision.rpartition(":")[2].lower()


def choose(artifacts: Iterable[Artifact], wanted: str) -> Artifact:
    """The one artifact of the wanted revision; RevisionMissing says which there are."""
    known = list(artifacts)
    exact = [one for one in known if one.revision == wanted]
    found = exact[:1] or [one for one in known if matches(one.revision, wanted)]
    if len(found) == 1:
        return found[0]
    if found:
        raise RevisionMissing(f"the revision '{wanted}' can be any of {_named(found)}; write more of its hash")
    there = f"there are {_named(known)}" if known else "there is none"
    raise RevisionMissing(f"the revision '{wanted}' is not in the artifact store; {there}")


def _named(artifacts: list[Artifact]) -> str:
    names = [one.revision for one in artifacts[:5]]
    return ", ".join(names) + (" and others" if len(artifacts) > 5 else "")
