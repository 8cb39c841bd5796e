"""Which files of a commit are written, and what happens to a hostile one."""

from __future__ import annotations

import asyncio
import os
import stat
from typing import TYPE_CHECKING

import pytest
from aiohttp import web

from penstock.sources import SourceError
from penstock.sources.git import Address, Credentials, Git, GitRemote, Reference
from penstock.sources.git.checkout import Bounds
from penstock.sources.git.mirror import Limits
from tests.sources.git.repositories import Repository
from tests.sources.git.server import GitServer, serving

if TYPE_CHECKING:
    from pathlib import Path

MAIN = Reference(branch="main")


def remote(git: Git, server: GitServer, name: str = "app.git", **settings: object) -> GitRemote:
    return GitRemote(git, Address.parse(server.url(name)), MAIN, **settings)  # type: ignore[arg-type]


def written(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()}


async def test_files_are_as_they_are_stored(git: Git, server: GitServer, repository: Repository, into: Path) -> None:
    """Attributes that would convert line ends, expand names or run a filter are only files to us."""
    attributes = "* text eol=crlf ident filter=evil export-ignore export-subst\n"
    repository.commit({".gitattributes": attributes, "a/b.txt": "$Id$\r\n$Format:%H$\n", "run.sh*": "#!/bin/sh\n"})
    await remote(git, server).fetch(into)
    assert (into / "a/b.txt").read_bytes() == b"$Id$\r\n$Format:%H$\n"
    assert (into / ".gitattributes").read_text() == attributes
    assert stat.S_IMODE((into / "run.sh").stat().st_mode) & 0o111
    assert not stat.S_IMODE((into / "a/b.txt").stat().st_mode) & 0o111


async def test_thousands_of_files(git: Git, server: GitServer, repository: Repository, into: Path) -> None:
    """Above some number, two halves are written at the same time."""
    files = {f"{n % 50}/{n}.txt": f"{n}\n" * (n % 7) for n in range(2500)}
    repository.fast_commit(files)
    await remote(git, server).fetch(into)
    assert written(into) == files


@pytest.mark.parametrize("half", ["first", "second"])
async def test_thousands_of_files_and_a_hostile_one(
    git: Git, server: GitServer, repository: Repository, into: Path, half: str
) -> None:
    repository.fast_commit({f"m/{n}.txt": f"{n}\n" for n in range(2500)})
    middle = repository.run("rev-parse", "main:m")
    blob = repository.blob("x")
    twins = (("100644", "a", blob), ("100644", "a", blob)) if half == "first" else ()
    late = () if half == "first" else (("100644", "z", blob), ("100644", "z", blob))
    malformed(repository, *twins, ("40000", "m", middle), *late)
    with pytest.raises(SourceError, match="twice, or under a name that cannot be a file"):
        await remote(git, server).fetch(into)


async def test_links_are_left_out(git: Git, server: GitServer, repository: Repository, into: Path) -> None:
    repository.commit({"a": "1", "passwd@": "/etc/passwd", "up@": "../.."})
    await remote(git, server).fetch(into)
    assert list(written(into)) == ["a"]


def malformed(repository: Repository, *entries: tuple[str, str, str]) -> None:
    """A commit with a tree that `git` itself would not make: mode, name, object."""
    raw = b"".join(f"{mode} {name}".encode() + b"\0" + bytes.fromhex(value) for mode, name, value in entries)
    tree = repository.run("hash-object", "-t", "tree", "-w", "--stdin", "--literally", stdin=raw)
    repository.commit_tree(tree, "hostile")


@pytest.mark.parametrize("name", ["..", ".", ".git", ".GIT", "../../escape", "a/../../escape", "/etc/cron.d/x"])
async def test_a_path_that_leads_out_is_refused(
    git: Git, server: GitServer, repository: Repository, into: Path, name: str
) -> None:
    malformed(repository, ("100644", name, repository.blob("x")))
    with pytest.raises(SourceError, match="which no repository may have"):
        await remote(git, server).fetch(into)
    assert written(into) == {}
    assert not (into.parent / "escape").exists()


