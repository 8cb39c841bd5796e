"""Shell patterns as linear regular expressions: `*` and `?` match any character, `/` included."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import re2

_LARGEST = 8 << 20  # bytes of memory for one compiled pattern


@lru_cache(64)
def compiled(glob: str, *, shortest: bool) -> Any | None:
    """Matches a prefix of at least one character, the shortest or longest that fits; None for a malformed pattern."""
    pattern = _translated(glob, "*?" if shortest else "*")
    if pattern is None:
        return None
    options = re2.Options()
    options.dot_nl = True
    options.max_mem = _LARGEST
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error:
        return None


def cut(text: str, glob: str, *, shortest: bool) -> str:
    """The text without the prefix that the pattern matches; a pattern that matches nothing cuts nothing."""
    stars = glob.strip("*") == "" and glob != ""
    if stars:
        return text[1:] if shortest else ""
    pattern = compiled(glob, shortest=shortest)
    match = pattern.match(text) if pattern is not None else None
    return text if match is None else text[match.end() :]


def _translated(glob: str, star: str) -> str | None:
    parts: list[str] = []
    at = 0
    while at < len(glob):
        char = glob[at]
        at += 1
        if char == "*":
            if not parts or parts[-1] != f".{star}":
                parts.append(f".{star}")
        elif char == "?":
            parts.append(".")
        elif char == "[":
            characters, at = _class(glob, at)
            if characters is None:
                return None
            parts.append(characters)
        else:
            if char == "\\":
                if at == len(glob):
                    return None
                char, at = glob[at], at + 1
            parts.append(re2.escape(char))
    return "".join(parts)


def _class(glob: str, at: int) -> tuple[str | None, int]:
    """A character class as a regular expression, and where it ends; None when it is malformed."""
    negated = glob[at : at + 1] == "^"
    at += negated
    ranges: list[str] = []
    while not ranges or glob[at : at + 1] != "]":
        low, at = _character(glob, at)
        high: str | None = low
        if glob[at : at + 1] == "-":
            high, at = _character(glob, at + 1)
        if low is None or high is None or at >= len(glob):
            return None, at
        # A range from z to a matches nothing; it is kept as one that no text can match.
        ranges.append(f"\\x{{{ord(low):x}}}-\\x{{{ord(high):x}}}" if low <= high else "")
    body = "".join(ranges)
    if not body:
        return ("." if negated else "[^\\x{0}-\\x{10FFFF}]"), at + 1
    return f"[{'^' if negated else ''}{body}]", at + 1


def _character(glob: str, at: int) -> tuple[str | None, int]:
    char = glob[at : at + 1]
    if not char or char in "-]":
        return None, at
    if char == "\\":
        at += 1
        char = glob[at : at + 1]
    return char or None, at + 1
