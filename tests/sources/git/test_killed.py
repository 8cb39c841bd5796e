"""A process that is killed at any moment leaves mirrors that heal."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from penstock.sources.git import Address, Git, GitRemote, Reference

if TYPE_CHECKING:
    from pathlib import Path

    from tests.sources.git.repositories import Repository
    from tests.sources.git.server import GitServer

PROGRAM = """
import asyncio, sys, tempfile
from pathlib import Path
from penstock.sources.git import Address, Git, GitRemote, Reference

async def main(url: str, folder: Path) -> None:
    async with Git.open(folder) as git:
        print("ready", flush=True)
        while True:
            with tempfile.TemporaryDirectory(dir=folder.parent) as into:
                await GitRemote(git, Address.parse(url), Reference(branch="main")).fetch(Path(into))

asyncio.run(main(sys.argv[1], Path(sys.argv[2])))
"""


@pytest.mark.timeout(120)
async def test_killed_at_any_moment(tmp_path: Path, server: GitServer, repository: Repository) -> None:
    mirrors = tmp_path / "mirrors"
    for number, seconds in enumerate((0.0, 0.01, 0.03, 0.06, 0.1, 0.2)):
        repository.commit({"a": str(number), **{f"d/{n}": f"{n} {number}" for n in range(50)}})
        command = [sys.executable, "-c", PROGRAM, server.url("app.git"), str(mirrors)]
        process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
        assert process.stdout is not None
        await process.stdout.readline()
        # Not to wait for anything: the moment of the kill is what the test is about.
        await asyncio.sleep(seconds)
        process.send_signal(signal.SIGKILL)
        await process.wait()
        into = tmp_path / f"into-{number}"
        into.mkdir()
        async with Git.open(mirrors) as git:
            await GitRemote(git, Address.parse(server.url("app.git")), Reference(branch="main")).fetch(into)
        assert (into / "a").read_text() == str(number)


async def test_what_outlives_us_keeps_others_out(tmp_path: Path, server: GitServer, repository: Repository) -> None:
    """A program that a killed process left behind still works in its mirror; nobody else does meanwhile."""
    repository.commit({"a": "1"})
    remote = Address.parse(server.url("app.git"))
    async with Git.open(tmp_path / "mirrors") as git:
        place = await GitRemote(git, remote)._place()
        async with git.mirrors.open(place, sha256=False) as mirror:
            left = await asyncio.create_subprocess_exec(
                "cat", stdin=subprocess.PIPE, pass_fds=mirror.setting.descriptors
            )
        try:
            async with git.mirrors.open(place, sha256=False) as other:
                assert other.path != mirror.path
        finally:
            assert left.stdin is not None
            left.stdin.close()
            await left.wait()
        async with git.mirrors.open(place, sha256=False) as again:
            assert again.path == mirror.path
