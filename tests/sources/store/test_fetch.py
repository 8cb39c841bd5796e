"""Fetching artifacts, and trees that are shared."""

from __future__ import annotations

import asyncio
import gzip
import os
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

import msgspec
import pytest
from aiohttp import web

from penstock.paths import ArchiveError, Limits
from penstock.runtime.delays import Backoff
from penstock.runtime.health import Address
from penstock.sources.store import (
    ArtifactFetcher,
    ArtifactGone,
    ArtifactServer,
    ArtifactStore,
    DigestMismatch,
    FetchError,
    Scratch,
    Trees,
)
from tests.sources.store.artifacts import OWNER, tree

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable
    from pathlib import Path

    from penstock.api.meta import Artifact

    Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

SOON = Backoff(base=0.001, cap=0.002)


class World:
    """A store behind a server that a test can make misbehave."""

    def __init__(self, store: ArtifactStore, artifact: Artifact, fetcher: ArtifactFetcher) -> None:
        self.store, self.artifact, self.fetcher = store, artifact, fetcher
        self.asked = 0
        self.answers: list[Handler] = []
        """What comes before the right answer."""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked += 1
        if self.answers:
            return await self.answers.pop(0)(request)
        content = await asyncio.to_thread(self.store.file(self.artifact).read_bytes)
        return web.Response(body=content)


@asynccontextmanager
async def world(tmp_path: Path, **options: object) -> AsyncGenerator[World]:
    store = ArtifactStore(tmp_path / "store", address="test")
    artifact = await store.put_tree(OWNER, "1.tar.gz", tree(tmp_path / "files", a="1", d__b="2"), revision="x")
    app = web.Application()
    async with ArtifactFetcher.open(**{"backoff": SOON, **options}) as fetcher:
        made = World(store, artifact, fetcher)
        app.router.add_get("/{path:.*}", made.answer)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        port = runner.addresses[0][1]
        made.artifact = msgspec.structs.replace(artifact, url=f"http://127.0.0.1:{port}/{artifact.path}")
        try:
            yield made
        finally:
            await runner.cleanup()


def status(code: int, **headers: str) -> Handler:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(status=code, headers=headers)

    return answer


