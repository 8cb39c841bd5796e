"""1,000 Kustomizations of four objects, from an artifact to all Ready, against the floor of the same requests.

    python -m bench kustomizations

Each side has a new control plane with all its controllers, fsync off. The clock starts when the process is ready and
the Kustomizations are there, and stops when the last one is Ready. Memory is the most that the process and its workers
had together (PSS). Events that are still to be posted then are not in our time; the floor posts all of its own.
`KUSTOMIZATIONS` is another number of them, `FLAGS` are more flags for the controller.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import aiohttp

from bench.kustomizations_floor import floor
from bench.kustomizations_load import COUNT, NAMESPACE, REPOSITORIES, asked, files, prepared
from penstock.controllers.kustomization.parts import KUSTOMIZATIONS
from penstock.kube import WatchCache
from tests.controllers.kustomization.shelf import shelf
from tests.ports import free_port
from tests.waiting import following

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from penstock.kube import Client, Object
    from tests.controllers.kustomization.shelf import Shelf
    from tests.controlplane.plane import ControlPlane

TICKS = os.sysconf("SC_CLK_TCK")
FLAGS = os.environ.get("FLAGS", "").split()
REVISION = "main@sha1:" + "1" * 40


@dataclass
class Figures:
    """What a run took."""

    seconds: float = 0.0
    cpu: float = 0.0
    memory: float = 0.0
    requests: Counter[str] = field(default_factory=Counter[str])


def main() -> None:
    asyncio.run(_main())


async def _main() -> None:
    bare, bare_cpu, bare_requests = await _floor()
    ours = await _ours()
    print(f"  {COUNT} Kustomizations of 4 objects, on {os.cpu_count()} cores shared with the control plane")
    print(f"  bare client: {bare:.1f} s, {bare_cpu:.1f} s of CPU, {_per(bare_requests)} requests a Kustomization")
    print(
        f"  penstock:    {ours.seconds:.1f} s, {ours.cpu:.1f} s of CPU, {_per(ours.requests)} requests a Kustomization,"
        f" {ours.memory:.0f} MB"
    )
    print(f"  ratio: {ours.seconds / bare:.2f} x the floor")
    for what in sorted(ours.requests.keys() | bare_requests.keys()):
        counts = bare_requests[what] / COUNT, ours.requests[what] / COUNT
        if max(counts) >= 0.01:
            print(f"    {what:32} {counts[0]:6.2f} {counts[1]:6.2f}")


def _per(requests: Counter[str]) -> str:
    """Without what the controllers of the control plane do meanwhile."""
    own = ("apply ", "dry-run ", "patch kustomizations", "get kustomizations", "post events")
    return f"{sum(count for what, count in requests.items() if what.startswith(own)) / COUNT:.1f}"


async def _floor() -> tuple[float, float, Counter[str]]:
    async with prepared() as (plane, _):
        before = await asked(plane)
        seconds, cpu = await floor(plane)
        return seconds, cpu, await asked(plane) - before


async def _ours() -> Figures:
    figures = Figures()
    async with prepared() as (plane, client), shelf() as kept:
        await _source(client, kept)
        seen: WatchCache[str] = WatchCache(client, KUSTOMIZATIONS, namespace=NAMESPACE, transform=_ready)
        async with following(seen) as until:
            before = await asked(plane)
            async with _controller(plane) as process:
                begun, cpu = time.perf_counter(), _cpu(process)
                async with _watched(process, figures):
                    await until(lambda: sum(one == "True" for one in seen.values()) == COUNT, within=600)
                    figures.seconds = time.perf_counter() - begun
                figures.cpu = _cpu(process) - cpu
                figures.requests = await asked(plane) - before
    return figures


async def _source(client: Client, kept: Shelf) -> None:
    url, digest = kept.put(files())
    artifact = {
        "url": url,
        "digest": digest,
        "revision": REVISION,
        "path": "apps.tar.gz",
        "lastUpdateTime": "2026-01-01T00:00:00Z",
    }
    body = {
        "apiVersion": REPOSITORIES.api_version,
        "kind": "GitRepository",
        "metadata": {"name": "apps", "namespace": NAMESPACE},
        "spec": {"url": "https://git.example/apps", "interval": "1h"},
    }
    await client.create(REPOSITORIES, body)
    await client.patch(REPOSITORIES, "apps", NAMESPACE, {"status": {"artifact": artifact}}, subresource="status")


def _ready(obj: Object) -> str:
    conditions = (obj.get("status") or {}).get("conditions") or ()
    return next((str(one["status"]) for one in conditions if one["type"] == "Ready"), "")


@asynccontextmanager
async def _controller(plane: ControlPlane) -> AsyncGenerator[int]:
    """The command, ready to work; the answer is its process id."""
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "penstock", "controller", f"--kubeconfig={plane.kubeconfig}"),
            *("--components=kustomize", f"--storage-path={folder}", f"--health-addr=127.0.0.1:{port}"),
            *("--metrics-addr=0", "--log-level=error", *FLAGS),
            env={**os.environ, "RUNTIME_NAMESPACE": NAMESPACE},
        )
        try:
            async with aiohttp.ClientSession() as session, asyncio.timeout(60):
                while not await _answers(session, f"http://127.0.0.1:{port}/readyz"):  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
            yield process.pid
        finally:
            process.send_signal(signal.SIGTERM)
            await asyncio.wait_for(process.wait(), 60)


async def _answers(session: aiohttp.ClientSession, url: str) -> bool:
    try:
        async with session.get(url) as response:
            return response.status == 200
    except aiohttp.ClientError:
        return False


@asynccontextmanager
async def _watched(process: int, figures: Figures) -> AsyncGenerator[None]:
    """Take note of the most memory that the processes had while the body ran."""

    async def look() -> None:
        while True:
            figures.memory = max(figures.memory, sum(_memory(one) for one in _tree(process)))
            await asyncio.sleep(0.5)

    task = asyncio.create_task(look())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


def _tree(process: int) -> list[int]:
    """The process and all below it."""
    found = [process]
    for one in found:
        for path in Path(f"/proc/{one}/task").glob("*/children"):
            found += [int(child) for child in _text(path).split()]
    return found


def _memory(process: int) -> float:
    """Megabytes."""
    for line in _text(Path(f"/proc/{process}/smaps_rollup")).splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    return 0.0


def _cpu(process: int) -> float:
    """Seconds of CPU of all processes, and of those that have ended."""
    total = 0
    for one in _tree(process):
        fields = _text(Path(f"/proc/{one}/stat")).rpartition(")")[2].split()
        total += sum(map(int, fields[11:15])) if fields else 0
    return total / TICKS


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:  # it has ended
        return ""
