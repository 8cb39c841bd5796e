"""`penstock cluster start` without the library of the other verbs: a cluster is to answer at once.

Also what its neighbours need to know of a cluster: where its files lie, and whether it runs.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import gc
import os
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import orjson

from penstock.errors import PenstockError, UsageError

if TYPE_CHECKING:
    from collections.abc import Generator

START_WITHIN = 20.0
STOP_WITHIN = 15.0
HIGHEST_PORT = 65535
READY = "PENSTOCK_CLUSTER_READY"
"""Names the file descriptor on which a detached cluster says that it is ready."""


class NotRunning(PenstockError):
    """No embedded cluster runs there."""


class StartFailed(PenstockError):
    """The embedded cluster did not come up."""


@dataclass(frozen=True, slots=True)
class Home:
    """Where one cluster's files lie: its keys, its kubeconfig, and who runs it."""

    folder: Path

    @classmethod
    def of(cls, data_dir: Path | None) -> Home:
        if data_dir is not None:
            return cls(data_dir.absolute())
        state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
        return cls(Path(state) / "penstock" / "cluster")

    def command(self, verb: str) -> str:
        """What a person types to have something done to the cluster of this place."""
        place = "" if self == Home.of(None) else f" --data-dir {shlex.quote(str(self.folder))}"
        return f"penstock cluster {verb}{place}"

    @property
    def kubeconfig(self) -> Path:
        return self.folder / "kubeconfig"

    @property
    def log(self) -> Path:
        return self.folder / "cluster.log"

    @property
    def _state(self) -> Path:
        return self.folder / "cluster.json"

    @contextlib.contextmanager
    def held(self) -> Generator[None]:
        """Be the one cluster of this place; whoever looks sees by the lock that we live, whatever a file says."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with (self.folder / "cluster.lock").open("ab") as file:
            if not _locked(file):
                raise UsageError(f"a cluster runs already at {self.folder}; stop it with '{self.command('stop')}'")
            yield

    def running(self) -> dict[str, Any]:
        """What the cluster that runs here said of itself; `NotRunning` when none does."""
        try:
            with (self.folder / "cluster.lock").open("rb") as file:
                if not _locked(file):
                    told: dict[str, Any] = orjson.loads(self._state.read_bytes())
                    return told
        except (FileNotFoundError, orjson.JSONDecodeError):
            pass
        raise NotRunning(f"no cluster runs at {self.folder}; start one with '{self.command('start')}'")

    def tell(self, server: str, data_dir: Path | None) -> None:
        from penstock.embedded.server.keys import write_private

        told = {
            "server": server,
            "pid": os.getpid(),
            "kubeconfig": str(self.kubeconfig),
            "dataDir": str(data_dir.absolute()) if data_dir else None,
            "startedAt": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        }
        write_private(self._state, orjson.dumps(told))


def main(arguments: list[str]) -> int:
    """What stands behind `penstock cluster start`; `--help` is the other door's."""
    from penstock.cli.fast import Parser

    parser = Parser("cluster start", "Start a cluster.")
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--port", type=_port, default=0)
    parser.add_argument("--workloads", action="store_true", default=True)
    parser.add_argument("--no-workloads", action="store_false", dest="workloads")
    parser.add_argument("--detach", "-d", action="store_true")
    told = parser.parse_args(arguments)
    if told.data_dir is not None and told.data_dir.is_file():
        raise UsageError(f"--data-dir: {told.data_dir} is a file; name a folder")
    return start(told.data_dir, told.port, workloads=told.workloads, detach=told.detach)


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or int(text) > HIGHEST_PORT:
        raise UsageError(f"--port: {text!r} is no port; name one from 0 to {HIGHEST_PORT}")
    return int(text)


def start(data_dir: Path | None, port: int, *, workloads: bool, detach: bool) -> int:
    """Run a cluster until it is told to stop, or leave it running in the background."""
    home = Home.of(data_dir)
    if detach:
        return _detach(home, data_dir, port, workloads=workloads)
    with home.held():
        asyncio.run(_run(home, data_dir, port, workloads=workloads))
    return 0


async def _run(home: Home, data_dir: Path | None, port: int, *, workloads: bool) -> None:
    # Nearly all that is made while a cluster starts stays; looking for garbage in it is a sixth of the start.
    gc.disable()
    from penstock.embedded.server.instance import cluster

    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    async with cluster(data_dir=data_dir, home=home.folder, port=port, workloads=workloads) as running:
        gc.freeze()
        gc.enable()
        home.tell(running.server, data_dir)
        _say(f"the cluster runs at {running.server}; stop it with Ctrl-C or '{home.command('stop')}'")
        print(f"export KUBECONFIG={running.kubeconfig}", flush=True)
        _say_ready()
        await stopped.wait()
    _say("the cluster has stopped")


def _say_ready() -> None:
    told = os.environ.pop(READY, "")
    if told.isdigit():
        os.write(int(told), b"ready\n")
        os.close(int(told))


def _detach(home: Home, data_dir: Path | None, port: int, *, workloads: bool) -> int:
    with home.held():
        pass  # say so here if one runs already, and not in a log
    command = [sys.executable, "-m", "penstock.cli.foreground", f"--port={port}"]
    if not workloads:
        command.append("--no-workloads")
    if data_dir is not None:
        command.append(f"--data-dir={data_dir.absolute()}")
    reading, writing = os.pipe()
    with home.log.open("wb") as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            pass_fds=(writing,),
            env={**os.environ, READY: str(writing)},
        )
    os.close(writing)
    if not _ready(reading, process):
        lines = home.log.read_text(errors="replace").strip().splitlines()
        raise StartFailed(lines[-1].lstrip("✗ ") if lines else "the cluster ended before it was ready")
    told = home.running()
    _say(f"the cluster runs at {told['server']}; stop it with '{home.command('stop')}'")
    print(f"export KUBECONFIG={home.kubeconfig}")
    return 0


def _ready(reading: int, process: subprocess.Popen[bytes]) -> bool:
    """Wait for the word of the child; its end closes the pipe too."""
    import select

    try:
        found, _, _ = select.select([reading], [], [], START_WITHIN)
        if found and os.read(reading, 16):
            return True
    finally:
        os.close(reading)
    if process.poll() is None:
        process.terminate()
    process.wait(STOP_WITHIN)
    return False


def _say(words: str) -> None:
    print(words, file=sys.stderr)


def _locked(file: IO[bytes]) -> bool:
    """Take the lock if nobody has it; it goes when the file is closed."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


if __name__ == "__main__":
    # How a detached cluster is started: without the rest of the command.
    try:
        sys.exit(main(sys.argv[1:]))
    except PenstockError as error:
        print(f"✗ {error}", file=sys.stderr)
        sys.exit(error.exit_code)
