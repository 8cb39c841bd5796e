"""One version and its place in the order."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from penstock.errors import PenstockError

LONGEST = 256
"""Characters of a version; more is refused unread."""
_LARGEST = 2**64 - 1

_IDENTIFIERS = r"[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*"
_VERSION = re.compile(
    rf"v?([0-9]+)(?:\.([0-9]+))?(?:\.([0-9]+))?(?:-({_IDENTIFIERS}))?(?:\+({_IDENTIFIERS}))?", re.ASCII
)

Part = tuple[int, int, str]
Precedence = tuple[int, int, int, int, tuple[Part, ...]]


class InvalidVersion(PenstockError):
    """A text is not a version."""


@dataclass(frozen=True)
class Version:
    """A version; the text it came from is kept, because a tag is asked for by its own name.

    Two versions that differ in build metadata alone have the same precedence and still are not equal.
    """

    major: int
    minor: int
    patch: int
    prerelease: str = ""
    metadata: str = ""
    original: str = ""

    @classmethod
    def parse(cls, text: str) -> Version:
        """The version in a text, read generously: a leading `v` is fine, missing parts are 0."""
        found = _VERSION.fullmatch(text) if len(text) <= LONGEST else None
        if found is None:
            raise InvalidVersion(f"'{text[:LONGEST]}' is not a semantic version")
        major, minor, patch = (_number(part or "0", text) for part in found.group(1, 2, 3))
        prerelease, metadata = found[4] or "", found[5] or ""
        if any(_has_leading_zero(part) for part in prerelease.split(".")):
            raise InvalidVersion(f"'{text}' is not a semantic version: a number of the prerelease begins with 0")
        return cls(major, minor, patch, prerelease, metadata, text)

    @classmethod
    def strict(cls, text: str) -> Version:
        """The version in a text that follows the standard to the letter: three numbers, no `v`, no leading zeros."""
        numbers = re.split(r"[-+]", text, maxsplit=1)[0].split(".")
        if text.startswith("v") or len(numbers) != 3 or any(map(_has_leading_zero, numbers)):
            raise InvalidVersion(f"'{text[:LONGEST]}' is not a strict semantic version such as 1.2.3")
        return cls.parse(text)

    @classmethod
    def of_tag(cls, text: str) -> Version:
        """The version that a tag stands for: a strict one, or a strict one behind a `v`."""
        cls.strict(text.removeprefix("v"))
        return cls.parse(text)

    @cached_property
    def precedence(self) -> Precedence:
        """What decides which of two versions is newer: a release is newer than its prereleases, metadata is nothing."""
        released = 0 if self.prerelease else 1
        return self.major, self.minor, self.patch, released, prerelease_order(self.prerelease)

    def __str__(self) -> str:
        """The version in full, without the `v`."""
        prerelease = f"-{self.prerelease}" if self.prerelease else ""
        metadata = f"+{self.metadata}" if self.metadata else ""
        return f"{self.major}.{self.minor}.{self.patch}{prerelease}{metadata}"


def prerelease_order(prerelease: str) -> tuple[Part, ...]:
    """The parts of a prerelease as a value to sort by: numbers come before words, and fewer parts before more."""
    return tuple(map(_part, prerelease.split("."))) if prerelease else ()


def _part(text: str) -> Part:
    # A number that does not fit into 64 bits is a word to the library we follow.
    if text.isdigit() and (number := int(text)) <= _LARGEST:
        return 0, number, ""
    return 1, 0, text


def _number(digits: str, text: str) -> int:
    if (number := int(digits)) > _LARGEST:
        raise InvalidVersion(f"'{text}' is not a semantic version: {digits} is too large")
    return number


def _has_leading_zero(text: str) -> bool:
    return len(text) > 1 and text[0] == "0" and text.isdigit()
