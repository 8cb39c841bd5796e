"""The same command on a real control plane: the whole example, with pods that are simulated."""

from __future__ import annotations

import asyncio
import sys
from contextlib import aclosing, asynccontextmanager, suppress
from typing import TYPE_CHECKING

import pytest

from penstock.controllers.kustomization.parts import KUSTOMIZATIONS
from penstock.embedded import simulate_pods
from penstock.kube import connect, load
from penstock.kube.resources import CONFIG_MAPS, DEPLOYMENTS
from tests.cli.up.repositories import LIMIT, WITHIN
from tests.controlplane.plane import controlplane

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from penstock.kube import Client


@pytest.mark.real
@pytest.mark.timeout(LIMIT)
async def test_the_example_from_the_first_run_to_a_save(tmp_path: Path) -> None:
    """On a control plane of its own: the example takes the whole cluster, and other tests share the other one."""
    shop = tmp_path / "shop"
    promotions = shop / "platform/apps/promotions/promotions.yaml"
    async with (
        controlplane() as plane,
        connect(await asyncio.to_thread(load, plane.kubeconfig)) as client,
        kubelets(client),
    ):
        real = ("--offline", f"--kubeconfig={plane.kubeconfig}")
        assert await up("--example", str(shop), "--once", *real) == (0, "16/16 Ready\n", "")
        checkout = await client.get(DEPLOYMENTS, "checkout", "checkout")
        assert checkout["status"]["readyReplicas"] == 1
        settings = await client.get(CONFIG_MAPS, "cluster-settings", "flux-system")
        assert settings["data"]["environment"] == "staging"

        whole = promotions.read_text()
        promotions.write_text(whole.replace("percent: 20", "percent: 95"))
        code, out, told = await up(str(shop), "--cluster=staging", "--once", *real)
        assert (code, out) == (1, "15/16 Ready\n")
        assert "(see apps/promotions/promotions.yaml)" in told

        async with running(str(shop), "--cluster=staging", *real) as process:
            await until_ready(client, "promotions", "False")
            promotions.write_text(whole.replace("percent: 20", "percent: 25"))
            await until_ready(client, "promotions", "True")
            process.terminate()
            await process.communicate()
            assert process.returncode == 0


@asynccontextmanager
async def kubelets(client: Client) -> AsyncGenerator[None]:
    simulation = asyncio.create_task(simulate_pods(client))
    try:
        yield
    finally:
        simulation.cancel()
        with suppress(asyncio.CancelledError):
            await simulation


@asynccontextmanager
async def running(*arguments: str) -> AsyncGenerator[asyncio.subprocess.Process]:
    """The command, without a terminal; it is killed if it has not ended with the body, or in time."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "penstock", "up", *arguments),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(WITHIN):
            yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


async def up(*arguments: str) -> tuple[int | None, str, str]:
    """Exit code, output, and what was told of what is not ready."""
    async with running(*arguments) as process:
        out, told = await process.communicate()
    _, _, unready = told.decode().partition("not ready:\n")
    return process.returncode, out.decode(), unready


async def until_ready(client: Client, name: str, truth: str) -> None:
    watch = client.watch(KUSTOMIZATIONS, "flux-system", fields=f"metadata.name={name}", initial_events=True)
    async with aclosing(watch) as events:
        async for event in events:
            status = event.object.get("status") or {}
            if any(one["type"] == "Ready" and one["status"] == truth for one in status.get("conditions", [])):
                return
