"""From a place to a mirror that holds what is wanted, with as little transfer as the server allows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.sources.git import objects
from penstock.sources.git.calling import calling
from penstock.sources.git.errors import RemoteTrouble
from penstock.sources.git.program import ProgramFailed
from penstock.sources.git.words import trouble

if TYPE_CHECKING:
    from penstock.sources.git.listing import Place
    from penstock.sources.git.mirror import Mirror
    from penstock.sources.git.objects import Signed

_MOST_TAGS_OF_TAGS = 5


@dataclass(frozen=True, slots=True)
class Found:
    """A commit in a mirror, and the annotated tag that led to it."""

    commit: Signed
    tag: Signed | None
    time: int
    """When it was committed, in seconds since 1970."""


async def bring_ref(mirror: Mirror, place: Place, name: str, value: str) -> Found:
    """What a ref points to, fetched unless it is there; when it moved in between, the newer state."""
    if await mirror.value(name) != value:
        async with calling(place) as setting:
            try:
                await mirror.fetch(setting, place.address.url, name)
            except ProgramFailed as error:
                raise _cause(error) from None
    return await _peeled(mirror, await mirror.value(name))


async def bring_commit(mirror: Mirror, place: Place, commit: str, *, branch: str = "") -> Found:
    """A commit by its hash, without its history.

    A server of the old kind gives only tips; there the branch, or all branches, come with all their history.
    """
    if await mirror.value(commit) != commit:
        async with calling(place) as setting:
            try:
                await mirror.fetch(setting, place.address.url, commit)
            except ProgramFailed as error:
                if "unadvertised object" not in error.words:
                    raise _unknown(commit, error) from None
                try:
                    await mirror.fetch_history(setting, place.address.url, branch or "*")
                    await mirror.keep(commit)
                except ProgramFailed as second:
                    raise _unknown(commit, second) from None
    return await _peeled(mirror, commit)


def _unknown(commit: str, error: ProgramFailed) -> Exception:
    if any(words in error.words for words in ("not our ref", "nonexistent object", "couldn't find remote ref")):
        return RemoteTrouble(f"unable to resolve commit object for '{commit}': object not found")
    return _cause(error)


def _cause(error: ProgramFailed) -> Exception:
    """What the server did; the error itself when it may as well be the mirror that is damaged."""
    found = trouble(error.words)
    return found if found.is_known else error


async def _peeled(mirror: Mirror, name: str) -> Found:
    """The commit behind an object; a tag may point to a tag."""
    tag: Signed | None = None
    for _ in range(_MOST_TAGS_OF_TAGS):
        kind, raw = await mirror.read(name)
        if kind == "commit":
            return Found(objects.commit(name, raw), tag, objects.committed_at(raw))
        if kind != "tag":
            break
        tag = tag or objects.tag(name, raw)
        name = objects.target(raw)[0]
    raise RemoteTrouble(f"object {name} leads to no commit")
