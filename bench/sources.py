"""Sources: a poll in which nothing changed, packing, and memory over many fetches.

The controller and its store run in this process; an embedded cluster and one HTTP server that plays all remotes run
in processes of their own. Packing is compared with GNU tar and gzip at the same level.
"""

from __future__ import annotations

import asyncio
import gc
import io
import os
import random
import subprocess
import sys
import tempfile
import time
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import aiohttp
import structlog

from bench.embedded import embedded
from penstock.api import crd, decode
from penstock.api.gitrepository import GitRepository
from penstock.controllers.sources import Setup, SourceKind, Surroundings, source_controller
from penstock.kube import WatchCache, connect, load, wait_synced
from penstock.kube.resources import ObjectRef
from penstock.paths import pack
from penstock.paths.ignore import rules_of
from penstock.runtime.announcing import Announcer
from penstock.runtime.metrics import Metrics
from penstock.sources import Fetched, Remote
from penstock.sources.store import ArtifactStore, Scratch
from tests.definitions import define

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from penstock.kube import Client, Event
    from penstock.kube.resources import Object
    from penstock.runtime.controller import Controller

SOURCES = 1_000
FILES = 10_000
FETCHES = 1_000
NAMESPACE = "default"

REMOTE = """
import asyncio
from aiohttp import web

asked = 0

async def answer(request):
    global asked
    if request.path == "/asked":
        return web.Response(text=str(asked))
    asked += 1
    return web.Response(text="main@sha1:" + "1" * 40)

async def main():
    runner = web.ServerRunner(web.Server(answer, access_log=None))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=1024).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, __import__("sys").stdin.read)

asyncio.run(main())
"""


class Silent:
    """Takes events and forgets them."""

    def record(self, event: Event) -> None:
        del event


class Place:
    """A remote whose revision is one GET away."""

    def __init__(self, session: aiohttp.ClientSession, url: str, tree: dict[str, str], revision: str = "") -> None:
        self._session, self._url, self._tree, self._revision = session, url, tree, revision

    async def resolve(self) -> str | None:
        if self._revision:
            return self._revision
        async with self._session.get(self._url) as answer:
            return await answer.text()

    async def fetch(self, into: Path) -> Fetched:
        await asyncio.to_thread(_write, into, self._tree)
        return Fetched(revision=await self.resolve() or "", summary="commit 'Bench'")


class Kind(SourceKind[GitRepository]):
    """GitRepositories of the benchmark."""

    name = "GitRepository"

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self._session, self._url = session, url
        self.tree = {"a.yaml": "a: 1\n"}
        self.revision = ""

    def decode(self, obj: Object) -> GitRepository:
        return decode(obj, GitRepository)

    @asynccontextmanager
    async def open(self, source: GitRepository, around: Surroundings) -> AsyncGenerator[Remote]:
        del around
        yield Place(self._session, f"{self._url}/{source.metadata.name}", self.tree, self.revision)

    def filename(self, source: GitRepository, revision: str) -> str:
        del source
        return f"{revision.rpartition(':')[2]}.tar.gz"


def main() -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    _packing()
    asyncio.run(_controllers())


def _packing() -> None:
    chance = random.Random(1)  # noqa: S311 - the same files each time
    with tempfile.TemporaryDirectory() as name:
        tree = Path(name, "tree")
        for number in range(FILES):
            path = tree / f"team-{number % 40}" / f"app-{number // 100}" / f"file-{number}.yaml"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(f"key{chance.randrange(1000)}: {chance.randrange(10**6)}\n" for _ in range(50)))
        begun = time.perf_counter()
        out = io.BytesIO()
        pack(tree, out, leaving_out=rules_of(tree))
        ours = time.perf_counter() - begun
        begun = time.perf_counter()
        command = f"tar -C {tree} -cf - . | gzip -6 > {name}/peer.tar.gz"
        subprocess.run(["sh", "-c", command], check=True)  # noqa: S607 - the peers of this machine
        peer = time.perf_counter() - begun
    size = len(out.getvalue()) / 1e6
    print(f"  pack of {FILES} files: {ours:.2f} s ({size:.1f} MB); tar | gzip -6: {peer:.2f} s ({ours / peer:.1f} x)")


