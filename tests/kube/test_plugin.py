from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from penstock.kube import connect, load
from penstock.kube.credentials import Plugin
from penstock.kube.errors import ConfigError
from penstock.kube.resources import CONFIG_MAPS
from tests.kube.kubeconfigs import SECRET, config, write
from tests.kube.loopback import Asked, Wire, serve

if TYPE_CHECKING:
    from pathlib import Path

V1 = "client.authentication.k8s.io/v1"
SECRET_TOKEN = {"token": SECRET}


def program(folder: Path, script: str) -> Plugin:
    """A credential plugin that is a small shell script."""
    file = folder / "plugin"
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return Plugin(str(file), hint="Install it.")


def prints(status: dict[str, Any], **fields: Any) -> str:
    """The line of the script that prints an ExecCredential."""
    return f"echo '{json.dumps({'apiVersion': V1, 'kind': 'ExecCredential', 'status': status} | fields)}'"


def says(folder: Path, status: dict[str, Any]) -> Plugin:
    return program(folder, prints(status))


async def test_a_token(tmp_path: Path) -> None:
    credential = await says(tmp_path, {"token": SECRET}).fetch()
    assert credential.authorization == f"Bearer {SECRET}"
    assert credential.fresh_until == float("inf")


async def test_a_certificate(tmp_path: Path) -> None:
    credential = await says(tmp_path, {"clientCertificateData": "C", "clientKeyData": "K"}).fetch()
    assert (credential.certificate, credential.key) == (b"C", b"K")
    assert credential.authorization is None


@pytest.mark.parametrize(
    ("lives", "fresh"),
    [
        pytest.param(3600, 3570, id="fetched anew half a minute before it ends"),
        pytest.param(20, 10, id="a short one is used for half its life"),
        pytest.param(-10, -5, id="one that has ended is never fresh"),
    ],
)
async def test_an_expiry(lives: float, fresh: float, tmp_path: Path) -> None:
    ends = datetime.now(UTC) + timedelta(seconds=lives)
    credential = await says(tmp_path, {"token": SECRET, "expirationTimestamp": ends.isoformat()}).fetch()
    assert credential.fresh_until - time.monotonic() == pytest.approx(fresh, abs=5)
    assert credential.fresh == (fresh > 0)


BROKEN: dict[str, tuple[str, str]] = {
    "exits with 1": (f"echo {SECRET}; echo 'please log in' >&2; exit 1", "failed with exit code 1: please log in"),
    "killed by a signal": ("kill -9 $$", "failed with exit code -9: "),
    "prints nothing": ("true", "printed no ExecCredential: Input data was truncated"),
    "prints garbage": (f"echo {SECRET}", "printed no ExecCredential: JSON is malformed: invalid character (byte 0)"),
    "prints another kind": (
        prints(SECRET_TOKEN, kind="Status"),
        "printed no ExecCredential: Invalid enum value 'Status' - at `$.kind`",
    ),
    "prints a list": (f"""echo '["{SECRET}"]'""", "printed no ExecCredential: Expected `object`, got `array`"),
    "prints bytes": (r"printf '\377\376'", "printed no ExecCredential: JSON is malformed: invalid character (byte 0)"),
    "answers in another version": (
        prints(SECRET_TOKEN, apiVersion="x/v0"),
        f"answered in x/v0, but the kubeconfig asks for {V1}",
    ),
    "gives nothing": (
        prints({}),
        "gave neither a token nor a certificate",
    ),
    "gives an empty token": (
        prints({"token": ""}),
        "gave neither a token nor a certificate",
    ),
    "gives half a certificate": (
        prints({"clientCertificateData": SECRET}),
        "gave a certificate without its key",
    ),
    "gives a date that is none": (
        prints(SECRET_TOKEN | {"expirationTimestamp": "soon"}),
        "printed no ExecCredential: Invalid RFC3339 encoded datetime - at `$.status.expirationTimestamp`",
    ),
}


