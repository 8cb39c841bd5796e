"""Several processes of `penstock controller` on one cluster, each of which can be killed."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from pathlib import Path

    from tests.clusters import Cluster

LEASES = (
    "--leader-election-lease-duration=6s",
    "--leader-election-renew-deadline=5s",
    "--leader-election-retry-period=500ms",
)
"""Short enough for a test, and long enough for a busy machine, on which the imports of a first run take seconds."""


class Replica:
    """One process, and what it has logged so far."""

    def __init__(self, process: asyncio.subprocess.Process, more: asyncio.Condition) -> None:
        """`more` is told when somebody has logged something."""
        self.process = process
        self.lines: list[dict[str, Any]] = []
        self._more = more

    async def read(self) -> None:
        """Follow the log until the process ends."""
        assert self.process.stdout is not None
        async for raw in self.process.stdout:
            with suppress(json.JSONDecodeError):
                self.lines.append(json.loads(raw))
            async with self._more:
                self._more.notify_all()

    async def until(self, holds: Callable[[], bool], *, within: float = 60.0) -> None:
        """Wait until the log of this one or of another makes it true."""
        async with asyncio.timeout(within), self._more:
            await self._more.wait_for(holds)

    @property
    def members(self) -> frozenset[str]:
        """Those who share the work now, as this one sees it."""
        return self.memberships[-1] if self.memberships else frozenset()

    @property
    def memberships(self) -> list[frozenset[str]]:
        """Who shared the work, in the order in which that changed."""
        return [frozenset(line["members"]) for line in self.lines if line["msg"] == "members changed"]

    def applied(self, revision: str = "") -> frozenset[str]:
        """The Kustomizations that this process has finished, at that revision."""
        return frozenset(
            line["name"]
            for line in self.lines
            if line["msg"].startswith("Reconciliation finished") and revision in line.get("revision", "")
        )

    async def kill(self) -> None:
        """As when a machine is lost: nothing is said to anybody."""
        self.process.kill()
        await self.process.wait()

    async def stop(self) -> int:
        with suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGTERM)
        return await asyncio.wait_for(self.process.wait(), 40)


@asynccontextmanager
async def replicas(cluster: Cluster, folder: Path, count: int, *flags: str) -> AsyncGenerator[list[Replica]]:
    """So many processes, each with a store of its own; those that were not killed end well."""
    async with AsyncExitStack() as stack:
        group = await stack.enter_async_context(asyncio.TaskGroup())
        more = asyncio.Condition()
        made = [Replica(await _started(cluster, folder / str(number), *flags), more) for number in range(count)]
        for one in made:
            group.create_task(one.read())
        try:
            yield made
        finally:
            codes = [await one.stop() for one in made]
        assert set(codes) <= {0, -signal.SIGKILL}


async def _started(cluster: Cluster, folder: Path, *flags: str) -> asyncio.subprocess.Process:
    addresses = ("--storage-addr=127.0.0.1:0", "--metrics-addr=0", "--health-addr=0")
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "penstock", "controller", f"--kubeconfig={cluster.kubeconfig}"),
        *(f"--storage-path={folder}", *addresses, "--no-watch-all-namespaces", *LEASES, *flags),
        env={**os.environ, "RUNTIME_NAMESPACE": cluster.namespace},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        limit=1 << 20,
    )
