"""Which files of a tree stay out of its artifact: `.sourceignore` files and `spec.ignore`, by Flux's rules.

They look like Git's and differ: the pattern that matches last wins whatever directory it speaks of, and a directory
that is ignored is still looked into, so that `!dir/keep.yaml` after `dir/` brings that file back.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from penstock.paths.errors import FileError
from penstock.paths.globs import compile_glob
from penstock.paths.packing import DEEPEST

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from penstock.paths.globs import Matches

IGNORE_FILE = ".sourceignore"

ALWAYS = ".git/\n.gitignore\n.gitmodules\n.gitattributes\n"
"""What never goes into an artifact, unless a later pattern takes it back."""

DEFAULT = (
    "*.jpg\n*.jpeg\n*.gif\n*.png\n*.wmv\n*.flv\n*.tar.gz\n*.zip\n"
    ".github/\n.circleci/\n.travis.yml\n.gitlab-ci.yml\nappveyor.yml\n.drone.yml\ncloudbuild.yaml\n"
    "codeship-services.yml\ncodeship-steps.yml\n"
    "**/.goreleaser.yml\n**/.sops.yaml\n**/.flux.yaml\n"
)
"""What is left out besides, as long as nobody gives a pattern of their own."""

LARGEST_FILE = 1 << 20
"""Bytes of one ignore file."""
MOST_PATTERNS = 5_000
"""Patterns of one tree: each file is held against them, so a hostile million would cost hours."""
_LONGEST_LINE = 64 * 1024  # Go's scanner ends there, and what comes after is not read


class IgnoreError(FileError):
    """The ignore rules of a tree cannot be read."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """One line of an ignore file."""

    parts: tuple[str, ...]
    domain: tuple[str, ...] = ()
    """The directory in which the line was found; it acts there and below only."""
    includes: bool = False
    """It began with `!`: what it matches is taken back in."""
    directories: bool = False
    """It ended in `/`: a file is matched by a directory above it only."""

    @property
    def anchored(self) -> bool:
        """It has a separator inside: it is held against the path from the domain on, not against single names."""
        return len(self.parts) > 1


def parse(text: str, domain: Sequence[str] = ()) -> list[Pattern]:
    """The patterns of an ignore file; comments begin in the first column."""
    patterns: list[Pattern] = []
    for raw in text.split("\n"):
        if len(raw) > _LONGEST_LINE:
            break
        line = raw.removesuffix("\r")
        if line.strip() and not line.startswith("#"):
            patterns.append(_pattern(line, tuple(domain)))
    return patterns


def _pattern(line: str, domain: tuple[str, ...]) -> Pattern:
    includes = line.startswith("!")
    line = line[includes:]
    if not line.endswith("\\ "):
        line = line.rstrip(" ")
    directories = line.endswith("/")
    line = line[: len(line) - directories]
    return Pattern(tuple(line.split("/")), domain, includes, directories)


def load(tree: Path) -> list[Pattern]:
    """The patterns of all ignore files of a tree, those of a directory before those below it. Blocks.

    Links are not followed.
    """
    patterns: list[Pattern] = []
    waiting: list[tuple[str, ...]] = [()]
    while waiting:  # no recursion: a hostile tree may be thousands of directories deep
        domain = waiting.pop()
        directory = str(tree.joinpath(*domain))
        with os.scandir(directory) as found:
            kinds = {entry.name: entry.is_dir(follow_symlinks=False) for entry in found}
        if kinds.get(IGNORE_FILE) is False:
            patterns += parse(_read(directory, "/".join((*domain, IGNORE_FILE))), domain)
        if len(patterns) > MOST_PATTERNS:
            raise IgnoreError(f"the ignore files hold more than {MOST_PATTERNS} patterns; write fewer and wider ones")
        below = sorted((name for name, is_directory in kinds.items() if is_directory and name != ".git"), reverse=True)
        if len(domain) <= DEEPEST:  # what lies deeper cannot be packed anyway
            waiting += [(*domain, name) for name in below]
    return patterns


def _read(directory: str, shown: str) -> str:
    try:
        handle = os.open(os.path.join(directory, IGNORE_FILE), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)  # noqa: PTH118
    except OSError as error:
        raise IgnoreError(f"cannot read '{shown}': {error.strerror}") from error
    with os.fdopen(handle, "rb") as file:
        content = file.read(LARGEST_FILE + 1)
    if len(content) > LARGEST_FILE:
        raise IgnoreError(f"'{shown}' is larger than {LARGEST_FILE} bytes")
    return os.fsdecode(content)


def rules_of(tree: Path, ignore: str = "") -> IgnoreRules:
    """The rules for the files of a tree: its ignore files, then `ignore`, which therefore wins.

    A single pattern of either takes the place of all defaults; what is always left out stays below it.
    """
    return with_defaults([*load(tree), *parse(ignore)])


def with_defaults(patterns: Sequence[Pattern]) -> IgnoreRules:
    """The rules where the given patterns, if there are any, take the place of the defaults."""
    return IgnoreRules([*parse(ALWAYS), *(patterns or parse(DEFAULT))])


class IgnoreRules:
    """A list of patterns, ready to be asked about many paths."""

    def __init__(self, patterns: Iterable[Pattern]) -> None:
        self._patterns = tuple(patterns)
        if len(self._patterns) > MOST_PATTERNS:
            raise IgnoreError(f"there are more than {MOST_PATTERNS} patterns; write fewer and wider ones")
        # Single names without a domain are by far the most common: one look-up a name answers for all of them.
        self._names: list[tuple[int, Matches]] = []
        self._others: list[tuple[int, Pattern, list[Matches]]] = []
        for index, pattern in enumerate(self._patterns):
            if _is_name(pattern):
                self._names.append((index, compile_glob(pattern.parts[-1])))
            else:
                self._others.insert(0, (index, pattern, [compile_glob(part) for part in pattern.parts]))
        self._directories = {index for index, pattern in enumerate(self._patterns) if pattern.directories}
        self._known: dict[str, tuple[int, ...]] = {}

    def excludes(self, path: str, *, directory: bool = False) -> bool:
        """Whether a path below the root of the tree is left out."""
        *parents, last = path.split("/")
        found = max(chain.from_iterable(map(self._named, parents)), default=-1)
        for index in self._named(last):
            if index > found and (directory or index not in self._directories):
                found = index
        parts = [*parents, last]
        for index, pattern, globs in self._others:
            if index < found:
                break
            if _matches(pattern, globs, parts, directory=directory):
                found = index
                break
        return found >= 0 and not self._patterns[found].includes

    def _named(self, name: str) -> tuple[int, ...]:
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = tuple(index for index, matches in self._names if matches(name))
        return known


def _is_name(pattern: Pattern) -> bool:
    """Whether the pattern speaks of a name in any directory; `**/name` says the same as `name`."""
    parts = pattern.parts[pattern.parts[0] == "**" and len(pattern.parts) == 2 :]
    return not pattern.domain and len(parts) == 1 and "**" not in parts[0] and parts[0] != ""


def _matches(pattern: Pattern, globs: list[Matches], parts: list[str], *, directory: bool) -> bool:
    depth = len(pattern.domain)
    if len(parts) <= depth or tuple(parts[:depth]) != pattern.domain:
        return False
    below = parts[depth:]
    used = _path_length(pattern.parts, globs, below) if pattern.anchored else _name_place(globs[0], below)
    if used == 0:
        return False
    return directory or not pattern.directories or used < len(below)


def _name_place(matches: Matches, parts: list[str]) -> int:
    return next((place for place, name in enumerate(parts, start=1) if matches(name)), 0)


def _path_length(wanted: tuple[str, ...], globs: list[Matches], parts: list[str]) -> int:
    """How many leading parts an anchored pattern takes; 0 when it does not match.

    `**` skips to the first name that fits what follows it, and that choice is not taken back, as with the peers.
    """
    at = 0
    skips = False
    for part, matches in _segments(wanted, globs):
        if part in {"", "**"}:
            skips = part == "**"
            continue
        if "**" in part:
            return 0
        if skips:
            at = next((place for place in range(at, len(parts)) if matches(parts[place])), len(parts))
        if at >= len(parts) or not matches(parts[at]):
            return 0
        at, skips = at + 1, False
    return at


def _segments(wanted: tuple[str, ...], globs: list[Matches]) -> Iterator[tuple[str, Matches]]:
    """The parts that are held against names; a `**` at the end has nothing to say any more."""
    last = len(wanted) - (wanted[-1] == "**")
    return zip(wanted[:last], globs[:last], strict=True)
