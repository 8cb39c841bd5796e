"""A directory that somebody works in, as a source."""

from __future__ import annotations

import asyncio
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from penstock.errors import UsageError
from penstock.kube.resources import ObjectRef
from penstock.sources.local import LocalDirectory, LocalSource, Workspace
from penstock.sources.local.git import same_place

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.kube.resources import Object


def run(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
    return subprocess.run(
        ["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


def commit(folder: Path) -> str:
    run(folder, "add", "-A")
    run(folder, "commit", "-qm", "Add a cache", "--allow-empty")
    return run(folder, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    (root / "apps").mkdir(parents=True)
    run(root, "init", "-q", "-b", "main")
    run(root, "remote", "add", "origin", "git@git.example.com:team/apps.git")
    (root / "apps" / "a.yaml").write_text("a: 1\n")
    (root / ".gitignore").write_text("*.log\n")
    commit(root)
    return root


async def fetched(directory: LocalDirectory, into: Path) -> tuple[str, list[str]]:
    await asyncio.to_thread(into.mkdir)
    told = await directory.fetch(into)
    return told.revision, names(into)


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


async def test_what_is_committed(repository: Path, tmp_path: Path) -> None:
    directory = await LocalDirectory.find(repository / "apps")
    assert directory.root == repository, "a source is the whole repository"
    revision = f"main@sha1:{run(repository, 'rev-parse', 'HEAD')}"
    assert await directory.resolve() == revision
    assert await fetched(directory, tmp_path / "got") == (revision, [".gitignore", "apps/a.yaml"])


CHANGES: dict[str, tuple[Callable[[Path], object], list[str]]] = {
    "an edit": (lambda root: (root / "apps/a.yaml").write_text("a: 2\n"), [".gitignore", "apps/a.yaml"]),
    "a new file": (lambda root: (root / "b.yaml").write_text("b"), [".gitignore", "apps/a.yaml", "b.yaml"]),
    "a deletion": (lambda root: (root / "apps/a.yaml").unlink(), [".gitignore"]),
    "a new mode": (lambda root: (root / "apps/a.yaml").chmod(0o755), [".gitignore", "apps/a.yaml"]),
}


@pytest.mark.parametrize(("change", "files"), CHANGES.values(), ids=CHANGES)
async def test_what_is_not_committed(
    repository: Path, tmp_path: Path, change: Callable[[Path], object], files: list[str]
) -> None:
    directory = await LocalDirectory.find(repository)
    clean = await directory.resolve()
    change(repository)
    dirty = await directory.resolve()
    assert dirty.startswith(f"{clean}-")
    assert len(dirty) == len(clean) + 13
    assert await fetched(directory, tmp_path / "got") == (dirty, files)
    run(repository, "stash", "-qu")
    assert await directory.resolve() == clean
    run(repository, "stash", "pop", "-q")
    assert await directory.resolve() == dirty, "the same content is the same revision"


async def test_ignored_files_and_links_do_not_count(repository: Path, tmp_path: Path) -> None:
    directory = await LocalDirectory.find(repository)
    clean = await directory.resolve()
    (repository / "x.log").write_text("noise")
    assert await directory.resolve() == clean
    (repository / "link").symlink_to("/etc/passwd")
    assert (await fetched(directory, tmp_path / "got"))[1] == [".gitignore", "apps/a.yaml"]


async def test_no_branch_and_no_commit(tmp_path: Path, repository: Path) -> None:
    run(repository, "checkout", "-q", "--detach")
    head = run(repository, "rev-parse", "HEAD")
    assert await (await LocalDirectory.find(repository)).resolve() == f"sha1:{head}"
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    run(fresh, "init", "-q", "-b", "trunk")
    (fresh / "a").write_text("a")
    assert (await (await LocalDirectory.find(fresh)).resolve()).startswith(f"trunk@sha1:{'0' * 40}-")


async def test_without_git(tmp_path: Path) -> None:
    root = tmp_path / "plain"
    root.mkdir()
    (root / "a").write_text("1")
    directory = await LocalDirectory.find(root)
    first = await directory.resolve()
    assert first.startswith("local@sha256:")
    (root / "a").write_text("2")
    second, files = await fetched(directory, tmp_path / "got")
    assert second != first
    assert files == ["a"]
    with pytest.raises(UsageError, match="is not a directory"):
        await LocalDirectory.find(root / "a")


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        pytest.param("https://x.io/a/b", "https://x.io/a/b.git", True, id="the ending"),
        pytest.param("https://user:pw@X.io/a/b/", "ssh://git@x.io:22/a/b", True, id="protocol, user and port"),
        pytest.param("git@x.io:a/b.git", "https://x.io/a/b", True, id="the short form of ssh"),
        pytest.param("https://x.io/a/b", "https://x.io/a/c", False, id="another path"),
        pytest.param("https://x.io/a/b", "https://y.io/a/b", False, id="another host"),
        pytest.param("/srv/a", "/srv/a", False, id="no address at all"),
    ],
)
def test_addresses(first: str, second: str, same: bool) -> None:
    assert same_place(first, second) == same


def source(kind: str = "GitRepository", name: str = "apps", url: str = "https://git.example.com/team/apps") -> Object:
    group = "source.toolkit.fluxcd.io"
    metadata = {"name": name, "namespace": "flux-system"}
    return {"apiVersion": f"{group}/v1", "kind": kind, "metadata": metadata, "spec": {"url": url}}


async def test_which_sources_a_directory_stands_for(repository: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    named = LocalSource.parse(f"OCIRepository/flux-system/charts={other}")
    workspace = await Workspace.open([repository], [named])

    def stands_for(obj: Object) -> Path | None:
        found = workspace.stands_for(obj)
        return found.root if found else None

    assert stands_for(source()) == repository
    assert stands_for(source(url="https://git.example.com/team/other")) is None
    assert stands_for(source("OCIRepository", "charts", "oci://x/y")) == other
    assert stands_for(source("OCIRepository", "else", "oci://git.example.com/team/apps")) is None
    assert stands_for({**source(), "spec": {}}) is None


async def test_repositories_that_lie_side_by_side(repository: Path, tmp_path: Path) -> None:
    team = tmp_path / "team"
    team.mkdir()
    workspace = await Workspace.open([], beside=[repository, team])

    def stands_for(url: str, kind: str = "GitRepository") -> Path | None:
        found = workspace.stands_for(source(kind, url=url))
        return found.root if found else None

    assert stands_for("https://git.example.com/shop/team.git") == team
    assert stands_for("https://git.example.com/team/apps") == repository, "its remote says so"
    assert stands_for("https://git.example.com/shop/teams") is None
    assert stands_for("oci://registry.example.com/team", "OCIRepository") is None


async def test_a_part_of_a_repository(repository: Path, tmp_path: Path) -> None:
    directory = await LocalDirectory.at(repository / "apps")
    clean = f"main@sha1:{run(repository, 'rev-parse', 'HEAD')}"
    (repository / "elsewhere.yaml").write_text("x")
    assert await fetched(directory, tmp_path / "got") == (clean, ["a.yaml"])
    (repository / "apps" / "a.yaml").write_text("a: 2")
    assert (await directory.resolve()).startswith(f"{clean}-")


async def test_a_part_that_git_ignores(repository: Path, tmp_path: Path) -> None:
    ignored = repository / "installed.log"
    ignored.mkdir()
    (ignored / "a.yaml").write_text("a: 1")
    directory = await LocalDirectory.at(ignored)
    revision, files = await fetched(directory, tmp_path / "got")
    assert revision.startswith("local@sha256:")
    assert files == ["a.yaml"]


@pytest.mark.parametrize(
    "text",
    ["", "x", "GitRepository/a=.", "GitRepository/a/b", "GitRepository/a/b=", "Pod/a/b=.", "Kustomization/a/b=."],
)
def test_local_sources_that_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--local-source"):
        LocalSource.parse(text)


def test_a_local_source() -> None:
    told = LocalSource.parse("gitrepository/flux-system/apps=some/dir")
    assert told.ref == ObjectRef("source.toolkit.fluxcd.io", "GitRepository", "flux-system", "apps")
    assert told.path == Path("some/dir")


async def test_saves_are_told(repository: Path) -> None:
    workspace = await Workspace.open([repository])
    told = asyncio.Event()
    watching = asyncio.create_task(workspace.run(lambda _: told.set()))
    try:
        # The first change may come before the watch is there: it is repeated until one is told.
        async with asyncio.timeout(20):
            number = 0
            while not told.is_set():
                number += 1
                (repository / "apps" / "a.yaml").write_text(str(number))
                with suppress(TimeoutError):
                    async with asyncio.timeout(0.5):
                        await told.wait()
        for save in (
            lambda: (repository / "new.yaml").write_text("x"),
            lambda: commit(repository),
            lambda: (repository / "apps" / "a.yaml").unlink(),
        ):
            told.clear()
            save()
            async with asyncio.timeout(20):
                await told.wait()
    finally:
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching
