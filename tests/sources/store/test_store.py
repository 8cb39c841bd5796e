"""The artifact store: what it keeps, what it notices, and what it throws away."""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import os
import random
import stat
import sys
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec
import pytest

from penstock.errors import UsageError
from penstock.runtime.health import Address
from penstock.sources.store import (
    ArtifactDamaged,
    ArtifactMissing,
    ArtifactStore,
    Retention,
    StoreError,
    advertised,
)
from penstock.sources.store.files import UNFINISHED
from tests.sources.store.artifacts import NAME, OTHER, OWNER, REVISION, tree

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path


@contextmanager
def held(path: Path) -> Generator[None]:
    """What another process does to a file that it is writing."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


async def test_an_artifact(store: ArtifactStore, files: Path) -> None:
    artifact = await store.put_tree(OWNER, NAME, files, revision=REVISION, metadata={"made": "by hand"})
    file = store.root / "gitrepository" / "team" / "apps" / NAME
    content = file.read_bytes()
    assert store.file(artifact) == file
    assert artifact.path == f"gitrepository/team/apps/{NAME}"
    assert artifact.url == f"http://source-controller.flux-system/gitrepository/team/apps/{NAME}"
    assert artifact.digest == f"sha256:{hashlib.sha256(content).hexdigest()}"
    assert (artifact.size, artifact.revision, artifact.metadata) == (len(content), REVISION, {"made": "by hand"})
    assert artifact.last_update_time == datetime(2027, 1, 15, 8, 0, tzinfo=UTC)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert {stat.S_IMODE(parent.stat().st_mode) for parent in list(file.parents)[:4]} == {0o700}
    await store.check(artifact)


async def test_a_file_is_kept_as_it_is(store: ArtifactStore, tmp_path: Path) -> None:
    (tmp_path / "layer").write_bytes(b"\x00layer")
    name = "sha256:" + "a" * 64 + ".tar.gz"
    artifact = await store.put_file(OWNER, name, tmp_path / "layer", revision="latest@sha256:" + "a" * 64)
    assert store.file(artifact).read_bytes() == b"\x00layer"
    assert artifact.digest == "sha256:" + hashlib.sha256(b"\x00layer").hexdigest()
    assert artifact.url.endswith(f"/{name}"), "the colon stays as it is"


@pytest.mark.parametrize("algorithm", ["sha256", "sha384", "sha512", "sha1"])
async def test_algorithms(tmp_path: Path, files: Path, algorithm: str) -> None:
    store = ArtifactStore(tmp_path / "store", address="test", algorithm=algorithm)
    artifact = await store.put_tree(OWNER, NAME, files, revision=REVISION)
    content = store.file(artifact).read_bytes()
    assert artifact.digest == f"{algorithm}:{hashlib.new(algorithm, content).hexdigest()}"
    await ArtifactStore(tmp_path / "store", address="test").check(artifact)


def test_an_unknown_algorithm_is_told_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'md5' is no digest algorithm"):
        ArtifactStore(tmp_path, address="test", algorithm="md5")


@pytest.mark.scenario("sources-5")
@pytest.mark.scenario("sources-6")
async def test_what_a_check_notices(store: ArtifactStore, files: Path) -> None:
    artifact = await store.put_tree(OWNER, NAME, files, revision=REVISION)
    file = store.file(artifact)
    await store.check(msgspec.structs.replace(artifact, digest=""))
    content = file.read_bytes()
    file.write_bytes(content[:-1] + b"x")
    with pytest.raises(ArtifactDamaged, match="computed digest doesn't match"):
        await store.check(artifact)
    file.unlink()
    with pytest.raises(ArtifactMissing):
        await store.check(artifact)
    file.symlink_to("/etc/passwd")
    with pytest.raises(ArtifactMissing):
        await store.check(artifact)
    file.unlink()
    file.mkdir()
    with pytest.raises(ArtifactMissing):
        await store.check(artifact)


async def test_an_unchanged_file_is_not_read_again(
    store: ArtifactStore, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    artifact = await store.put_tree(OWNER, NAME, files, revision=REVISION)
    monkeypatch.setattr("penstock.sources.store.digests.of_file", lambda *_: pytest.fail("read again"))
    await store.check(artifact)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "../../etc/passwd",
        "a/b/c",
        "a/b/c/d/e",
        "a/b/../d",
        "a/b/./d",
        "/a/b/c",
        "a/b/c/.hidden",
        "a/b/c\\d/e",
        "a//b/c",
    ],
)
async def test_a_path_that_is_not_ours_is_missing(store: ArtifactStore, files: Path, path: str) -> None:
    artifact = await store.put_tree(OWNER, NAME, files, revision=REVISION)
    with pytest.raises(ArtifactMissing):
        await store.check(msgspec.structs.replace(artifact, path=path))


async def test_an_artifact_of_somebody_else_is_missing(store: ArtifactStore, files: Path) -> None:
    """A32: a status names a path, and whoever may write that status must not reach other tenants' files with it."""
    artifact = await store.put_tree(OWNER, NAME, files, revision=REVISION)
    assert store.of(OWNER, artifact) == store.file(artifact)
    with pytest.raises(ArtifactMissing, match="is no artifact of GitRepository/other/apps"):
        store.of(OTHER, artifact)


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", ".hidden", "x.lock", f"x{UNFINISHED}", "a" * 256])
async def test_names_that_are_refused(store: ArtifactStore, files: Path, name: str) -> None:
    with pytest.raises(StoreError) as caught:
        await store.put_tree(OWNER, name, files, revision=REVISION)
    assert (caught.value.reason, caught.value.condition) == ("InvalidPath", "StorageOperationFailed")
    with pytest.raises(StoreError):
        await store.put_tree(OWNER._replace(name=name and "../" + name), NAME, files, revision=REVISION)