@pytest.mark.parametrize("kind", ["100644", "40000"])
async def test_a_name_that_is_there_twice_is_refused(
    git: Git, server: GitServer, repository: Repository, into: Path, kind: str
) -> None:
    blob, tree = repository.blob("x"), repository.tree({"inside": "y"})
    malformed(repository, ("100644", "a", blob), (kind, "a", blob if kind == "100644" else tree))
    with pytest.raises(SourceError, match="twice, or under a name that cannot be a file"):
        await remote(git, server).fetch(into)


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        pytest.param(Bounds(files=2), "more than 2 files", id="too many files"),
        pytest.param(Bounds(size=3), "of files; leave some out", id="too many bytes"),
        pytest.param(Bounds(depth=2), "more than 2 levels deep", id="too deep"),
    ],
)
async def test_a_tree_that_is_too_large(
    tmp_path: Path, server: GitServer, repository: Repository, into: Path, bounds: Bounds, words: str
) -> None:
    repository.commit({"a": "1", "b": "2", "c/d/e": "33"})
    async with Git.open(tmp_path / "mirrors", bounds=bounds) as git:
        with pytest.raises(SourceError, match=words):
            await remote(git, server).fetch(into)
    assert len(written(into)) < 3


async def test_a_tree_bomb_costs_no_time(tmp_path: Path, server: GitServer, repository: Repository, into: Path) -> None:
    """A4: ten levels of ten times the same directory are ten thousand million files."""
    entry = ("100644", repository.blob("x"))
    for _ in range(10):
        raw = b"".join(f"{entry[0]} {n}".encode() + b"\0" + bytes.fromhex(entry[1]) for n in range(10))
        entry = ("40000", repository.run("hash-object", "-t", "tree", "-w", "--stdin", stdin=raw))
    repository.commit_tree(entry[1], "bomb")
    async with Git.open(tmp_path / "mirrors", bounds=Bounds(files=20_000)) as git:
        with pytest.raises(SourceError, match="more than 20000 files"):
            await remote(git, server).fetch(into)


@pytest.mark.parametrize(
    ("directories", "expected"),
    [
        pytest.param(("deploy",), ["deploy/a", "deploy/sub/b"], id="one directory"),
        pytest.param(("./deploy/sub/",), ["deploy/sub/b"], id="with dots and slashes around"),
        pytest.param(("deploy/sub", "other"), ["deploy/sub/b", "other/c"], id="two directories"),
        pytest.param((".",), ["deploy/a", "deploy/sub/b", "deployment/x", "other/c", "top"], id="the root is all"),
    ],
)
@pytest.mark.scenario("sources-26")
async def test_sparse(
    git: Git, server: GitServer, repository: Repository, into: Path, directories: tuple[str, ...], expected: list[str]
) -> None:
    names = ("top", "deploy/a", "deploy/sub/b", "deployment/x", "other/c")
    repository.commit(dict.fromkeys(names, "x"))
    await remote(git, server, directories=directories).fetch(into)
    assert list(written(into)) == expected


@pytest.mark.parametrize("directory", ["absent", "deploy/../..", "/etc"])
@pytest.mark.scenario("sources-26")
async def test_sparse_directory_that_is_not_there(
    git: Git, server: GitServer, repository: Repository, into: Path, directory: str
) -> None:
    repository.commit({"deploy/a": "x"})
    with pytest.raises(SourceError, match="does not exist in repository") as caught:
        await remote(git, server, directories=(directory,)).fetch(into)
    assert caught.value.reason == "GitOperationFailed"


async def test_the_event_tells_the_subject(git: Git, server: GitServer, repository: Repository, into: Path) -> None:
    repository.commit({"a": "1"}, "x" * 60 + "\n\nbody")
    assert (await remote(git, server).fetch(into)).summary == f"commit '{'x' * 50}...'"


