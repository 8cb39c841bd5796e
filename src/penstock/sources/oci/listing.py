"""What a repository holds, for people: its tags by range and pattern, and the files of two trees compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import re2

from penstock.semver import Constraint, InvalidConstraint, InvalidVersion, Version
from penstock.sources.oci.reference import InvalidReference

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_SIGNATURES = (".att", ".sbom", ".sig")


def filtered(tags: Iterable[str], *, semver: str = "", regex: str = "") -> list[str]:
    """The tags, the last in the alphabet first, without those that cosign makes."""
    try:
        constraint = Constraint.parse(semver) if semver else None
        pattern = re2.compile(regex) if regex else None
    except InvalidConstraint as error:
        raise InvalidReference(f"semver '{semver}' parse error: {error}") from error
    except re2.error as error:
        raise InvalidReference(f"regex '{regex}' parse error: {error}") from error
    return sorted(
        (
            tag
            for tag in tags
            if not tag.endswith(_SIGNATURES)
            and (constraint is None or _allows(constraint, tag))
            and (pattern is None or pattern.search(tag))
        ),
        reverse=True,
    )


def differences(before: Path, after: Path) -> list[tuple[str, str]]:
    """Which files were created, changed or deleted, by name."""
    old, new = _files(before), _files(after)
    found: list[tuple[str, str]] = []
    for name in sorted(old.keys() | new.keys()):
        if name not in old:
            found.append(("created", name))
        elif name not in new:
            found.append(("deleted", name))
        elif old[name].read_bytes() != new[name].read_bytes():
            found.append(("changed", name))
    return found


def _files(folder: Path) -> dict[str, Path]:
    return {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}


def _allows(constraint: Constraint, tag: str) -> bool:
    try:
        return constraint.allows(Version.of_tag(tag))
    except InvalidVersion:
        return False
