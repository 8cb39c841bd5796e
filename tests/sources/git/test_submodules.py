"""Repositories inside a repository."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from penstock.sources import SourceError
from penstock.sources.git import Address, Credentials, Git, GitRemote, Reference
from tests.sources.git.repositories import Repository
from tests.sources.git.server import GitServer, serving

if TYPE_CHECKING:
    from pathlib import Path

MAIN = Reference(branch="main")


def remote(git: Git, server: GitServer, *, recurse: bool = True, login: Credentials | None = None) -> GitRemote:
    address = Address.parse(server.url("app.git"))
    return GitRemote(git, address, MAIN, login or Credentials(), with_submodules=recurse)


def named(path: str, url: str) -> str:
    return f'[submodule "{path}"]\n\tpath = {path}\n\turl = {url}\n'


def link(path: str, commit: str) -> str:
    return f"160000 {commit} 0\t{path}\n"


@pytest.fixture
def library(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "served" / "library.git")


@pytest.mark.parametrize("url", ["../library.git", "{server}library.git", "./../library.git"])
@pytest.mark.parametrize("version_2", [True, False], ids=["version 2", "version 0"])
@pytest.mark.scenario("sources-27")
async def test_fetched_when_asked_for(
    git: Git, server: GitServer, repository: Repository, library: Repository, into: Path, url: str, *, version_2: bool
) -> None:
    server.speaks_version_2 = version_2
    pinned = library.commit({"lib": "old"})
    library.commit({"lib": "new"})
    modules = named("vendor/lib", url.format(server=server.url("")))
    repository.commit({".gitmodules": modules, "a": "1"}, extra=link("vendor/lib", pinned))
    await remote(git, server).fetch(into)
    assert (into / "vendor/lib/lib").read_text() == "old"
    assert (into / "a").read_text() == "1"


@pytest.mark.scenario("sources-27")
async def test_absent_when_not(
    git: Git, server: GitServer, repository: Repository, library: Repository, into: Path
) -> None:
    pinned = library.commit({"lib": "1"})
    repository.commit({".gitmodules": named("lib", "../library.git")}, extra=link("lib", pinned))
    await remote(git, server, recurse=False).fetch(into)
    assert not (into / "lib").exists()


async def test_one_that_nobody_named_is_left_out(
    git: Git, server: GitServer, repository: Repository, library: Repository, into: Path
) -> None:
    repository.commit({"a": "1"}, extra=link("lib", library.commit({"lib": "1"})))
    await remote(git, server).fetch(into)
    assert not (into / "lib").exists()


async def test_inside_each_other(
    git: Git, server: GitServer, repository: Repository, library: Repository, tmp_path: Path, into: Path
) -> None:
    deep = Repository(tmp_path / "served" / "deep.git").commit({"d": "deep"})
    middle = library.commit({".gitmodules": named("inner", "../deep.git"), "m": "middle"}, extra=link("inner", deep))
    repository.commit({".gitmodules": named("lib", "../library.git")}, extra=link("lib", middle))
    await remote(git, server).fetch(into)
    assert (into / "lib/inner/d").read_text() == "deep"
    assert (into / "lib/m").read_text() == "middle"


async def test_without_an_end(
    git: Git, server: GitServer, repository: Repository, library: Repository, into: Path
) -> None:
    """A chain that is longer than anybody needs."""
    commit = library.commit({"end": "x"})
    for number in range(12):
        commit = library.commit(
            {".gitmodules": named("n", "./../library.git"), "x": str(number)}, extra=link("n", commit)
        )
    repository.commit({".gitmodules": named("lib", "../library.git")}, extra=link("lib", commit))
    with pytest.raises(SourceError, match="more than 10 levels deep"):
        await remote(git, server).fetch(into)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("file:///etc", "http, https and ssh are known"),
        ("ext::sh -c id", "space or a control character"),
        ("/etc", "http, https and ssh are known"),
        ("--upload-pack=id", "http, https and ssh are known"),
        ("git@example.com:lib.git", "no SSH key to log in with"),
        ("http://169.254.169.254/x", "link-local"),
    ],
)
async def test_to_where_nobody_goes(
    git: Git, server: GitServer, repository: Repository, library: Repository, into: Path, url: str, words: str
) -> None:
    """A11: whoever writes into the repository chooses these addresses."""
    pinned = library.commit({"lib": "1"})
    repository.commit({".gitmodules": named("lib", url)}, extra=link("lib", pinned))
    with pytest.raises(SourceError, match=words):
        await remote(git, server).fetch(into)


async def test_another_host_gets_no_password(
    git: Git, server: GitServer, repository: Repository, library: Repository, into: Path
) -> None:
    server.allow_basic("ann", "s3cret")
    pinned = library.commit({"lib": "1"})
    async with serving(library.path.parent) as other:
        repository.commit({".gitmodules": named("lib", other.url("library.git"))}, extra=link("lib", pinned))
        await remote(git, server, login=Credentials(username="ann", password="s3cret")).fetch(into)
        assert (into / "lib/lib").read_text() == "1"
        assert [headers for headers in other.headers if "Authorization" in headers] == []
    server.requests.clear()
    repository.commit({".gitmodules": named("lib", "../library.git")}, extra=link("lib", pinned))
    (into / "again").mkdir()
    await remote(git, server, login=Credentials(username="ann", password="s3cret")).fetch(into / "again")
    assert (into / "again/lib/lib").read_text() == "1"


async def test_a_commit_that_is_gone(
    git: Git, server: GitServer, repository: Repository, library: Repository, into: Path
) -> None:
    library.commit({"lib": "1"})
    repository.commit({".gitmodules": named("lib", "../library.git")}, extra=link("lib", "1" * 40))
    with pytest.raises(SourceError, match=r"unable to clone submodule 'lib' from 'http://127.*object not found"):
        await remote(git, server).fetch(into)