class TestMirror:
    """What was fetched before is not fetched again."""

    async def test_nothing_new_is_no_transfer(
        self, git: Git, server: GitServer, repository: Repository, tmp_path: Path
    ) -> None:
        repository.commit({"a": "1"})
        for number in ("1", "2"):
            (tmp_path / number).mkdir()
            server.requests.clear()
            await remote(git, server).fetch(tmp_path / number)
        assert len(server.requests) == 1  # the refs
        assert written(tmp_path / "2") == {"a": "1"}

    async def test_only_what_is_new_is_sent(
        self, git: Git, server: GitServer, repository: Repository, tmp_path: Path
    ) -> None:
        big = os.urandom(200_000)
        repository.commit({"big": big, "a": "1"})
        (tmp_path / "1").mkdir()
        (tmp_path / "2").mkdir()
        await remote(git, server).fetch(tmp_path / "1")
        repository.commit({"big": big, "a": "2"})
        await remote(git, server).fetch(tmp_path / "2")
        packs = sorted(path.stat().st_size for path in (tmp_path / "mirrors").glob("*/objects/pack/*.pack"))
        assert (tmp_path / "2" / "a").read_text() == "2"
        assert packs[0] < 2_000 < 200_000 < packs[1]

    async def test_history_stays_there(
        self, git: Git, server: GitServer, repository: Repository, into: Path, tmp_path: Path
    ) -> None:
        """A branch, and a pinned commit in the middle of it, come without what was before."""
        repository.commit({"old": os.urandom(100_000)})
        pinned = repository.commit({"a": "1"})
        repository.commit({"a": "2"})
        await GitRemote(git, Address.parse(server.url("app.git")), Reference(commit=pinned)).fetch(into)
        packs = sum(path.stat().st_size for path in (tmp_path / "mirrors").glob("*/objects/pack/*.pack"))
        assert written(into) == {"a": "1"}
        assert packs < 2_000

    async def test_a_killed_process_leaves_nothing_in_the_way(
        self, git: Git, server: GitServer, repository: Repository, tmp_path: Path
    ) -> None:
        repository.commit({"a": "1"})
        (tmp_path / "1").mkdir()
        (tmp_path / "2").mkdir()
        await remote(git, server).fetch(tmp_path / "1")
        (mirror,) = (path for path in (tmp_path / "mirrors").iterdir() if path.is_dir())
        reference = next(iter((mirror / "refs/penstock").iterdir()))
        for leftover in (
            "shallow.lock",
            "packed-refs.lock",
            "objects/pack/tmp_pack_x",
            f"refs/penstock/{reference.name}.lock",
        ):
            (mirror / leftover).write_bytes(b"")
        repository.commit({"a": "2"})
        await remote(git, server).fetch(tmp_path / "2")
        assert written(tmp_path / "2") == {"a": "2"}
        assert not (mirror / "objects/pack/tmp_pack_x").exists()

    @pytest.mark.parametrize("what", ["unfinished", "damaged", "forgetful"])
    async def test_a_broken_mirror_begins_anew(
        self, git: Git, server: GitServer, repository: Repository, tmp_path: Path, what: str
    ) -> None:
        repository.commit({"a": "1", "b": "2"})
        (tmp_path / "1").mkdir()
        (tmp_path / "2").mkdir()
        await remote(git, server).fetch(tmp_path / "1")
        (mirror,) = (path for path in (tmp_path / "mirrors").iterdir() if path.is_dir())
        if what == "unfinished":
            (mirror / "whole").unlink()
        elif what == "forgetful":
            repository.commit({"x": "x"})
            (mirror / "shallow").unlink()
            repository.commit({"a": "1", "b": "2"})
        else:
            pack = next(mirror.glob("objects/pack/*.pack"))
            pack.chmod(0o600)
            pack.write_bytes(pack.read_bytes()[:-40] + b"\0" * 40)
            next(mirror.glob("objects/pack/*.idx")).unlink()
        await remote(git, server).fetch(tmp_path / "2")
        assert written(tmp_path / "2") == {"a": "1", "b": "2"}

    async def test_a_mirror_that_another_process_uses_is_left_alone(
        self, git: Git, server: GitServer, repository: Repository, into: Path, tmp_path: Path
    ) -> None:
        repository.commit({"a": "1"})
        async with Git.open(tmp_path / "mirrors") as other:
            place = await remote(other, server)._place()
            async with other.mirrors.open(place, sha256=False):
                await remote(git, server).fetch(into)
        assert written(into) == {"a": "1"}
        assert [path for path in (tmp_path / "mirrors").iterdir() if path.name.startswith("once-")] == []

    async def test_one_that_grows_too_large_begins_anew(
        self, server: GitServer, repository: Repository, tmp_path: Path, into: Path
    ) -> None:
        repository.commit({"big": os.urandom(50_000)})
        async with Git.open(tmp_path / "mirrors", limits=Limits(mirror=10_000)) as git:
            await remote(git, server).fetch(into)
        assert [path for path in (tmp_path / "mirrors").iterdir() if path.is_dir()] == []

    async def test_packs_of_old_commits_go(
        self, git: Git, server: GitServer, repository: Repository, tmp_path: Path
    ) -> None:
        """A36: a hundred commits leave no hundred packs."""
        for number in range(25):
            repository.commit({"a": str(number)})
            (tmp_path / f"into-{number}").mkdir()
            await remote(git, server).fetch(tmp_path / f"into-{number}")
        packs = list((tmp_path / "mirrors").glob("*/objects/pack/*.pack"))
        assert len(packs) <= 20
        assert written(tmp_path / "into-24") == {"a": "24"}

    async def test_the_oldest_go_when_there_are_too_many(
        self, server: GitServer, repository: Repository, tmp_path: Path
    ) -> None:
        repository.commit({"a": "1"})
        Repository(tmp_path / "served" / "b.git").commit({"b": "1"})
        async with Git.open(tmp_path / "mirrors") as git:
            for name in ("app.git", "b.git"):
                (tmp_path / name).mkdir()
                await remote(git, server, name).fetch(tmp_path / name)
        first, second = (path for path in (tmp_path / "mirrors").iterdir() if path.is_dir())
        os.utime(first, (1, 1))
        async with Git.open(tmp_path / "mirrors"):
            assert not first.exists()
            assert second.exists()
        async with Git.open(tmp_path / "mirrors", limits=Limits(total=1)):
            assert not second.exists()

    async def test_another_login_gets_another_mirror(
        self, git: Git, server: GitServer, repository: Repository, into: Path
    ) -> None:
        """What one tenant could fetch, another one with other credentials cannot read from the mirror."""
        repository.commit({"a": "1"})
        server.allow_basic("ann", "right")
        await remote(git, server, login=Credentials(username="ann", password="right")).fetch(into)
        with pytest.raises(SourceError, match="authentication required"):
            await remote(git, server, login=Credentials(username="bob", password="wrong")).fetch(into)


