"""A Git repository as a place to fetch from."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from penstock.sources.git import checkout, submodules
from penstock.sources.git.address import shown
from penstock.sources.git.credentials import Credentials
from penstock.sources.git.errors import EmptyRepository, GitFailed, InvalidAddress, RemoteTrouble
from penstock.sources.git.fetching import Found, bring_commit, bring_ref
from penstock.sources.git.listing import Place
from penstock.sources.git.program import ProgramFailed
from penstock.sources.git.references import TAGS, Reference, is_hash, matching
from penstock.sources.git.words import trouble
from penstock.sources.remote import Fetched

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from penstock.sources.git.address import Address
    from penstock.sources.git.client import Git
    from penstock.sources.git.mirror import Mirror
    from penstock.sources.git.pktline import Refs
    from penstock.sources.git.proxy import Proxy
    from penstock.sources.git.signatures import Verification
    from penstock.sources.git.tokens import Lender

_DOING = "failed to checkout and determine revision"


@dataclass(frozen=True, slots=True)
class _Choice:
    """What to fetch: one commit, or one ref, or several tags of which the newest counts."""

    place: Place
    commit: str = ""
    refs: tuple[tuple[str, str], ...] = ()
    """Names with the objects they point to."""

    @property
    def sha256(self) -> bool:
        return len(self.commit or self.refs[0][1]) == 64


@dataclass(frozen=True, slots=True)
class _Part:
    """A repository to write out: the one that was asked for, or a submodule of it."""

    place: Place
    commit: str
    path: str
    depth: int


@dataclass(frozen=True, slots=True)
class GitRemote:
    """One repository with one reference."""

    git: Git
    address: Address
    reference: Reference = field(default_factory=lambda: Reference(branch="master"))
    login: Credentials | Lender = field(default_factory=Credentials)
    proxy: Proxy | None = None
    verification: Verification | None = None
    directories: tuple[str, ...] = ()
    """Directories to take (`spec.sparseCheckout`); all when empty."""
    with_submodules: bool = False

    async def resolve(self) -> str | None:
        """The revision now; a commit needs no request, and two tags of equal version need a fetch to tell."""
        if self.reference.commit:
            return self.reference.revision(self._pinned())
        _, refs = await self._refs(await self._place(), doing="unable to list remote for")
        if name := self.reference.full_name:
            await self._check_presence(refs, name)
            return self.reference.revision(refs.commit(name))
        tags = _versions(refs, self.reference.semver)
        return None if len(tags) > 1 else self.reference.revision(refs.commit(TAGS + tags[0]), tag=tags[0])

    async def fetch(self, into: Path) -> Fetched:
        """Put the files of the commit into a directory, after its signature was checked."""
        choice = await self._chosen(await self._place())
        for again in (True, False):
            try:
                return await self._fetched(choice, into)
            except RemoteTrouble as error:
                raise self._told(error, doing="unable to clone") from None
            except ProgramFailed as error:
                # The mirror may have been damaged, and is gone now.
                if not again:
                    raise self._told(trouble(error.words), doing="unable to clone") from None
                await asyncio.to_thread(_emptied, into)
        raise AssertionError("unreachable")

    async def _fetched(self, choice: _Choice, into: Path) -> Fetched:
        async with self.git.mirrors.open(choice.place, sha256=choice.sha256) as mirror:
            try:
                found, tag = await self._brought(mirror, choice)
                verified = await self._verified(found, tag)
                part = _Part(choice.place, found.commit.hash, "", 0)
                waiting = await self._written(mirror, part, into, self._directories())
            except ProgramFailed:
                await self.git.mirrors.discard(mirror)
                raise
        await self._add_submodules(waiting, into)
        revision = self.reference.revision(found.commit.hash, tag=tag)
        return Fetched(revision, f"commit '{found.commit.subject}'", verified=verified)

    async def _chosen(self, place: Place) -> _Choice:
        if self.reference.commit:
            commit = self._pinned()
            try:
                moved, _ = await self.git.refs(place, ["HEAD"])
            except RemoteTrouble as error:
                raise self._told(error, doing="unable to clone") from None
            return _Choice(moved, commit=commit)
        moved, refs = await self._refs(place, doing="unable to clone")
        if name := self.reference.full_name:
            await self._check_presence(refs, name)
            return _Choice(moved, refs=((name, refs.objects[name]),))
        names = [TAGS + tag for tag in _versions(refs, self.reference.semver)]
        return _Choice(moved, refs=tuple((name, refs.objects[name]) for name in names))

    async def _brought(self, mirror: Mirror, choice: _Choice) -> tuple[Found, str]:
        """The commit, and the tag that led to it."""
        if choice.commit:
            found = await bring_commit(mirror, choice.place, choice.commit, branch=self.reference.branch)
            return found, ""
        candidates = [(await bring_ref(mirror, choice.place, name, value), name) for name, value in choice.refs]
        found, name = max(candidates, key=lambda pair: (pair[0].time, pair[1]))
        return found, name.removeprefix(TAGS) if name.startswith(TAGS) else ""

    async def _verified(self, found: Found, tag: str) -> str:
        if self.verification is None:
            return ""
        return await asyncio.to_thread(self.verification.check, found.commit, found.tag, tag_name=tag)

    async def _written(self, mirror: Mirror, part: _Part, into: Path, directories: Sequence[str]) -> list[_Part]:
        """Write one repository; what its submodules need comes back."""
        program = self.git.program
        tree = await program.do(checkout.listed, mirror.setting, part.commit, directories, self.git.bounds)
        for directory in directories:
            _check_directory(directory, tree)
        await program.do(checkout.write, mirror.setting, tree, into / part.path, self.git.bounds)
        if not self.with_submodules or not tree.submodules:
            return []
        urls = await program.do(submodules.urls, mirror.setting, part.commit)
        return [
            _Part(self._related(part.place, urls[path]), commit, f"{part.path}/{path}".lstrip("/"), part.depth + 1)
            for path, commit in tree.submodules.items()
            if path in urls
        ]

    async def _add_submodules(self, waiting: list[_Part], into: Path) -> None:
        """Write what lies inside, one after the other: no mirror is open while another one is waited for."""
        done = 0
        while waiting:
            part = waiting.pop()
            done += 1
            if done > submodules.MOST or part.depth > submodules.DEEPEST:
                raise GitFailed(
                    f"{_DOING}: there are more than {submodules.MOST} submodules, "
                    f"or they are more than {submodules.DEEPEST} levels deep"
                )
            await asyncio.to_thread((into / part.path).mkdir, parents=True, exist_ok=True)
            try:
                place, _ = await self.git.refs(part.place, ["HEAD"])
                async with self.git.mirrors.open(place, sha256=len(part.commit) == 64) as mirror:
                    await bring_commit(mirror, place, part.commit)
                    waiting += await self._written(mirror, part, into, ())
            except (RemoteTrouble, ProgramFailed) as error:
                cause = error.cause if isinstance(error, RemoteTrouble) else "it cannot be read"
                url = shown(part.place.address.url)
                raise GitFailed(f"{_DOING}: unable to clone submodule '{part.path}' from '{url}': {cause}") from None

    def _related(self, place: Place, url: str) -> Place:
        try:
            address = place.address.related(url)
        except InvalidAddress as error:
            raise GitFailed(f"{_DOING}: a submodule cannot be fetched: {error}") from None
        if address.scheme == "ssh" and not place.credentials.identity:
            raise GitFailed(f"{_DOING}: a submodule lies at '{shown(url)}', and there is no SSH key to log in with")
        return place.at(address)

    async def _place(self) -> Place:
        login = self.login
        credentials = login if isinstance(login, Credentials) else await self.git.tokens.credentials(login)
        return Place(self.address, credentials, self.proxy, self.git.algorithms)

    async def _refs(self, place: Place, *, doing: str) -> tuple[Place, Refs]:
        try:
            return await self.git.refs(place, [self.reference.full_name or TAGS])
        except RemoteTrouble as error:
            raise self._told(error, doing=doing) from None

    async def _check_presence(self, refs: Refs, name: str) -> None:
        """Tell an absent ref from a repository in which there is nothing at all."""
        if name in refs.objects:
            return
        if self.reference.is_branch and await self._is_empty():
            raise EmptyRepository
        if self.reference.name:
            raise GitFailed(f"{_DOING}: unable to resolve ref '{self.reference.name}' to a specific commit")
        raise self._told(RemoteTrouble(f"couldn't find remote ref '{name}'", is_missing=True), doing="unable to clone")

    async def _is_empty(self) -> bool:
        try:
            _, everything = await self.git.refs(await self._place(), ["HEAD", "refs/"])
        except RemoteTrouble as error:
            raise self._told(error, doing="unable to list remote for") from None
        return not everything.objects

    def _told(self, error: RemoteTrouble, *, doing: str) -> GitFailed:
        if not isinstance(self.login, Credentials):
            self.git.tokens.forget(self.login)
        url = shown(self.address.url)
        if error.is_missing:
            return GitFailed(f"{_DOING}: unable to clone: {error.cause}: git repository: '{url}'")
        return GitFailed(f"{_DOING}: {doing} '{url}': {error.cause}")

    def _pinned(self) -> str:
        commit = self.reference.commit
        if not is_hash(commit):
            raise GitFailed(f"{_DOING}: unable to resolve commit object for '{commit[:100]}': it is not a full hash")
        return commit

    def _directories(self) -> tuple[str, ...]:
        trimmed = [directory.removeprefix("./").strip("/") for directory in self.directories]
        return tuple("" if directory == "." else directory for directory in trimmed)


def _versions(refs: Refs, semver: str) -> list[str]:
    return matching((name.removeprefix(TAGS) for name in refs.objects if name.startswith(TAGS)), semver)


def _check_directory(directory: str, tree: checkout.Tree) -> None:
    wanted = directory.encode("utf-8", "surrogateescape")
    if not directory or any(entry.path == wanted or entry.path.startswith(wanted + b"/") for entry in tree.files):
        return
    if any(path == directory or path.startswith(f"{directory}/") for path in tree.submodules):
        return
    raise GitFailed(
        f"failed to sparse checkout directories : sparse checkout dir '{directory}' does not exist in repository"
    )


def _emptied(folder: Path) -> None:
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()