async def cut_off(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Length": "100"})
    await response.prepare(request)
    await response.write(b"part")
    assert request.transport is not None
    request.transport.close()
    return response


def body(content: bytes) -> Handler:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(body=content)

    return answer


async def endless(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    try:
        while True:
            await response.write(bytes(1 << 16))
    except ConnectionError:
        return response


@pytest.mark.scenario("22.11 Fetcher")
@pytest.mark.scenario("sources-48")
@pytest.mark.parametrize(
    ("answers", "asked"),
    [
        pytest.param([], 1, id="at once"),
        pytest.param([status(500), status(503), status(429)], 4, id="after some trouble"),
        pytest.param([cut_off], 2, id="after a connection that broke"),
    ],
)
async def test_fetched(tmp_path: Path, answers: list[Handler], asked: int) -> None:
    async with world(tmp_path) as here:
        here.answers = answers
        await here.fetcher.fetch(here.artifact, tmp_path / "got")
        assert (tmp_path / "got").read_bytes() == here.store.file(here.artifact).read_bytes()
        assert here.asked == asked


@pytest.mark.scenario("sources-48")
@pytest.mark.parametrize(
    ("answers", "error", "told"),
    [
        pytest.param([status(404)], ArtifactGone, "is not found", id="404"),
        pytest.param([status(403)], FetchError, "status 403", id="403"),
        pytest.param([status(302, Location="http://169.254.169.254/")], FetchError, "redirect", id="a redirect"),
        pytest.param([body(b"x")], DigestMismatch, "has the digest sha256:2d71", id="another content"),
        pytest.param([body(bytes(5000))], FetchError, "larger than", id="more than was promised"),
        pytest.param([endless], FetchError, "larger than", id="without an end"),
        pytest.param([status(500)] * 3, FetchError, "after 3 tries: the server answered 500", id="trouble for good"),
        pytest.param([cut_off] * 3, FetchError, "after 3 tries", id="truncated for good"),
    ],
)
async def test_refused(tmp_path: Path, answers: list[Handler], error: type[FetchError], told: str) -> None:
    """A5: whatever the network does, there is either the right file or none."""
    async with world(tmp_path, tries=3) as here:
        here.answers = list(answers)
        with pytest.raises(error, match=told):
            await here.fetcher.fetch(here.artifact, tmp_path / "got")
        assert not (tmp_path / "got").exists()


@pytest.mark.parametrize(
    ("digest", "expected"),
    [
        pytest.param(None, "", id="the same content elsewhere is fetched from there"),
        pytest.param(f"sha256:{'0' * 64}", "no longer what its source offers", id="another content ends the tries"),
    ],
)
async def test_one_that_is_served_elsewhere_by_now(tmp_path: Path, digest: str | None, expected: str) -> None:
    async with world(tmp_path, tries=3) as here:
        now = msgspec.structs.replace(here.artifact, digest=digest or here.artifact.digest)
        gone = msgspec.structs.replace(here.artifact, url=f"http://127.0.0.1:1/{here.artifact.path}")
        told = ""
        try:
            await here.fetcher.fetch(gone, tmp_path / "got", latest=lambda: now)
        except ArtifactGone as error:
            told = str(error)
        assert expected in told
        assert bool(told) is bool(expected)
        assert (tmp_path / "got").exists() is not bool(expected)


@pytest.mark.parametrize("url", ["", "file:///etc/passwd", "ftp://x/y", "http://", "gopher://x"])
async def test_addresses_that_are_refused(tmp_path: Path, url: str) -> None:
    async with world(tmp_path) as here:
        with pytest.raises(FetchError, match="no address over HTTP"):
            await here.fetcher.fetch(msgspec.structs.replace(here.artifact, url=url), tmp_path / "got")


@pytest.mark.scenario("sources-48")
async def test_another_host_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = ArtifactStore(tmp_path / "store", address="source-controller.flux-system.svc.cluster.local.")
    artifact = await store.put_tree(OWNER, "1.tar.gz", tree(tmp_path / "files", a="1"), revision="x")
    async with ArtifactServer(store).serving(Address("127.0.0.1", 0)) as address:
        monkeypatch.setenv("SOURCE_CONTROLLER_LOCALHOST", str(address))
        async with ArtifactFetcher.open() as fetcher:
            await fetcher.fetch(artifact, tmp_path / "got")
    assert (tmp_path / "got").read_bytes() == store.file(artifact).read_bytes()


async def test_a_bare_digest_is_a_sha256(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        bare = msgspec.structs.replace(here.artifact, digest=here.artifact.digest.removeprefix("sha256:"))
        await here.fetcher.fetch(bare, tmp_path / "got")


# Trees


@asynccontextmanager
async def trees(here: World, tmp_path: Path, *, local: bool, **options: object) -> AsyncGenerator[Trees]:
    async with Scratch.below(tmp_path / "scratch") as scratch:
        yield Trees(scratch, here.fetcher, store=here.store if local else None, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("local", [True, False], ids=["from our own store", "over HTTP"])
async def test_a_tree_is_unpacked_once_for_all(tmp_path: Path, local: bool) -> None:
    async with world(tmp_path) as here, trees(here, tmp_path, local=local) as shared, AsyncExitStack() as used:
        found = [await used.enter_async_context(shared.use(here.artifact)) for _ in range(3)]
        assert len(set(found)) == 1
        assert (found[0] / "d" / "b").read_text() == "2"
        assert here.asked == (0 if local else 1)


async def test_our_own_store_gets_it_while_nobody_else_answers(tmp_path: Path) -> None:
    """After a restart the store may be empty, and the status still names what the source is about to make again."""
    async with world(tmp_path) as here, trees(here, tmp_path, local=True) as shared:
        file, aside = here.store.file(here.artifact), tmp_path / "aside"
        file.rename(aside)
        gone = msgspec.structs.replace(here.artifact, url="http://127.0.0.1:1/gone.tar.gz")
        moved: dict[Path, asyncio.Task[Path]] = {}

        def latest() -> None:
            if aside not in moved:
                moved[aside] = asyncio.create_task(asyncio.to_thread(aside.rename, file))

        async with shared.use(gone, latest=latest) as root:
            assert (root / "d" / "b").read_text() == "2"
        assert here.asked == 0


async def test_many_at_the_same_time_unpack_once(tmp_path: Path) -> None:
    async with world(tmp_path) as here, trees(here, tmp_path, local=False) as shared:

        async def read() -> str:
            async with shared.use(here.artifact) as path:
                return (path / "a").read_text()

        assert await asyncio.gather(*(read() for _ in range(20))) == ["1"] * 20
        assert here.asked == 1


async def test_a_file_of_ours_that_changed_is_fetched(tmp_path: Path) -> None:
    """The status may be older or newer than our file: only the digest says what is meant."""
    async with world(tmp_path) as here, trees(here, tmp_path, local=True) as shared:
        content = here.store.file(here.artifact).read_bytes()
        here.answers = [body(content)]
        await here.store.put_tree(OWNER, "1.tar.gz", tree(tmp_path / "new", a="new"), revision="x")
        async with shared.use(here.artifact) as path:
            assert (path / "a").read_text() == "1"
        assert here.asked == 1


async def test_idle_trees_are_kept_while_there_is_room(tmp_path: Path) -> None:
    async with world(tmp_path) as here, trees(here, tmp_path, local=True, spare=2) as shared:
        second = await here.store.put_tree(OWNER, "2.tar.gz", tree(tmp_path / "more", a="12"), revision="y")
        async with shared.use(here.artifact) as first:
            pass
        assert first.exists()
        async with shared.use(second) as other:
            assert first.exists()
        assert (first.exists(), other.exists()) == (False, True), "the oldest goes"
        async with shared.use(here.artifact) as again:
            assert (again / "a").read_text() == "1"
        assert not other.exists()


async def test_a_tree_in_use_stays(tmp_path: Path) -> None:
    async with world(tmp_path) as here, trees(here, tmp_path, local=True, spare=0) as shared:
        async with shared.use(here.artifact) as path:
            async with shared.use(here.artifact):
                pass
            assert (path / "a").exists()
        assert not path.exists()


async def test_a_failure_is_not_remembered(tmp_path: Path) -> None:
    async with world(tmp_path, tries=1) as here, trees(here, tmp_path, local=False) as shared:
        here.answers = [status(500)]
        with pytest.raises(FetchError):
            async with shared.use(here.artifact):
                pytest.fail("there is nothing to use")
        async with shared.use(here.artifact) as path:
            assert (path / "a").read_text() == "1"


async def test_hostile_artifacts_leave_nothing(tmp_path: Path) -> None:
    async with world(tmp_path) as here, trees(here, tmp_path, local=True, limits=Limits(content=1)) as shared:
        with pytest.raises(ArchiveError, match="more than 1 bytes"):
            async with shared.use(here.artifact):
                pytest.fail("too large")
        file = tmp_path / "x"
        file.write_bytes(gzip.compress(b"no archive" * 100))
        bad = await here.store.put_file(OWNER, "bad.tar.gz", file, revision="z")
        with pytest.raises(ArchiveError):
            async with shared.use(bad):
                pytest.fail("no archive")
        [scratch] = (tmp_path / "scratch").iterdir()
        assert [path.name for path in scratch.iterdir()] == [".lock"]


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


async def test_scratch_of_dead_processes_is_swept(tmp_path: Path) -> None:
    async with Scratch.below(tmp_path) as alive:
        (tmp_path / "scratch-dead").mkdir()
        (tmp_path / "scratch-dead" / ".lock").touch()
        (tmp_path / "scratch-foreign").mkdir()
        async with Scratch.below(tmp_path) as second:
            assert names(tmp_path) == {alive.root.name, second.root.name, "scratch-foreign"}
            async with second.directory("x") as path:
                assert path.stat().st_mode & 0o777 == 0o700
                (path / "file").touch()
            assert not path.exists()
    assert names(tmp_path) == {"scratch-foreign"}


async def test_hostile_directories_are_removed(tmp_path: Path) -> None:
    """A4: a thousand deep, and forbidden to enter."""
    async with Scratch.below(tmp_path) as scratch:
        async with scratch.directory() as room:
            for depth in range(1, 1201):
                os.mkdir(str(room) + "/d" * depth)  # noqa: PTH102 - pathlib takes seconds for it
            (room / "closed").mkdir()
            (room / "closed" / "file").touch()
            (room / "closed").chmod(0)
            (room / "link").symlink_to(scratch.root)
        assert not room.exists()
        assert scratch.root.exists(), "what a link leads to stays"
