"""Which commit is meant, and how its revision is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from penstock.api.gitrepository import GitReference
from penstock.sources import SourceError
from penstock.sources.git import Address, Git, GitRemote, Reference
from penstock.sources.git.errors import EmptyRepository
from tests.sources.git.repositories import Repository

if TYPE_CHECKING:
    from pathlib import Path

    from tests.sources.git.server import GitServer

HASH = "5394cb7f48332b2de7c17dd8b8384bbc84b7e738"


def remote(git: Git, server: GitServer, reference: Reference) -> GitRemote:
    return GitRemote(git, Address.parse(server.url("app.git")), reference)


@pytest.fixture
def hashes(repository: Repository) -> dict[str, str]:
    """A repository with branches, tags of both kinds, and a pull request."""
    first = repository.commit({"a": "1"}, "first")
    repository.tag("v1.0.0")
    second = repository.commit({"a": "2"}, "second")
    repository.tag("v1.1.0", annotated=True)
    rc = repository.commit({"a": "rc"}, "a candidate")
    repository.tag("v2.0.0-rc.1")
    repository.tag("nightly")
    head = repository.commit({"a": "3"}, "third")
    feature = repository.commit({"a": "f"}, "feature", branch="feature/x")
    pull = repository.commit({"a": "p"}, "pull", branch="pulled")
    repository.run("update-ref", "refs/pull/1/head", pull)
    repository.run("update-ref", "-d", "refs/heads/pulled")
    return {"first": first, "second": second, "rc": rc, "head": head, "feature": feature, "pull": pull}


@pytest.mark.parametrize(
    ("reference", "revision", "content"),
    [
        pytest.param(Reference(branch="main"), "main@sha1:{head}", "3", id="a branch"),
        pytest.param(Reference(branch="feature/x"), "feature/x@sha1:{feature}", "f", id="a branch with a slash"),
        pytest.param(Reference(tag="v1.0.0"), "v1.0.0@sha1:{first}", "1", id="a light tag"),
        pytest.param(Reference(tag="v1.1.0"), "v1.1.0@sha1:{second}", "2", id="an annotated tag is its commit"),
        pytest.param(Reference(semver=">=1.0.0"), "v1.1.0@sha1:{second}", "2", id="semver takes the highest release"),
        pytest.param(Reference(semver=">=1.0.0-0"), "v2.0.0-rc.1@sha1:{rc}", "rc", id="semver with prereleases"),
        pytest.param(Reference(semver="1.0.x"), "v1.0.0@sha1:{first}", "1", id="semver of a patch range"),
        pytest.param(Reference(tag="v1.0.0", semver=">=1.0.0"), "v1.0.0@sha1:{first}", "1", id="tag beats semver",
                     marks=pytest.mark.scenario("sources-15")),
        pytest.param(Reference(branch="main", tag="v1.0.0"), "v1.0.0@sha1:{first}", "1", id="tag beats branch"),
        pytest.param(Reference(name="refs/heads/main", tag="v1.0.0"), "refs/heads/main@sha1:{head}", "3",
                     id="name beats tag"),
        pytest.param(Reference(name="refs/pull/1/head"), "refs/pull/1/head@sha1:{pull}", "p", id="a pull request"),
        pytest.param(Reference(name="refs/tags/v1.1.0"), "refs/tags/v1.1.0@sha1:{second}", "2", id="a tag by name"),
        pytest.param(Reference(name="refs/tags/v1.1.0^{{}}"), "refs/tags/v1.1.0^{{}}@sha1:{second}", "2",
                     id="a tag by its peeled name"),
        pytest.param(Reference(name="HEAD"), "HEAD@sha1:{head}", "3", id="HEAD by name"),
        pytest.param(Reference(commit="{first}"), "sha1:{first}", "1", id="a commit"),
        pytest.param(Reference(commit="{first}", branch="main"), "main@sha1:{first}", "1", id="a commit of a branch"),
        pytest.param(Reference(commit="{first}", name="refs/heads/main"), "refs/heads/main@sha1:{first}", "1",
                     id="a commit beats a name"),
    ],
)  # fmt: skip
@pytest.mark.scenario("sources-14")
async def test_revision(
    git: Git,
    server: GitServer,
    hashes: dict[str, str],
    into: Path,
    reference: Reference,
    revision: str,
    content: str,
) -> None:
    wanted = Reference(
        *(getattr(reference, name).format(**hashes) for name in ("branch", "tag", "semver", "name", "commit"))
    )
    place = remote(git, server, wanted)
    assert await place.resolve() == revision.format(**hashes)
    fetched = await place.fetch(into)
    assert fetched.revision == revision.format(**hashes)
    assert (into / "a").read_text() == content


@pytest.mark.parametrize("version_2", [True, False], ids=["version 2", "version 0"])
async def test_a_poll_is_one_request(git: Git, server: GitServer, hashes: dict[str, str], *, version_2: bool) -> None:
    """What a server speaks is learned once."""
    server.speaks_version_2 = version_2
    place = remote(git, server, Reference(branch="main"))
    await place.resolve()
    server.requests.clear()
    assert await place.resolve() == f"main@sha1:{hashes['head']}"
    assert len(server.requests) == 1


async def test_a_commit_is_no_request(git: Git, server: GitServer) -> None:
    assert await remote(git, server, Reference(commit=HASH)).resolve() == f"sha1:{HASH}"
    assert server.requests == []


@pytest.mark.parametrize("version_2", [True, False], ids=["version 2", "version 0"])
async def test_tags_of_equal_version_are_told_apart_by_their_time(
    git: Git, server: GitServer, repository: Repository, into: Path, *, version_2: bool
) -> None:
    server.speaks_version_2 = version_2
    repository.commit({"a": "old"})
    repository.tag("1.0.0+zzz")
    newest = repository.commit({"a": "new"})
    repository.tag("1.0.0+aaa")
    place = remote(git, server, Reference(semver="1.0.x"))
    assert await place.resolve() is None
    assert (await place.fetch(into)).revision == f"1.0.0+aaa@sha1:{newest}"


@pytest.mark.parametrize("version_2", [True, False], ids=["version 2", "version 0"])
@pytest.mark.parametrize(
    ("reference", "words"),
    [
        pytest.param(Reference(branch="absent"), "couldn't find remote ref 'refs/heads/absent': git repository: '",
                     id="a branch that is not there"),
        pytest.param(Reference(branch="mai"), "couldn't find remote ref", id="the beginning of a branch"),
        pytest.param(Reference(tag="absent"), "couldn't find remote ref 'refs/tags/absent'", id="a tag"),
        pytest.param(Reference(name="refs/x"), "unable to resolve ref 'refs/x' to a specific commit", id="a name"),
        pytest.param(Reference(semver=">=9"), "no match found for semver: >=9", id="no version in the range"),
        pytest.param(Reference(semver="nonsense"), "semver parse error", id="no range"),
        pytest.param(Reference(commit=HASH), f"unable to resolve commit object for '{HASH}'", id="a commit"),
        pytest.param(Reference(commit="abc"), "unable to resolve commit object for 'abc'", id="a short hash"),
    ],
)  # fmt: skip
@pytest.mark.scenario("sources-16")
async def test_what_is_not_there(
    git: Git,
    server: GitServer,
    hashes: dict[str, str],
    into: Path,
    reference: Reference,
    words: str,
    *,
    version_2: bool,
) -> None:
    server.speaks_version_2 = version_2
    with pytest.raises(SourceError) as caught:
        await remote(git, server, reference).fetch(into)
    assert words in str(caught.value)
    assert (caught.value.condition, caught.value.reason) == ("FetchFailed", "GitOperationFailed")


@pytest.mark.parametrize("version_2", [True, False], ids=["version 2", "version 0"])
@pytest.mark.scenario("sources-19")
async def test_an_empty_repository(git: Git, server: GitServer, into: Path, *, version_2: bool) -> None:
    server.speaks_version_2 = version_2
    place = remote(git, server, Reference(branch="main"))
    with pytest.raises(EmptyRepository, match="git repository is empty"):
        await place.resolve()
    with pytest.raises(EmptyRepository):
        await place.fetch(into)


@pytest.mark.parametrize(
    "name",
    ["--upload-pack=touch x", "-x", "a b", "a..b", "a:b", "a*", "+a", "a^", "a~1", "@{u}", "a.lock", "/a", "a/", "",
     "a\nb", "a\\b", ".a", "a" * 2000, "ext::sh"],
)  # fmt: skip
async def test_a_name_that_is_none_goes_nowhere(git: Git, server: GitServer, name: str) -> None:
    """A11: nothing that an option, a pattern or a refspec could be made of."""
    wanted = [Reference(name=name or "/"), Reference(branch=name or "/")]
    for reference in wanted:
        if name in ("-x", "+a", "--upload-pack=touch x") and reference.branch:
            continue
        with pytest.raises(SourceError):
            await remote(git, server, reference).resolve()
    assert [request for request in server.requests if "%2A" in request] == []


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(None, Reference(branch="master"), id="nothing"),
        pytest.param(GitReference(), Reference(branch="master"), id="an empty ref"),
        pytest.param(GitReference(commit=HASH.upper()), Reference(commit=HASH), id="a hash in capitals"),
        pytest.param(GitReference(tag="v1"), Reference(tag="v1"), id="a tag and no branch"),
    ],
)
def test_what_a_spec_asks_for(spec: GitReference | None, expected: Reference) -> None:
    assert Reference.of(spec) == expected


async def test_a_repository_with_the_longer_hash(git: Git, server: GitServer, tmp_path: Path, into: Path) -> None:
    long = Repository(tmp_path / "served" / "long.git", form="sha256")
    commit = long.commit({"a": "256"})
    place = GitRemote(git, Address.parse(server.url("long.git")), Reference(branch="main"))
    assert await place.resolve() == f"main@sha256:{commit}"
    assert (await place.fetch(into)).revision == f"main@sha256:{commit}"
    assert (into / "a").read_text() == "256"
