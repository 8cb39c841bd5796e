"""Go's file patterns: `*`, `?`, `[a-z]`, `[^a-z]` and the backslash, for one name without separators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Matches = Callable[[str], bool]


class BadPattern(ValueError):
    """A pattern that Go does not take either; such a pattern matches nothing."""


@dataclass(frozen=True, slots=True)
class _Class:
    """One character out of ranges, or out of what is not in them."""

    ranges: tuple[tuple[str, str], ...]
    negated: bool

    def __contains__(self, character: str) -> bool:
        return any(low <= character <= high for low, high in self.ranges) != self.negated


class _Any:
    """One character, whichever."""

    def __contains__(self, character: str) -> bool:
        return True


_Token = str | _Class | _Any
_ANY = _Any()


def compile_glob(pattern: str) -> Matches:
    """A test for names. A malformed pattern matches nothing, as it does in Go."""
    try:
        pieces = _parse(pattern)
    except BadPattern:
        return lambda _: False
    plain = [_text(piece) for piece in pieces]
    match plain:
        case [str(whole)]:
            return lambda name: name == whole
        case ["", str(end)]:
            return lambda name: name.endswith(end)
        case [str(start), ""]:
            return lambda name: name.startswith(start)
        case _:
            shortest = sum(len(piece) for piece in pieces)
            return lambda name: len(name) >= shortest and _match(pieces, name)


def _text(piece: list[_Token]) -> str | None:
    """The piece as text, where it is nothing but that."""
    letters = [token for token in piece if isinstance(token, str)]
    return "".join(letters) if len(letters) == len(piece) else None


def _match(pieces: list[list[_Token]], name: str) -> bool:
    """Whether the pieces occur in this order, with anything between them.

    Each piece takes the first place where it fits: no choice is ever taken back, so the time is at most the product
    of the two lengths.
    """
    first, *middle = pieces
    if not _fits(first, name, 0):
        return False
    at = len(first)
    if not middle:
        return at == len(name)
    last = middle.pop()
    for piece in middle:
        while not _fits(piece, name, at):
            at += 1
            if at + len(piece) > len(name):
                return False
        at += len(piece)
    end = len(name) - len(last)
    return end >= at and _fits(last, name, end)


def _fits(piece: list[_Token], name: str, at: int) -> bool:
    if at + len(piece) > len(name):
        return False
    return all(name[at + index] in token for index, token in enumerate(piece))


def _parse(pattern: str) -> list[list[_Token]]:
    """What stands between the stars; a pattern without a star is one piece, runs of stars are one."""
    pieces: list[list[_Token]] = [[]]
    starred = False
    at = 0
    while at < len(pattern):
        character = pattern[at]
        if character == "*":
            if not starred:
                pieces.append([])
            starred = True
            at += 1
            continue
        starred = False
        token: _Token
        if character == "?":
            token, at = _ANY, at + 1
        elif character == "[":
            token, at = _class(pattern, at + 1)
        elif character == "\\":
            if at + 1 == len(pattern):
                raise BadPattern(pattern)
            token, at = pattern[at + 1], at + 2
        else:
            token, at = character, at + 1
        pieces[-1].append(token)
    return pieces


def _class(pattern: str, at: int) -> tuple[_Class, int]:
    negated = pattern.startswith("^", at)
    at += negated
    ranges: list[tuple[str, str]] = []
    while not ranges or not pattern.startswith("]", at):
        low, at = _member(pattern, at)
        high = low
        if pattern.startswith("-", at):
            high, at = _member(pattern, at + 1)
        ranges.append((low, high))
    return _Class(tuple(ranges), negated), at + 1


def _member(pattern: str, at: int) -> tuple[str, int]:
    """One end of a range; Go wants a bare `-` or `]` to be escaped."""
    if at >= len(pattern) or pattern[at] in "-]":
        raise BadPattern(pattern)
    at += pattern[at] == "\\"
    if at >= len(pattern):
        raise BadPattern(pattern)
    if at + 1 >= len(pattern):  # the class is never closed
        raise BadPattern(pattern)
    return pattern[at], at + 1
