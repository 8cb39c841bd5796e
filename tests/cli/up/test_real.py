"""The same command on a real control plane: the whole example, with pods that are simulated."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress

import pytest

from penstock.embedded import simulate_pods
from penstock.kube import connect, load
from penstock.kube.resources import CONFIG_MAPS, DEPLOYMENTS
from tests.cli.up.repositories import LIMIT, WITHIN
from tests.controlplane.plane import controlplane


@pytest.mark.real
@pytest.mark.timeout(LIMIT)
async def test_the_example_becomes_ready() -> None:
    """On a control plane of its own: the example takes the whole cluster, and other tests share the other one."""
    async with controlplane() as plane, connect(await asyncio.to_thread(load, plane.kubeconfig)) as client:
        kubelets = asyncio.create_task(simulate_pods(client))
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "penstock", "up", "--once", "--offline", f"--kubeconfig={plane.kubeconfig}"),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            async with asyncio.timeout(WITHIN):
                out, told = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
            kubelets.cancel()
            with suppress(asyncio.CancelledError):
                await kubelets
        assert (process.returncode, out) == (0, b"16/16 Ready\n"), told.decode()
        checkout = await client.get(DEPLOYMENTS, "checkout", "checkout")
        assert checkout["status"]["readyReplicas"] == 1
        settings = await client.get(CONFIG_MAPS, "cluster-settings", "flux-system")
        assert settings["data"]["environment"] == "staging"