async def test_a_failed_write_leaves_the_old_file(store: ArtifactStore, files: Path, tmp_path: Path) -> None:
    artifact = await store.put_tree(OWNER, NAME, files, revision=REVISION)
    with pytest.raises(StoreError, match="unable to archive artifact to storage") as caught:
        await store.put_tree(OWNER, NAME, tmp_path / "missing", revision=REVISION)
    assert caught.value.reason == "ArchiveOperationFailed"
    await store.check(artifact)
    assert sorted(path.name for path in store.file(artifact).parent.iterdir()) == [
        f".{NAME}.record",
        NAME,
        f"{NAME}.lock",
    ]


async def test_two_writers_of_one_file(store: ArtifactStore, files: Path) -> None:
    artifact = await store.put_tree(OWNER, NAME, files, revision=REVISION)
    lock = store.file(artifact).with_name(f"{NAME}.lock")
    with held(lock), pytest.raises(StoreError, match="somebody else is writing") as caught:
        await store.put_tree(OWNER, NAME, files, revision=REVISION)
    assert caught.value.reason == "AcquireLockFailed"
    await store.put_tree(OWNER, NAME, files, revision=REVISION)


@pytest.mark.scenario("sources-4")
@pytest.mark.scenario("sources-8")
@pytest.mark.parametrize(
    ("ages", "retention", "kept"),
    [
        pytest.param([100, 200, 300], Retention(60, 2), [], id="all older than the time to live"),
        pytest.param([10, 20, 30], Retention(60, 2), [10], id="too many, though young"),
        pytest.param([10, 20, 30], Retention(60, 3), [10, 20], id="one more is kept"),
        pytest.param([10, 20, 30], Retention(60, 10), [10, 20, 30], id="enough room"),
        pytest.param([10, 100, 20], Retention(60, 3), [10, 20], id="by age, not by name"),
        pytest.param([10, 100], Retention(60, 1), [], id="the current one only"),
        pytest.param([10, 100], Retention(60, 0), [], id="the current one stays whatever they say"),
        pytest.param([], Retention(60, 2), [], id="nothing to do"),
    ],
)
async def test_garbage(tmp_path: Path, files: Path, ages: list[int], retention: Retention, kept: list[int]) -> None:
    store = ArtifactStore(tmp_path / "store", address="test", retention=retention, now=lambda: 1_000_000.0)
    artifact = await store.put_tree(OWNER, NAME, files, revision=REVISION)
    current = store.file(artifact)
    os.utime(current, (0, 0))
    for age in ages:
        path = current.with_name(f"{age}.tar.gz")
        path.write_text("old")
        path.with_name(f"{age}.tar.gz.lock").touch()
        os.utime(path, (1_000_000 - age, 1_000_000 - age))
    await store.link(artifact, "latest.tar.gz")
    assert await store.collect(artifact) == len(ages) - len(kept)
    expected = {current.name, f"{NAME}.lock", f".{NAME}.record", "latest.tar.gz"}
    expected |= {f"{age}.tar.gz{suffix}" for age in kept for suffix in ("", ".lock")}
    assert {path.name for path in current.parent.iterdir()} == expected


