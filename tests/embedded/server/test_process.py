"""The cluster as a process of its own: started, stopped, killed, and there again."""

from __future__ import annotations

import asyncio
import os
import signal
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from penstock.cli.foreground import Home
from penstock.embedded import ClusterError, cluster
from penstock.kube import connect, load
from penstock.kube.resources import CONFIG_MAPS

if TYPE_CHECKING:
    from penstock.kube import Settings

WITHIN = 40.0


async def command(*arguments: str, home: Path) -> tuple[int, str, str]:
    """Run `penstock cluster`; its exit code, data and words."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "penstock", "cluster", *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "XDG_STATE_HOME": str(home)},
    )
    async with asyncio.timeout(WITHIN):
        out, err = await process.communicate()
    return process.returncode or 0, out.decode(), err.decode()


async def started(home: Path, *arguments: str) -> dict[str, Any]:
    code, out, err = await command("start", "--detach", *arguments, home=home)
    assert code == 0, err
    assert out.startswith("export KUBECONFIG=")
    code, out, _ = await command("status", "-o", "json", *(a for a in arguments if "data-dir" in a), home=home)
    assert code == 0
    told: dict[str, Any] = orjson.loads(out)
    return told


async def killed(process: int) -> None:
    """Kill a process that is not our child, and wait until it is gone: it holds a lock and a port until then."""
    gone, loop = asyncio.Event(), asyncio.get_running_loop()
    watched = os.pidfd_open(process)
    loop.add_reader(watched, gone.set)
    try:
        os.kill(process, signal.SIGKILL)
        async with asyncio.timeout(WITHIN):
            await gone.wait()
    finally:
        loop.remove_reader(watched)
        os.close(watched)


async def settings(told: dict[str, Any]) -> Settings:
    return await asyncio.to_thread(load, Path(told["kubeconfig"]))


@pytest.mark.timeout(180)  # eight programs, each of which has its own bound
async def test_a_detached_cluster_runs_until_it_is_stopped(tmp_path: Path) -> None:
    try:
        told = await started(tmp_path, "--no-workloads")
        runs = await asyncio.to_thread(Path(f"/proc/{told['pid']}/cmdline").read_bytes)
        assert b"--no-workloads" in runs.split(b"\0")
        mode = stat.S_IMODE(os.stat(told["kubeconfig"]).st_mode)  # noqa: PTH116
        assert (mode, told["dataDir"]) == (0o600, None)
        async with connect(await settings(told)) as client:
            assert (await client.list(CONFIG_MAPS, "default")).items is not None
        code, _, err = await command("start", "--detach", home=tmp_path)
        assert (code, "runs already" in err) == (2, True)
        code, out, _ = await command("kubeconfig", home=tmp_path)
        assert (code, orjson.loads(out)["clusters"][0]["cluster"]["server"]) == (0, told["server"])
        assert (await command("stop", home=tmp_path))[0] == 0
        for verb in ("status", "stop", "kubeconfig"):
            code, out, err = await command(verb, home=tmp_path)
            assert (code, out, "no cluster runs" in err) == (1, "", True)
    finally:
        await command("stop", home=tmp_path)  # it would outlive a test that failed


def test_the_command_to_stop_it_names_its_place(tmp_path: Path) -> None:
    place = tmp_path / "my cluster"
    assert Home.of(place).command("stop") == f"penstock cluster stop --data-dir '{place}'"
    assert Home.of(None).command("stop") == "penstock cluster stop"


@pytest.mark.timeout(180)  # the same
async def test_kill_9_loses_nothing_and_the_token_stays_good(tmp_path: Path) -> None:
    where = f"--data-dir={tmp_path / 'data'}"
    told = await started(tmp_path, where)
    written: list[str] = []
    enough = asyncio.Event()

    async def write(worker: int) -> None:
        for number in range(1000):
            name = f"n-{worker}-{number}"
            await client.create(CONFIG_MAPS, {"metadata": {"name": name}}, namespace="default")
            written.append(name)
            if len(written) == 60:
                enough.set()

    async with connect(await settings(told)) as client:
        writers = [asyncio.ensure_future(write(worker)) for worker in range(4)]
        async with asyncio.timeout(WITHIN):
            await enough.wait()
        await killed(told["pid"])
        for writer in writers:
            writer.cancel()
        await asyncio.gather(*writers, return_exceptions=True)

    port = told["server"].rpartition(":")[2]
    again = await started(tmp_path, where, f"--port={port}")
    try:
        assert (again["server"], again["pid"] == told["pid"]) == (told["server"], False)
        async with connect(await settings(told)) as client:
            stored = {item["metadata"]["name"] for item in (await client.list(CONFIG_MAPS, "default")).items}
        assert set(written) <= stored
    finally:
        assert (await command("stop", where, home=tmp_path))[0] == 0


async def test_a_port_that_is_taken_is_said_to_be(tmp_path: Path) -> None:
    async with cluster(controllers=False) as running:
        port = running.server.rpartition(":")[2]
        code, _, err = await command("start", f"--port={port}", home=tmp_path)
        assert (code, f"port {port} of 127.0.0.1 cannot be used" in err) == (1, True)
        with pytest.raises(ClusterError):
            async with cluster(port=int(port)):
                pass


async def test_a_cluster_in_this_process_keeps_its_data(tmp_path: Path) -> None:
    async with cluster(data_dir=tmp_path) as running, running.client() as client:
        made = await client.create(CONFIG_MAPS, {"metadata": {"name": "a"}}, namespace="default")
    async with cluster(data_dir=tmp_path) as again, again.client() as client:
        found = await client.get(CONFIG_MAPS, "a", "default")
        assert found == made
        later = await client.create(CONFIG_MAPS, {"metadata": {"name": "b"}}, namespace="default")
    assert (again.token, again.authority) == (running.token, running.authority)
    assert int(later["metadata"]["resourceVersion"]) > int(made["metadata"]["resourceVersion"])


async def test_without_a_data_directory_nothing_is_left() -> None:
    async with cluster(controllers=False) as running:
        folder = running.kubeconfig.parent
        assert folder.is_dir()
    assert not folder.exists()


@pytest.mark.timeout(180)  # a whole run of pytest
def test_the_fixture_for_other_people(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nasyncio_mode = auto\n")
    pytester.makeconftest('pytest_plugins = ["penstock.embedded.testing"]')
    pytester.makepyfile(
        """
        from penstock.kube.resources import CONFIG_MAPS

        async def test_it(embedded_cluster, embedded_client):
            await embedded_client.create(CONFIG_MAPS, {"metadata": {"name": "a"}}, namespace="default")
            assert embedded_cluster.settings.server == embedded_cluster.server
        """
    )
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)