@pytest.mark.parametrize(("script", "sentence"), BROKEN.values(), ids=BROKEN.keys())
async def test_a_plugin_that_fails_is_told_without_its_output(script: str, sentence: str, tmp_path: Path) -> None:
    plugin = program(tmp_path, script)
    with pytest.raises(ConfigError) as caught:
        await plugin.fetch()
    assert str(caught.value) == f"the credential plugin {plugin.command!r} {sentence}"
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("no-such-program", "No such file or directory. Install it."),
        ("a\0b", "embedded null byte. Install it."),
        ("/dev/null", "Permission denied. Install it."),
    ],
    ids=["missing", "a name that is none", "not executable"],
)
async def test_a_plugin_that_does_not_start_is_told_with_its_hint(command: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        await Plugin(command, hint="Install it.").fetch()
    assert str(caught.value) == f"cannot start the credential plugin {command!r}: {sentence}"


async def test_a_plugin_that_hangs_is_ended_with_its_children(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.kube.credentials.PLUGIN_TIMEOUT", 0.1)
    plugin = program(tmp_path, "sleep 300; echo never")
    async with asyncio.timeout(5):
        with pytest.raises(ConfigError, match="gave no answer in 0s"):
            await plugin.fetch()


async def test_a_plugin_that_hangs_fails_the_request_with_its_own_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not as a time-out of the API server, which was never asked."""
    monkeypatch.setattr("penstock.kube.credentials.PLUGIN_TIMEOUT", 0.1)

    async def script(asked: Asked, wire: Wire) -> None:
        raise AssertionError("nobody should ask")

    async with (
        serve(script) as server,
        connect(replace(server.settings, credentials=program(tmp_path, "sleep 300"))) as client,
    ):
        with pytest.raises(ConfigError, match="gave no answer"):
            await client.get(CONFIG_MAPS, "x", "default")


async def test_a_plugin_that_is_cancelled_leaves_nothing_behind(tmp_path: Path) -> None:
    started = tmp_path / "started"
    os.mkfifo(started)
    fetching = asyncio.create_task(program(tmp_path, f"echo $$ > {started}; sleep 300").fetch())
    async with asyncio.timeout(5):
        pid = int(await asyncio.to_thread(started.read_text))
        for _ in range(20):  # rounds of the loop, in which it takes over the pipes of the program
            await asyncio.sleep(0)
        fetching.cancel()
        with pytest.raises(asyncio.CancelledError):
            await fetching
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_a_plugin_is_told_what_the_kubeconfig_says(tmp_path: Path) -> None:
    shows = tmp_path / "shows.py"
    shows.write_text(
        "import json, os, sys\n"
        "told = json.loads(os.environ['KUBERNETES_EXEC_INFO'])\n"
        "token = json.dumps([sys.argv[1:], os.environ['ACCOUNT'], told['spec']])\n"
        f"print(json.dumps({{'apiVersion': '{V1}', 'kind': 'ExecCredential', 'status': {{'token': token}}}}))\n"
    )
    user = {
        "exec": {
            "command": sys.executable,
            "args": [str(shows), "--region=x"],
            "env": [{"name": "ACCOUNT", "value": "a"}],
            "provideClusterInfo": True,
        }
    }
    cluster = {"server": "https://it", "certificate-authority-data": "Y2VydA=="}
    path = await asyncio.to_thread(write, tmp_path / "config", config(cluster=cluster, user=user))
    settings = await asyncio.to_thread(load, path)
    credential = await settings.credentials.fetch()
    assert credential.authorization is not None
    assert json.loads(credential.authorization.removeprefix("Bearer ")) == [
        ["--region=x"],
        "a",
        {"interactive": False, "cluster": {"server": "https://it", "certificate-authority-data": "Y2VydA=="}},
    ]


async def test_a_plugin_runs_once_for_many_requests_and_again_after_a_401(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    plugin = program(
        tmp_path,
        f"echo >> {runs}; n=$(wc -l < {runs}); "
        f"""echo '{{"apiVersion": "{V1}", "kind": "ExecCredential", "status": {{"token": "'"$n"'"}}}}'""",
    )
    accepted = "1"

    async def script(asked: Asked, wire: Wire) -> None:
        if asked.headers["authorization"] == f"Bearer {accepted}":
            await wire.answer({"metadata": {}})
        else:
            await wire.refuse(401)

    async with serve(script) as server, connect(replace(server.settings, credentials=plugin)) as client:
        await asyncio.gather(*(client.get(CONFIG_MAPS, "x", "default") for _ in range(5)))
        assert await asyncio.to_thread(runs.read_text) == "\n"
        accepted = "2"
        await asyncio.gather(*(client.get(CONFIG_MAPS, "x", "default") for _ in range(5)))
        assert await asyncio.to_thread(runs.read_text) == "\n\n"