@pytest.mark.scenario("sources-8")
async def test_garbage_is_collected_in_bounded_steps(
    tmp_path: Path, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = ArtifactStore(tmp_path / "store", address="test")
    artifact = await store.put_tree(OWNER, NAME, files, revision=REVISION)
    current = store.file(artifact)
    for number in range(30):
        current.with_name(f"{number}.tar.gz").touch()
        os.utime(current.with_name(f"{number}.tar.gz"), (1, 1))
    monkeypatch.setattr("penstock.sources.store.files.MOST_FILES", 10)
    first = await store.collect(artifact)
    assert 0 < first <= 10
    monkeypatch.setattr("penstock.sources.store.files.BUDGET", -1.0)
    assert await store.collect(artifact) == 0, "the time is up"


async def test_links(store: ArtifactStore, files: Path) -> None:
    artifact = await store.put_tree(OWNER, NAME, files, revision=REVISION)
    url = await store.link(artifact, "latest.tar.gz")
    assert url == "http://source-controller.flux-system/gitrepository/team/apps/latest.tar.gz"
    again = await store.put_tree(OWNER, "2.tar.gz", files, revision=REVISION)
    await store.link(again, "latest.tar.gz")
    assert (store.file(again).parent / "latest.tar.gz").readlink().name == "2.tar.gz"


async def test_removal_takes_only_its_own(store: ArtifactStore, files: Path) -> None:
    mine = await store.put_tree(OWNER, NAME, files, revision=REVISION)
    theirs = await store.put_tree(OTHER, NAME, files, revision=REVISION)
    assert await store.remove(OWNER)
    assert not store.file(mine).parent.parent.exists()
    await store.check(theirs)
    assert not await store.remove(OWNER)


async def test_the_address_changes(store: ArtifactStore, files: Path) -> None:
    artifact = await store.put_tree(OWNER, NAME, files, revision=REVISION)
    moved = ArtifactStore(store.root, address="https://artifacts.example/")
    assert moved.located(artifact) == msgspec.structs.replace(
        artifact, url=f"https://artifacts.example/{artifact.path}"
    )


@pytest.mark.parametrize(
    ("given", "listening", "expected"),
    [
        pytest.param("x.y:1", Address("", 9090), "x.y:1", id="what is given"),
        pytest.param("", Address("", 9090), "localhost:9090", id="no host"),
        pytest.param("", Address("0.0.0.0", 9090), "pod-1:9090", id="every interface"),
        pytest.param("", Address("10.0.0.1", 80), "10.0.0.1:80", id="one interface"),
        pytest.param("", Address("::1", 80), "[::1]:80", id="an IPv6 address"),
    ],
)
def test_the_advertised_address(monkeypatch: pytest.MonkeyPatch, given: str, listening: Address, expected: str) -> None:
    monkeypatch.setenv("HOSTNAME", "pod-1")
    monkeypatch.delenv("POD_IP", raising=False)
    assert advertised(given, listening=listening) == expected


@pytest.mark.parametrize(
    ("listening", "expected"),
    [
        pytest.param(Address("", 9090), "[fd00::7]:9090", id="on every interface"),
        pytest.param(Address("127.0.0.1", 9090), "127.0.0.1:9090", id="not on one that is chosen"),
    ],
)
def test_a_pod_is_reached_at_its_own_address(
    monkeypatch: pytest.MonkeyPatch, listening: Address, expected: str
) -> None:
    monkeypatch.setenv("POD_IP", "fd00::7")
    assert advertised("", listening=listening) == expected


async def test_sweeping(store: ArtifactStore, files: Path) -> None:
    artifact = await store.put_tree(OWNER, NAME, files, revision=REVISION)
    folder = store.file(artifact).parent
    (folder / f".dead{UNFINISHED}").touch()
    (folder / f".link{UNFINISHED}").symlink_to("nowhere")
    alive = folder / f".alive{UNFINISHED}"
    with held(alive):
        assert await store.open() == 2
        assert alive.exists(), "somebody is writing it"
    assert await store.open() == 1
    await store.check(artifact)


# Killed at any moment, the store heals. A small program forks writers, waits until one begins a file, and kills it
# after the seconds that it is told.

KILLER = """
import asyncio, os, signal, sys, time
from pathlib import Path
from penstock.sources.store import ArtifactStore
from tests.sources.store.artifacts import OWNER

async def write(begun, root, files):
    store = ArtifactStore(Path(root), address="test")
    number = 0
    while True:
        number += 1
        os.write(begun, b".")
        artifact = await store.put_tree(OWNER, f"{number % 3}.tar.gz", Path(files), revision="x")
        await store.link(artifact, "latest.tar.gz")
        await store.collect(artifact)

for line in sys.stdin:
    files, seconds = line.split()
    reading, writing = os.pipe()
    writer = os.fork()
    if not writer:
        asyncio.run(write(writing, *sys.argv[1:]))
    for _ in range(int(files)):
        os.read(reading, 1)
    time.sleep(float(seconds))
    os.kill(writer, signal.SIGKILL)
    os.waitpid(writer, 0)
    print("killed", flush=True)
"""


async def test_a_killed_writer_leaves_a_store_that_heals(tmp_path: Path) -> None:
    files = tree(tmp_path / "files", **{f"f{number}": os.urandom(20_000).hex() for number in range(10)})
    folder = tmp_path / "store" / "gitrepository" / "team" / "apps"
    reference = ArtifactStore(tmp_path / "reference", address="test")
    expected = (await reference.put_tree(OWNER, "x", files, revision="x")).digest
    chance = random.Random(4)
    left = 0
    killer = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", KILLER, tmp_path / "store", files),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert killer.stdin is not None
    assert killer.stdout is not None
    for _ in range(5):
        killer.stdin.write(f"{chance.randint(1, 4)} {chance.uniform(0.0, 0.03)}\n".encode())
        assert await killer.stdout.readline() == b"killed\n"
        store = ArtifactStore(tmp_path / "store", address="test")
        for path in folder.glob("*.tar.gz"):
            if path.exists():  # a link may point at what was collected since
                assert await store.digest(path.resolve()) == expected, "what has a name that is served is whole"
        left += await store.open()
        artifact = await store.put_tree(OWNER, "0.tar.gz", files, revision="x")
        await store.check(artifact)
        assert not [path for path in folder.iterdir() if path.name.endswith(UNFINISHED)]
    killer.stdin.close()
    await killer.wait()
    assert left > 0, "some writer was caught in the act"
