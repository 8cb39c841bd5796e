"""Git sources side by side with `git`: a first fetch of many files, and polls in which nothing is new.

    python -m bench git

The server is a process of its own on the same machine. A fetch ends with a packed artifact, on both sides with our
own packer. Wall times, the best of several runs.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from bench.git_server import HASH, started
from penstock.kube.resources import ObjectRef
from penstock.sources.git import Address, Git, GitRemote, Reference
from penstock.sources.store import ArtifactStore
from tests.sources.git.repositories import Repository

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

FILES = 10_000
SOURCES = 1_000
SAMPLE = 50  # sources that the peer polls, one process each
RUNS = 5
AT_ONCE = 32
MAIN = Reference(branch="main")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_fetches(Path(folder)))
        asyncio.run(_polls(Path(folder)))


async def _fetches(folder: Path) -> None:
    repository = Repository(folder / "served" / "app.git")
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: example-{n}\ndata:\n  value: '{n}'\n" + "# {n}\n" * 120
    files = {f"apps/{n // 100}/{n}.yaml": text.replace("{n}", str(n)) for n in range(FILES)}
    repository.fast_commit(files)
    repository.run("repack", "-a", "-d", "-q")
    with started("real", folder / "served") as server:
        url = f"http://127.0.0.1:{server.port}/app.git"
        (clone, cloned), (fetch, fetched) = await _best(folder, lambda at: _clone(url, at), lambda at: _fetch(url, at))
        again = await _second_fetch(url, repository, files, folder)
    print(
        f"  first fetch of {FILES} files: git clone --depth 1 {clone:.2f} s, ours {fetch:.2f} s, {clone / fetch:.2f}x"
    )
    print(f"  the same and packed: {cloned:.2f} s, ours {fetched:.2f} s, {cloned / fetched:.2f}x")
    print(f"  one file of {FILES} changed, fetched and packed: {again:.2f} s")


async def _best(folder: Path, *ways: Callable[[Path], Awaitable[None]]) -> list[tuple[float, float]]:
    """Seconds of each way for the files alone, and with the archive; turn by turn, so that noise hits them alike."""
    best = [(9e9, 9e9)] * len(ways)
    for _ in range(RUNS):
        for number, way in enumerate(ways):
            files, packed = await _timed(way, folder)
            best[number] = min(best[number][0], files), min(best[number][1], packed)
    return best


async def _timed(way: Callable[[Path], Awaitable[None]], folder: Path) -> tuple[float, float]:
    # Nothing is deleted before the end: ext4 looks long for inodes when many were freed a moment ago.
    target = Path(tempfile.mkdtemp(dir=folder))
    begun = time.perf_counter()
    await way(target / "tree")
    files = time.perf_counter() - begun
    store = ArtifactStore(target / "store", address="bench")
    await store.put_tree(_owner(), "x.tar.gz", target / "tree", revision="main")
    return files, time.perf_counter() - begun


async def _clone(url: str, target: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}
    command = ["git", "clone", "--quiet", "--depth", "1", "--branch", "main", url, str(target)]
    await asyncio.to_thread(subprocess.run, command, check=True, env=environment)


async def _fetch(url: str, target: Path) -> None:
    await asyncio.to_thread(target.mkdir)
    async with Git.open(target.parent / "mirrors") as git:
        await GitRemote(git, Address.parse(url), MAIN).fetch(target)


async def _second_fetch(url: str, repository: Repository, files: dict[str, str], folder: Path) -> float:
    best = 9e9
    async with Git.open(folder / "mirrors") as git:
        remote = GitRemote(git, Address.parse(url), MAIN)
        for number in range(RUNS + 1):
            repository.fast_commit({**files, "apps/0/0.yaml": f"number: {number}\n"})
            target = Path(tempfile.mkdtemp(dir=folder))
            tree = target / "tree"
            await asyncio.to_thread(tree.mkdir)
            begun = time.perf_counter()
            await remote.fetch(tree)
            store = ArtifactStore(target / "store", address="bench")
            await store.put_tree(_owner(), "x.tar.gz", tree, revision="main")
            if number:
                best = min(best, time.perf_counter() - begun)
    return best


async def _polls(folder: Path) -> None:
    with started("canned", folder) as server:
        urls = [f"http://127.0.0.1:{server.port}/{number}.git" for number in range(SOURCES)]
        async with Git.open(folder / "mirrors") as git:
            remotes = [GitRemote(git, Address.parse(url), MAIN) for url in urls]
            first = await _polled(remotes)
            again = min([await _polled(remotes) for _ in range(RUNS)])
        begun = time.perf_counter()
        for url in urls[:SAMPLE]:
            await asyncio.to_thread(
                subprocess.run, ["git", "ls-remote", url, "refs/heads/main"], check=True, capture_output=True
            )
        process = (time.perf_counter() - begun) / SAMPLE
        # Each source is asked twice the first time, and the peer always asks twice.
        count = (server.requests() - 2 * SAMPLE - 2 * SOURCES) / RUNS / SOURCES
    told = f"{again:.2f} s, {count:.0f} request each ({first:.2f} s the first time)"
    print(f"  poll of {SOURCES} sources, nothing new: {told}")
    print(f"  git ls-remote, one after the other: {process * SOURCES:.1f} s, {process * SOURCES / again:.0f}x")


async def _polled(remotes: list[GitRemote]) -> float:
    gate = asyncio.Semaphore(AT_ONCE)

    async def poll(remote: GitRemote) -> None:
        async with gate:
            assert await remote.resolve() == f"main@sha1:{HASH.decode()}"

    begun = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for remote in remotes:
            group.create_task(poll(remote))
    return time.perf_counter() - begun


def _owner() -> ObjectRef:
    return ObjectRef(group="source.toolkit.fluxcd.io", kind="GitRepository", namespace="bench", name="app")
