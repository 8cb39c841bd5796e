"""Ranges of versions.

A range is alternatives (`||`) of bounds that must all hold (comma or space). The grammar and every oddity of it are
those of the Go library that Flux and Helm use, because a range that picks another version there would deploy another
version here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import re2

from penstock.errors import PenstockError
from penstock.semver.version import InvalidVersion, Version, prerelease_order

if TYPE_CHECKING:
    from collections.abc import Callable

LONGEST = 512
"""Characters of a range; more is refused unread."""
MOST_ALTERNATIVES = 32

_IDENTIFIERS = r"[0-9A-Za-z\-]+(?:\.[0-9A-Za-z\-]+)*"
_SEGMENT = r"[0-9|xX*]+"
_OPERATOR = r"=||!=|>|<|>=|=>|<=|=<|~|~>|\^"
_VERSION = rf"v?{_SEGMENT}(?:\.{_SEGMENT})?(?:\.{_SEGMENT})?(?:-{_IDENTIFIERS})?(?:\+{_IDENTIFIERS})?"
_GROUPED = rf"v?({_SEGMENT})(?:\.({_SEGMENT}))?(?:\.({_SEGMENT}))?(-{_IDENTIFIERS})?(?:\+{_IDENTIFIERS})?"

# RE2, not Python's own: a range comes from a tenant, and runs of spaces would cost cubic time.
_BOUND = re2.compile(rf"^\s*({_OPERATOR})\s*({_GROUPED})\s*$")
_BOUNDS = re2.compile(rf"(?:{_OPERATOR})\s*(?:{_VERSION})")
_ALTERNATIVE = re2.compile(
    rf"^(?:\s*(?:{_OPERATOR})\s*(?:{_VERSION})\s*)(?:(?:\s+|,\s*)(?:{_OPERATOR})\s*(?:{_VERSION})\s*)*$"
)
_HYPHEN = re2.compile(rf"\s*({_VERSION})\s+-\s+({_VERSION})\s*")
_ANY = frozenset("xX*")


class InvalidConstraint(PenstockError):
    """A text is not a range of versions."""


@dataclass(frozen=True, slots=True)
class Constraint:
    """A range of versions."""

    alternatives: tuple[tuple[Bound, ...], ...]
    text: str

    @classmethod
    def parse(cls, text: str) -> Constraint:
        """The range in a text; an empty one is refused."""
        if len(text.encode()) > LONGEST:
            raise InvalidConstraint(f"constraint string is too long (max {LONGEST} bytes)")
        alternatives = _without_hyphens(text).split("||")
        if len(alternatives) > MOST_ALTERNATIVES:
            raise InvalidConstraint(f"too many constraint groups (max {MOST_ALTERNATIVES})")
        return cls(tuple(map(_bounds, alternatives)), text)

    def allows(self, version: Version, *, prereleases: bool = False) -> bool:
        """True when the version lies in the range.

        A prerelease lies in it only when the alternative itself names one (`>=1.0.0-0`), or when `prereleases` is set.
        """
        return any(_holds(bounds, version, prereleases=prereleases) for bounds in self.alternatives)


@dataclass(frozen=True, slots=True)
class Bound:
    """One comparison; which of the version's parts were left open decides what it means."""

    operator: str
    version: Version
    open_minor: bool = False
    open_patch: bool = False
    is_open: bool = False
    """Something was left open: the minor, the patch, or (with neither of these set) everything."""


def _bounds(alternative: str) -> tuple[Bound, ...]:
    if not _ALTERNATIVE.match(alternative):
        raise InvalidConstraint(f'improper constraint: "{alternative}"')
    return tuple(map(_bound, _BOUNDS.findall(alternative)))


