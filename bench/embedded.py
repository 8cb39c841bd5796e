"""The embedded cluster beside the real API server: start, memory, lists and server-side applies.

Both run as processes of their own on the same cores. The same client asks both in turns with the same requests, and
each only while the other one is at rest. The real one is an API server with etcd (fsync off) and without
controller-manager; the embedded one keeps its objects in a data directory (as durable: kill -9 loses nothing).

Applies are compared without simulated workloads, since nobody rolls Deployments out on the real side either. The CPU
time beside the rates is the servers' own (etcd counted in), which a busy machine distorts less.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import statistics
import sys
import tempfile
import time
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp
import orjson

from penstock.errors import PenstockError
from tests.controlplane.plane import controlplane

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

OBJECTS = 10_000
LISTED = 2_000
APPLIES = 1_500
ROUNDS = 3
WORKERS = 16
NAMESPACE = "bench"
MAPS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
START_WITHIN = 30.0
REST_WITHIN = 120.0
REST_STEP = 0.5
REST_SHARE = 0.15
"""The share of a core that a server at rest may use: the real one is never quite idle."""
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Server:
    """One API server and a way to ask it."""

    name: str
    session: aiohttp.ClientSession
    address: str
    token: str
    pids: tuple[int, ...]

    async def call(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> bytes:
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": content_type, "Accept-Encoding": "identity"}
        data = orjson.dumps(body) if body is not None else None
        async with self.session.request(method, self.address + path, data=data, headers=headers) as answer:
            content = await answer.read()
            assert answer.status < 300, (method, path, answer.status, content[:300])
            return content

    def memory(self) -> float:
        """Megabytes that the process holds (PSS)."""
        texts = [Path(f"/proc/{pid}/smaps_rollup").read_text() for pid in self.pids]
        lines = [line for text in texts for line in text.splitlines() if line.startswith("Pss:")]
        return sum(int(line.split()[1]) for line in lines) / 1024

    def cpu(self) -> float:
        """Seconds of processor time that it has used."""
        stats = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in self.pids]
        return sum(int(user) + int(system) for _, user, system in (stat[10:13] for stat in stats)) / TICKS

    async def rest(self) -> None:
        """Wait until it has done what its last requests made it do."""
        async with asyncio.timeout(REST_WITHIN):
            before = -1.0
            while self.cpu() - before > REST_SHARE * REST_STEP:
                before = self.cpu()
                await asyncio.sleep(REST_STEP)


def deployment(number: int, image: str) -> dict[str, Any]:
    labels = {"app": f"web-{number}"}
    container = {
        "name": "main",
        "image": image,
        "ports": [{"containerPort": 8080, "name": "http"}],
        "env": [{"name": "ONE", "value": "1"}, {"name": "TWO", "value": "2"}],
        "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": f"web-{number}", "namespace": NAMESPACE, "labels": labels},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


@asynccontextmanager
async def embedded(folder: Path, *flags: str) -> AsyncGenerator[tuple[Server, float]]:
    """An embedded cluster, and the seconds from starting the process to its first answer."""
    port = _free_port()
    started = time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "penstock", "cluster", "start", f"--data-dir={folder}", f"--port={port}", *flags),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    address = f"https://127.0.0.1:{port}"
    try:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=False)) as probe:
            async with asyncio.timeout(START_WITHIN):
                await _answers(probe, address, process)
        took = time.perf_counter() - started
        config = orjson.loads((folder / "kubeconfig").read_bytes())
        token = config["users"][0]["user"]["token"]
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=False, limit=WORKERS)) as session:
            yield Server("embedded", session, address, token, (process.pid,)), took
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


@asynccontextmanager
async def real() -> AsyncGenerator[Server]:
    async with controlplane(controllers=False) as plane:
        tls = ssl.create_default_context(cafile=plane.ca)
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=tls, limit=WORKERS)) as session:
            yield Server("real", session, plane.server, plane.token, (plane.apiserver.pid, plane.etcd.pid))


async def _answers(probe: aiohttp.ClientSession, address: str, process: asyncio.subprocess.Process) -> None:
    while True:
        assert process.returncode is None, "the embedded cluster did not start"
        with suppress(aiohttp.ClientError):
            async with probe.get(f"{address}/readyz") as answer:
                await answer.read()
                return
        await asyncio.sleep(0.005)


async def _spread(server: Server, calls: list[tuple[str, str, Any, str]]) -> float:
    """Send calls with all workers; calls a second."""
    waiting = iter(calls)

    async def work() -> None:
        for method, path, body, content_type in waiting:
            await server.call(method, path, body, content_type)

    began = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for _ in range(WORKERS):
            group.create_task(work())
    return len(calls) / (time.perf_counter() - began)


def _applies(image: str) -> list[tuple[str, str, Any, str]]:
    root = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"
    query = "fieldManager=bench&force=true"
    return [
        ("PATCH", f"{root}/web-{n}?{query}", deployment(n, image), "application/apply-patch+yaml")
        for n in range(APPLIES)
    ]


def _maps(first: int, count: int) -> list[tuple[str, str, Any, str]]:
    return [
        ("POST", MAPS, {"metadata": {"name": f"map-{n}"}, "data": {"key": "x" * 200}}, "application/json")
        for n in range(first, first + count)
    ]


async def _list(server: Server) -> float:
    """Milliseconds for all objects of the namespace, the best of five."""
    times: list[float] = []
    for _ in range(5):
        began = time.perf_counter()
        await server.call("GET", MAPS)
        times.append((time.perf_counter() - began) * 1000)
    return min(times)


async def _applied(servers: list[Server]) -> None:
    kinds = {"create": "nginx:1", "update": "nginx:{round}", "no change": "nginx:1"}
    for kind, image in kinds.items():
        rates: dict[str, list[float]] = {server.name: [] for server in servers}
        costs: dict[str, list[float]] = {server.name: [] for server in servers}
        for number in range(1 if kind == "create" else ROUNDS):
            for server in servers:
                await asyncio.gather(*(each.rest() for each in servers))
                before = server.cpu()
                rates[server.name].append(await _spread(server, _applies(image.format(round=number + 2))))
                costs[server.name].append((server.cpu() - before) * 1000 / APPLIES)
        rate = {name: statistics.median(found) for name, found in rates.items()}
        cost = {name: statistics.median(found) for name, found in costs.items()}
        ratio = f", ratio {rate['embedded'] / rate['real']:.2f}" if "real" in rate else ""
        told = ", ".join(f"{name} {rate[name]:.0f}/s ({cost[name]:.2f} ms of CPU each)" for name in rate)
        print(f"server-side apply, {kind}: {told}{ratio}")


async def _measure() -> None:
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        async with embedded(Path(folder)) as (server, took):
            print(f"start to the first answer: {took * 1000:.0f} ms")
            print(f"memory when empty: {server.memory():.0f} MB")
            await server.call("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
            await _spread(server, _maps(0, LISTED))
            print(f"list of {LISTED} objects: {await _list(server):.0f} ms")
            rate = await _spread(server, _maps(LISTED, OBJECTS - LISTED))
            print(f"memory with {OBJECTS} objects: {server.memory():.0f} MB (created at {rate:.0f}/s)")
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        async with embedded(Path(folder), "--no-workloads") as (server, _):
            await server.call("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
            try:
                async with real() as other:
                    await other.call("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
                    await _applied([server, other])
            except PenstockError as error:
                print(f"no real API server to compare with: {error}")
                await _applied([server])


def _free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main() -> None:
    asyncio.run(_measure())


if __name__ == "__main__":
    main()