async def test_a_cancelled_fetch_ends_its_processes(
    git: Git, server: GitServer, repository: Repository, into: Path
) -> None:
    repository.commit({"a": "1"})
    reached = asyncio.Event()

    async def answer(request: object) -> None:
        if len(server.requests) > 2:
            reached.set()
            await asyncio.Event().wait()

    server.answer = answer
    async with asyncio.TaskGroup() as group:
        task = group.create_task(remote(git, server).fetch(into))
        await reached.wait()
        task.cancel()
    assert task.cancelled()
    async with asyncio.timeout(10), serving(repository.path.parent) as healthy:
        await remote(git, healthy).fetch(into)
    assert written(into) == {"a": "1"}


async def test_a_pack_that_is_cut_off(git: Git, server: GitServer, repository: Repository, into: Path) -> None:
    repository.commit({"a": "1"})
    whole = server._backend

    async def answer(request: web.Request) -> web.StreamResponse | None:
        if len(server.requests) < 4 or request.method == "GET":
            return None
        body = (await whole(request)).body  # type: ignore[attr-defined]
        return web.Response(body=body[: len(body) // 2], content_type="application/x-git-upload-pack-result")

    server.answer = answer
    with pytest.raises(SourceError, match="failed to checkout and determine revision: unable to clone"):
        await remote(git, server).fetch(into)
    assert written(into) == {}
    server.answer = None
    await remote(git, server).fetch(into)
    assert written(into) == {"a": "1"}