def _bound(text: str) -> Bound:
    found = _BOUND.match(text)
    if not found:
        raise InvalidConstraint(f'improper constraint: "{text}"')
    operator, whole, major, minor, patch, prerelease = found.groups()
    try:
        if major in _ANY:
            return Bound(operator, Version.parse(f"0.0.0{prerelease or ''}"), is_open=True)
        if minor is None or minor in _ANY:
            return Bound(operator, Version.parse(f"{major}.0.0{prerelease or ''}"), is_open=True, open_minor=True)
        if patch is None or patch in _ANY:
            version = Version.parse(f"{major}.{minor}.0{prerelease or ''}")
            return Bound(operator, version, is_open=True, open_patch=True)
        return Bound(operator, Version.parse(whole))
    except InvalidVersion as error:
        raise InvalidConstraint(f'improper constraint: "{text.strip()}"') from error


def _without_hyphens(text: str) -> str:
    """`1.2 - 1.4` written with comparisons."""
    rewritten = text
    for found in _HYPHEN.finditer(text):
        rewritten = rewritten.replace(str(found[0]), f">= {found[1]}, <= {found[2]} ", 1)
    return rewritten


def _holds(bounds: tuple[Bound, ...], version: Version, *, prereleases: bool) -> bool:
    if version.prerelease and not prereleases and not any(bound.version.prerelease for bound in bounds):
        return False
    return all(_CHECKS[bound.operator](version, bound) for bound in bounds)


def _is_equal(version: Version, bound: Bound) -> bool:
    return _is_near(version, bound) if bound.is_open else version.precedence == bound.version.precedence


def _is_other(version: Version, bound: Bound) -> bool:
    limit = bound.version
    if not bound.is_open:
        return version.precedence != limit.precedence
    if version.major != limit.major:
        return True
    if bound.open_minor:
        return False
    if version.minor != limit.minor:
        return True
    if bound.open_patch:
        return prerelease_order(version.prerelease) != prerelease_order(limit.prerelease)
    return version.precedence != limit.precedence


def _is_newer(version: Version, bound: Bound) -> bool:
    """`>11` means 12 and up, `>11.1` means 11.2 and up."""
    limit = bound.version
    if not bound.is_open or version.major != limit.major:
        return version.precedence > limit.precedence if not bound.is_open else version.major > limit.major
    if bound.open_minor:
        return False
    if bound.open_patch:
        return version.minor > limit.minor
    return version.precedence > limit.precedence


def _is_older(version: Version, bound: Bound) -> bool:
    return version.precedence < bound.version.precedence


def _is_not_older(version: Version, bound: Bound) -> bool:
    return version.precedence >= bound.version.precedence


def _is_not_newer(version: Version, bound: Bound) -> bool:
    """`<=11` holds for all of 11, `<=11.1` for all of 11.1."""
    limit = bound.version
    if not bound.is_open:
        return version.precedence <= limit.precedence
    if version.major != limit.major:
        return version.major < limit.major
    return bound.open_minor or version.minor <= limit.minor


def _is_near(version: Version, bound: Bound) -> bool:
    """`~1.2.3`: from there on, patches only. `~0.0.0`, and so `*`, is everything."""
    limit = bound.version
    if version.precedence < limit.precedence:
        return False
    if (limit.major, limit.minor, limit.patch) == (0, 0, 0) and not bound.open_minor and not bound.open_patch:
        return True
    return version.major == limit.major and (bound.open_minor or version.minor == limit.minor)


def _is_compatible(version: Version, bound: Bound) -> bool:
    """`^1.2.3`: from there on, while the leftmost number that is not 0 stays."""
    limit = bound.version
    if version.precedence < limit.precedence or version.major != limit.major:
        return False
    if limit.major > 0 or bound.open_minor:
        return True
    if version.minor != limit.minor:
        return False
    return limit.minor > 0 or bound.open_patch or version.patch == limit.patch


_CHECKS: dict[str, Callable[[Version, Bound], bool]] = {
    "": _is_equal,
    "=": _is_equal,
    "!=": _is_other,
    ">": _is_newer,
    "<": _is_older,
    ">=": _is_not_older,
    "=>": _is_not_older,
    "<=": _is_not_newer,
    "=<": _is_not_newer,
    "~": _is_near,
    "~>": _is_near,
    "^": _is_compatible,
}
