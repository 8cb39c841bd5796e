"""What a watch cache over 10,000 objects costs this process when it keeps only a digest of each."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import time
from pathlib import Path

import orjson

from penstock.kube import Client, Object, WatchCache, connect, load, wait_synced
from penstock.kube.resources import CONFIG_MAPS, NAMESPACES
from tests.controlplane.plane import controlplane

OBJECTS = 10_000
NAMESPACE = "bench"


def main() -> None:
    asyncio.run(_main())


async def _main() -> None:
    async with (
        controlplane(controllers=False) as plane,
        connect(await asyncio.to_thread(load, plane.kubeconfig)) as client,
    ):
        await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        await _fill(client)
        gc.collect()
        before = _resident()
        cache = WatchCache(client, CONFIG_MAPS, namespace=NAMESPACE, transform=digest)
        begun = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            running = group.create_task(cache.run())
            await wait_synced([cache], within=60)
            took = time.perf_counter() - begun
            gc.collect()
            after = _resident()
            running.cancel()
        assert len(cache) == OBJECTS
        print(f"  {OBJECTS} objects in {took:.2f} s; the process grew by {after - before:.1f} MB to {after:.1f} MB")


def digest(obj: Object) -> bytes:
    return hashlib.blake2b(orjson.dumps(obj.get("data")), digest_size=16).digest()


async def _fill(client: Client) -> None:
    names = iter(range(OBJECTS))

    async def work() -> None:
        for number in names:
            metadata = {"name": f"c-{number}", "namespace": NAMESPACE}
            data = {"config.yaml": f"number: {number}\n" * 40}
            await client.create(CONFIG_MAPS, {"metadata": metadata, "data": data})

    async with asyncio.TaskGroup() as group:
        for _ in range(32):
            group.create_task(work())


def _resident() -> float:
    """Megabytes of memory that are this process's own share (PSS)."""
    for line in Path("/proc/self/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    raise AssertionError("the kernel does not tell")
