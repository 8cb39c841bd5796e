"""Server-side applies through `penstock.kube` beside bare aiohttp: requests a second, and CPU of this process.

Both send the same bytes over the same number of workers to the same real control plane (without
controller-manager, fsync off), in turns, so that whatever else the machine does hits both alike.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import aiohttp
import orjson

from penstock.kube import Client, Object, connect, load
from penstock.kube.resources import CONFIG_MAPS, NAMESPACES
from tests.controlplane.plane import ControlPlane, controlplane

REQUESTS = 2000
ROUNDS = 5
WORKERS = (4, 16, 64)
NAMESPACE = "bench"

Apply = Callable[[Object], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Round:
    """What one round took."""

    seconds: float
    cpu: float

    @property
    def rate(self) -> float:
        return REQUESTS / self.seconds

    @property
    def cpu_each(self) -> float:
        """Milliseconds of CPU a request."""
        return self.cpu / REQUESTS * 1000


def main() -> None:
    asyncio.run(_main())


async def _main() -> None:
    async with (
        controlplane(controllers=False) as plane,
        connect(await asyncio.to_thread(load, plane.kubeconfig)) as client,
    ):
        await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        print(f"  {REQUESTS} applies a round, the middle of {ROUNDS} rounds in turns")
        print("  workers   bare/s   penstock/s   ratio   bare CPU ms   penstock CPU ms")
        for workers in WORKERS:
            bare, ours = await _compare(plane, client, workers)
            print(
                f"  {workers:7}   {bare.rate:6.0f}   {ours.rate:10.0f}   {ours.rate / bare.rate:5.2f}"
                f"   {bare.cpu_each:11.3f}   {ours.cpu_each:15.3f}"
            )


async def _compare(plane: ControlPlane, client: Client, workers: int) -> tuple[Round, Round]:
    async def apply(obj: Object) -> None:
        await client.apply(CONFIG_MAPS, obj, manager="bench", force=True)

    bare_rounds: list[Round] = []
    our_rounds: list[Round] = []
    async with _bare_session(plane) as session:
        for number in range(-1, ROUNDS):  # the first one only warms up
            bare_rounds.append(await _round(_bare_apply(plane, session), workers, f"{workers}-{number}-a"))
            our_rounds.append(await _round(apply, workers, f"{workers}-{number}-b"))
    return _middle(bare_rounds[1:]), _middle(our_rounds[1:])


def _bare_session(plane: ControlPlane) -> aiohttp.ClientSession:
    import ssl

    context = ssl.create_default_context(cafile=plane.ca)
    headers = {
        "Authorization": f"Bearer {plane.token}",
        "Content-Type": "application/apply-patch+yaml",
        "Accept": "application/json",
        "Accept-Encoding": "identity",
    }
    return aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context, limit=0), headers=headers)


def _bare_apply(plane: ControlPlane, session: aiohttp.ClientSession) -> Apply:
    root = f"{plane.server}{CONFIG_MAPS.path(namespace=NAMESPACE)}"

    async def apply(obj: Object) -> None:
        url = f"{root}/{obj['metadata']['name']}?fieldManager=bench&force=true"
        async with session.patch(url, data=orjson.dumps(obj)) as response:
            body = orjson.loads(await response.read())
            assert response.status in {200, 201}, body

    return apply


async def _round(apply: Apply, workers: int, name: str) -> Round:
    waiting = iter([_config_map(f"{name}-{number}") for number in range(REQUESTS)])

    async def work() -> None:
        for obj in waiting:
            await apply(obj)

    wall, cpu = time.perf_counter(), time.process_time()
    async with asyncio.TaskGroup() as group:
        for _ in range(workers):
            group.create_task(work())
    return Round(time.perf_counter() - wall, time.process_time() - cpu)


def _config_map(name: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {"app.kubernetes.io/part-of": "bench"}},
        "data": {"config.yaml": "level: info\nreplicas: 3\n" * 8},
    }


def _middle(rounds: list[Round]) -> Round:
    return Round(
        statistics.median(one.seconds for one in rounds),
        statistics.median(one.cpu for one in rounds),
    )
