"""Which values of a file are encrypted: by the names on their path, or by the comments above them."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import re2

from penstock.sops.errors import LoadError

if TYPE_CHECKING:
    from collections.abc import Sequence

DEFAULT_SUFFIX = "_unencrypted"


@dataclass(frozen=True, slots=True)
class Rules:
    """At most one of the six is set; with none, names that end in `_unencrypted` stay readable."""

    unencrypted_suffix: str = ""
    encrypted_suffix: str = ""
    unencrypted_regex: str = ""
    encrypted_regex: str = ""
    unencrypted_comment_regex: str = ""
    encrypted_comment_regex: str = ""

    def __post_init__(self) -> None:
        given = [name for name in self.__slots__ if getattr(self, name)]
        if len(given) > 1:
            raise LoadError(f"{' and '.join(given)} cannot be used in the same file; keep one of them")

    @property
    def by_comment(self) -> bool:
        """True when comments decide, and not names."""
        return bool(self.encrypted_comment_regex or self.unencrypted_comment_regex)

    def or_default(self) -> Rules:
        """These rules, or the suffix that SOPS takes when a file names none."""
        return self if any(getattr(self, name) for name in self.__slots__) else Rules(unencrypted_suffix=DEFAULT_SUFFIX)

    def encrypts(self, path: Sequence[str]) -> bool:
        """True when the names on a value's path, outermost first, ask for encryption."""
        if self.unencrypted_suffix:
            return not any(name.endswith(self.unencrypted_suffix) for name in path)
        if self.encrypted_suffix:
            return any(name.endswith(self.encrypted_suffix) for name in path)
        if self.unencrypted_regex:
            return not _any(self.unencrypted_regex, path)
        if self.encrypted_regex:
            return _any(self.encrypted_regex, path)
        return True

    def encrypts_below(self, comments: Sequence[Sequence[str]], *, is_comment: bool) -> bool:
        """True when the comments above a value ask for encryption, outermost container first.

        A comment that asks for encryption stays readable itself; it must be found again when the file is decrypted.
        """
        if self.unencrypted_comment_regex:
            return not any(_any(self.unencrypted_comment_regex, group) for group in comments)
        *outer, last = comments
        above = last[:-1] if is_comment else last
        return any(_any(self.encrypted_comment_regex, group) for group in (*outer, above))

    def hides(self, ciphertext: str) -> bool:
        """True when an encrypted comment would itself be taken for a request to leave values readable."""
        return bool(self.unencrypted_comment_regex) and _any(self.unencrypted_comment_regex, (ciphertext,))


def compiled(pattern: str) -> Any:
    """A pattern of the user in Go's syntax; it runs in linear time."""
    return _compiled(pattern)


@functools.lru_cache(maxsize=256)
def _compiled(pattern: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        raise LoadError(f"{pattern!r} is not a regular expression") from error


def _any(pattern: str, texts: Sequence[str]) -> bool:
    found = _compiled(pattern).search
    return any(found(text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")) for text in texts)
