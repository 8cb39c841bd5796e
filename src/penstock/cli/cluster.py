"""`penstock cluster`: an embedded cluster that runs here, for rehearsal, tests and first steps."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import gc
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import orjson
import typer

from penstock.cli.output import Output, say, to_json, to_yaml
from penstock.errors import PenstockError, UsageError

if TYPE_CHECKING:
    from collections.abc import Generator

app = typer.Typer(no_args_is_help=True)

START_WITHIN = 20.0
STOP_WITHIN = 15.0
READY = "PENSTOCK_CLUSTER_READY"
"""Names the file descriptor on which a detached cluster says that it is ready."""

DataDirOption = Annotated[
    Path | None,
    typer.Option("--data-dir", help="Where the cluster keeps its objects; without it, in memory.", file_okay=False),
]
PortOption = Annotated[int, typer.Option("--port", min=0, max=65535, help="The port on 127.0.0.1; 0 takes a free one.")]
WorkloadsOption = Annotated[
    bool,
    typer.Option("--workloads/--no-workloads", help="Whether Deployments, Jobs and the like get pods that run."),
]
DetachOption = Annotated[bool, typer.Option("--detach", "-d", help="Run in the background.")]
OutputOption = Annotated[Output | None, typer.Option("-o", "--output", help="json or yaml.")]


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
                raise UsageError(f"a cluster runs already at {self.folder}; stop it with 'penstock cluster stop'")
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
        raise NotRunning(f"no cluster runs at {self.folder}; start one with 'penstock cluster start'")

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


@app.command()
def start(
    data_dir: DataDirOption = None,
    port: PortOption = 0,
    workloads: WorkloadsOption = True,
    detach: DetachOption = False,
) -> int:
    """Start a cluster; it runs until Ctrl-C, or in the background with --detach.

    It is for rehearsal, tests and first steps, and listens on this machine only. Not for production.
    """
    home = Home.of(data_dir)
    if detach:
        return _detach(home, data_dir, port, workloads=workloads)
    with home.held():
        asyncio.run(_run(home, data_dir, port, workloads=workloads))
    return 0


@app.command()
def stop(data_dir: DataDirOption = None) -> int:
    """Stop the cluster; what has a data directory is there again at the next start."""
    home = Home.of(data_dir)
    pid: int = home.running()["pid"]
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + STOP_WITHIN
    while time.monotonic() < deadline:
        try:
            home.running()
        except NotRunning:
            say("the cluster has stopped")
            return 0
        time.sleep(0.02)
    raise PenstockError(f"the cluster (process {pid}) has not stopped within {STOP_WITHIN:.0f} s; see {home.log}")


@app.command()
def status(data_dir: DataDirOption = None, output: OutputOption = None) -> int:
    """Say whether a cluster runs, and where; exit 1 when none does."""
    told = Home.of(data_dir).running()
    if output is Output.JSON:
        sys.stdout.write(to_json(told))
    elif output is Output.YAML:
        sys.stdout.write(to_yaml(told))
    else:
        where = told["dataDir"] or "memory"
        print(f"running at {told['server']} (process {told['pid']}, objects in {where})")
    return 0


@app.command()
def kubeconfig(data_dir: DataDirOption = None) -> int:
    """Print the admin's kubeconfig of the cluster that runs: penstock cluster kubeconfig > kubeconfig"""
    home = Home.of(data_dir)
    home.running()
    sys.stdout.write(home.kubeconfig.read_text())
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
        say(f"the cluster runs at {running.server}; stop it with Ctrl-C or 'penstock cluster stop'")
        print(f"export KUBECONFIG={running.kubeconfig}", flush=True)
        _say_ready()
        await stopped.wait()
    say("the cluster has stopped")


def _say_ready() -> None:
    told = os.environ.pop(READY, "")
    if told.isdigit():
        os.write(int(told), b"ready\n")
        os.close(int(told))


def _detach(home: Home, data_dir: Path | None, port: int, *, workloads: bool) -> int:
    with home.held():
        pass  # say so here if one runs already, and not in a log
    command = [sys.executable, "-m", "penstock.cli.cluster", "start", f"--port={port}"]
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
    say(f"the cluster runs at {told['server']}; stop it with 'penstock cluster stop'")
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


def run(arguments: list[str]) -> int:
    """Run one of these verbs and return its exit code; what goes wrong is one sentence."""
    try:
        code = typer.main.get_command(app).main(arguments, prog_name="penstock cluster", standalone_mode=False)
    except PenstockError as error:
        print(f"✗ {error}", file=sys.stderr)
        return error.exit_code
    return code if isinstance(code, int) else 0


def _locked(file: IO[bytes]) -> bool:
    """Take the lock if nobody has it; it goes when the file is closed."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


if __name__ == "__main__":
    # How a detached cluster is started: without the rest of the command.
    sys.exit(run(sys.argv[1:]))