async def _controllers() -> None:
    async with AsyncExitStack() as opened:
        remote = await asyncio.create_subprocess_exec(
            sys.executable, "-c", REMOTE, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        assert remote.stdout is not None
        assert remote.stdin is not None
        opened.push_async_callback(remote.wait)
        opened.callback(remote.stdin.close)
        url = f"http://127.0.0.1:{int(await remote.stdout.readline())}"
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        session = await opened.enter_async_context(aiohttp.ClientSession())
        plane = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        await opened.enter_async_context(embedded(plane))
        client = await opened.enter_async_context(connect(await asyncio.to_thread(load, plane / "kubeconfig")))
        scratch = await opened.enter_async_context(Scratch.below(folder / "scratch"))
        store = ArtifactStore(folder / "store", address="bench")
        await store.open()
        await define(client, crd("GitRepository"))
        kind = Kind(session, url)
        metrics = Metrics(process=False)
        setup = Setup(client=client, store=store, scratch=scratch, announcer=Announcer(Silent()), metrics=metrics)
        cache: WatchCache[Object] = WatchCache(client, kind.resource)
        controller = source_controller(kind, cache, setup)
        group = await opened.enter_async_context(asyncio.TaskGroup())
        running = [group.create_task(cache.run())]
        await wait_synced([cache], within=60)
        running.append(group.create_task(controller.run()))
        await _first(client, kind, controller)
        await _poll(client, kind, controller, session, url)
        await _fetches(kind, controller)
        for task in running:
            task.cancel()


async def _first(client: Client, kind: Kind, controller: Controller) -> None:
    begun = time.perf_counter()
    names = iter(range(SOURCES))

    async def create() -> None:
        for number in names:
            spec = {"url": "https://git.example.com/x", "interval": "1h"}
            body = {"metadata": {"name": f"s-{number}", "namespace": NAMESPACE}, "spec": spec}
            described = {"apiVersion": kind.resource.api_version, "kind": kind.name, **body}
            await client.create(kind.resource, described, namespace=NAMESPACE)

    async with asyncio.TaskGroup() as group:
        for _ in range(16):
            group.create_task(create())
    await _idle(controller, SOURCES)
    print(f"  {SOURCES} new sources created and stored on the embedded cluster: {time.perf_counter() - begun:.1f} s")


async def _poll(client: Client, kind: Kind, controller: Controller, session: aiohttp.ClientSession, url: str) -> None:
    objects = (await client.list(kind.resource)).items
    before = await _asked(session, url)
    processor = time.process_time()
    begun = time.perf_counter()
    for obj in objects:
        controller.add(ObjectRef(kind.resource.group, kind.name, NAMESPACE, obj["metadata"]["name"]))
    await _idle(controller, SOURCES)
    took, busy = time.perf_counter() - begun, time.process_time() - processor
    requests = await _asked(session, url) - before
    assert _versions((await client.list(kind.resource)).items) == _versions(objects), "nothing changed, so no writes"
    print(
        f"  poll of {SOURCES} sources without a change: {took:.2f} s ({busy:.2f} s of CPU), {requests} remote requests"
    )


def _versions(objects: list[Object]) -> dict[str, str]:
    return {obj["metadata"]["name"]: obj["metadata"]["resourceVersion"] for obj in objects}


async def _fetches(kind: Kind, controller: Controller) -> None:
    """Fetch again and again for one source, each time something else, and look at the memory."""
    first = ObjectRef(kind.resource.group, kind.name, NAMESPACE, "s-0")
    figures: list[float] = []
    for number in range(FETCHES):
        kind.revision = f"main@sha1:{number:040x}"
        kind.tree = {f"f{one}": os.urandom(2000).hex() for one in range(20)}
        controller.add(first)
        await _idle(controller, SOURCES)
        if number % (FETCHES // 10) == FETCHES // 10 - 1:
            gc.collect()
            figures.append(_resident())
    grown = figures[-1] - figures[2]
    told = ", ".join(f"{figure:.0f}" for figure in figures)
    print(f"  memory over {FETCHES} fetches: {told} MB; grown by {grown:.1f} MB since the third figure")


async def _idle(controller: Controller, delayed: int) -> None:
    """Until every source waits for its interval."""
    while controller.queue.busy or controller.queue.runs or controller.queue.delayed < delayed:  # noqa: ASYNC110
        await asyncio.sleep(0.005)


async def _asked(session: aiohttp.ClientSession, url: str) -> int:
    async with session.get(f"{url}/asked") as answer:
        return int(await answer.text())


def _write(tree: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        (tree / name).write_text(content)


def _resident() -> float:
    """Megabytes of memory that are this process's own share (PSS)."""
    for line in Path("/proc/self/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    raise AssertionError("the kernel does not tell")
