"""`penstock cluster`: an embedded cluster that runs here, for rehearsal, tests and first steps."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli import foreground
from penstock.cli.foreground import STOP_WITHIN, Home, NotRunning
from penstock.cli.output import Output, say, to_json, to_yaml
from penstock.errors import PenstockError

app = typer.Typer(no_args_is_help=True)

DataDirOption = Annotated[
    Path | None,
    typer.Option("--data-dir", help="Where the cluster keeps its objects; without it, in memory.", file_okay=False),
]
RunsInOption = Annotated[
    Path | None, typer.Option("--data-dir", help="The data directory that it was started with.", file_okay=False)
]
PortOption = Annotated[int, typer.Option("--port", min=0, max=65535, help="The port on 127.0.0.1; 0 takes a free one.")]
WorkloadsOption = Annotated[
    bool,
    typer.Option("--workloads/--no-workloads", help="Whether Deployments, Jobs and the like get pods that run."),
]
DetachOption = Annotated[bool, typer.Option("--detach", "-d", help="Run in the background.")]
OutputOption = Annotated[Output | None, typer.Option("-o", "--output", help="json or yaml.")]


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
    return foreground.start(data_dir, port, workloads=workloads, detach=detach)


@app.command()
def stop(data_dir: RunsInOption = None) -> int:
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
def status(data_dir: RunsInOption = None, output: OutputOption = None) -> int:
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
def kubeconfig(data_dir: RunsInOption = None) -> int:
    """Print the admin's kubeconfig of the cluster that runs: penstock cluster kubeconfig > kubeconfig"""
    home = Home.of(data_dir)
    home.running()
    sys.stdout.write(home.kubeconfig.read_text())
    return 0


def run(arguments: list[str]) -> int:
    """Run one of these verbs and return its exit code; what goes wrong is one sentence."""
    try:
        code = typer.main.get_command(app).main(arguments, prog_name="penstock cluster", standalone_mode=False)
    except PenstockError as error:
        print(f"✗ {error}", file=sys.stderr)
        return error.exit_code
    return code if isinstance(code, int) else 0


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
