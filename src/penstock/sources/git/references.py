"""Which commit is meant, and how its revision is written."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.semver import Constraint, InvalidConstraint, InvalidVersion, Version
from penstock.sources.git.errors import GitFailed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.api.gitrepository import GitReference

HEADS, TAGS = "refs/heads/", "refs/tags/"
PEELED = "^{}"
_DEFAULT_BRANCH = "master"
_HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_FORBIDDEN = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|\.lock(?:/|$)|(?:^|/)\.|[./]$|^/|^-|^@$")


@dataclass(frozen=True, slots=True)
class Reference:
    """What `spec.ref` asks for; of several wishes the first of commit, name, tag, semver, branch counts."""

    branch: str = ""
    tag: str = ""
    semver: str = ""
    name: str = ""
    commit: str = ""

    @classmethod
    def of(cls, spec: GitReference | None) -> Reference:
        """The reference that a spec describes."""
        if spec is None:
            return cls(branch=_DEFAULT_BRANCH)
        wanted = cls(spec.branch, spec.tag, spec.semver, spec.name, spec.commit.lower())
        return cls(branch=_DEFAULT_BRANCH) if wanted == cls() else wanted

    @property
    def full_name(self) -> str:
        """The one ref that is followed, such as `refs/heads/main`; empty for a commit and for a range of versions."""
        if self.commit:
            return ""
        if self.name:
            return checked(self.name.removesuffix(PEELED), shown=self.name)
        if self.tag:
            return checked(TAGS + self.tag)
        return "" if self.semver else checked(HEADS + self.branch)

    @property
    def is_branch(self) -> bool:
        return not (self.commit or self.name or self.tag or self.semver)

    def revision(self, commit: str, *, tag: str = "") -> str:
        """How the status shows this commit; `tag` is what a range of versions led to."""
        digest = f"{'sha1' if len(commit) == 40 else 'sha256'}:{commit}"
        pointer = self._pointer(tag)
        return f"{pointer}@{digest}" if pointer else digest

    def _pointer(self, tag: str) -> str:
        if self.name:
            return self.name
        if self.commit:
            return self.branch
        return self.tag or tag or self.branch


def checked(name: str, *, shown: str = "") -> str:
    """The name of a ref, when it can be one: nothing that an option, a refspec or a pattern could be made of."""
    if name.startswith("/") or name.endswith("/"):
        raise GitFailed(f"ref {shown or name} is invalid; Git refs cannot begin or end with a slash '/'")
    if not name or _FORBIDDEN.search(name) or len(name) > 1024:
        raise GitFailed(f"'{shown or name}' is not a valid name of a Git reference")
    return name


def is_hash(text: str) -> bool:
    """True for the full hash of an object, in lower case."""
    return _HASH.fullmatch(text) is not None


def matching(tags: Iterable[str], semver: str) -> list[str]:
    """The tags of the highest version in a range: several only when they differ in build metadata alone."""
    try:
        constraint = Constraint.parse(semver)
    except InvalidConstraint as error:
        raise GitFailed(f"failed to checkout and determine revision: semver parse error: {error}") from error
    versions = [version for version in map(_version, tags) if version and constraint.allows(version)]
    if not versions:
        raise GitFailed(f"failed to checkout and determine revision: no match found for semver: {semver}")
    highest = max(version.precedence for version in versions)
    return sorted(version.original for version in versions if version.precedence == highest)


def _version(tag: str) -> Version | None:
    try:
        return Version.of_tag(tag)
    except InvalidVersion:
        return None
