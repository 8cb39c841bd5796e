"""Replicas share the objects, and a dead one's share moves to the living within seconds."""

from __future__ import annotations

import asyncio
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from penstock.kube import WatchCache
from penstock.kube.resources import CONFIG_MAPS
from tests.runtime.replica import LABEL, OWNER
from tests.waiting import following

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import AsyncGenerator

    from penstock.kube import Object
    from tests.clusters import Cluster

OBJECTS = 24


@asynccontextmanager
async def _replica(cluster: Cluster, identity: str) -> AsyncGenerator[Process]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.runtime.replica", str(cluster.kubeconfig), cluster.namespace, identity),
        stdout=asyncio.subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def _owner(obj: Object) -> str | None:
    return (obj["metadata"].get("annotations") or {}).get(OWNER)


async def test_the_share_of_a_killed_replica_moves_to_the_other(cluster: Cluster) -> None:
    for number in range(OBJECTS):
        metadata = {"name": f"shared-{number}", "labels": {LABEL: "true"}}
        await cluster.client.create(CONFIG_MAPS, {"metadata": metadata}, namespace=cluster.namespace)
    cache = WatchCache(cluster.client, CONFIG_MAPS, namespace=cluster.namespace, labels=LABEL, transform=_owner)
    async with following(cache) as until, _replica(cluster, "one") as one, _replica(cluster, "two"):
        await until(lambda: set(cache.values()) == {"one", "two"}, within=40)
        one.kill()
        await until(lambda: set(cache.values()) == {"two"}, within=40)
