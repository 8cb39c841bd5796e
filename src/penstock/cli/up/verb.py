"""The verb: its options, and what has to be asked before anything runs."""

from __future__ import annotations

import asyncio
import sys
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.access import ContextOption, KubeconfigOption, TimeoutOption, colour, duration
from penstock.cli.up import example as shipped
from penstock.cli.up.folders import Place, find
from penstock.errors import UsageError

if TYPE_CHECKING:
    from penstock.sources.local import LocalSource

PathArgument = Annotated[
    Path | None, typer.Argument(help="A Git repository or a directory; without it, the example of the package.")
]
ClusterOption = Annotated[str | None, typer.Option(metavar="NAME", help="Which folder of clusters/ is meant.")]
LocalSourceOption = Annotated[
    list[str] | None,
    typer.Option(metavar="KIND/NAMESPACE/NAME=DIR", help="A directory that stands for a source; may be repeated."),
]
ApplyOption = Annotated[
    list[Path] | None,
    typer.Option(metavar="FILE", help="Objects that are in no repository, such as keys, applied first."),
]
ExampleOption = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Copy the example into a new directory, and run it from there.")
]
DataDirOption = Annotated[
    Path | None, typer.Option(help="Where the cluster keeps its objects; without it, in memory.", file_okay=False)
]


def up(
    path: PathArgument = None,
    cluster: ClusterOption = None,
    once: Annotated[bool, typer.Option("--once", help="Wait until all has settled, say how, and end.")] = False,
    timeout: TimeoutOption = "5m",
    offline: Annotated[bool, typer.Option("--offline", help="Fetch nothing; report what is missing.")] = False,
    local_source: LocalSourceOption = None,
    apply: ApplyOption = None,
    example: ExampleOption = None,
    data_dir: DataDirOption = None,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
) -> int:
    """It starts an embedded cluster (or takes that of --kubeconfig) and all controllers, and applies what is saved.

    The directory stands for the source that its cluster follows, and for those whose URL is its remote. Repositories
    that lie side by side in PATH stand for the sources of their names, and YAML files beside them are applied first.
    Ctrl-C stops. With --once, the exit code is 0 when all is Ready, 1 when something is not, 124 out of time.
    """
    if path is not None and example is not None:
        raise UsageError("--example: the example runs from its own directory; leave the PATH out")
    if data_dir is not None and (kubeconfig is not None or context is not None):
        raise UsageError("--data-dir is for the embedded cluster, and --kubeconfig and --context name another")
    for file in apply or ():
        if not file.is_file():
            raise UsageError(f"--apply: there is no file '{file}'")
    limit = duration(timeout)
    named = _named(local_source or [])
    terminal = sys.stdin.isatty() and sys.stdout.isatty()
    place, chosen = _chosen(path, cluster, example, terminal=terminal)
    # What is heavy is imported when everything that can be wrong with the options has been found.
    from penstock.cli.up.run import Plan, run

    plan = Plan(
        place=place,
        cluster=chosen,
        named=named,
        first=tuple(apply or ()),
        offline=offline,
        once=once,
        live=terminal and colour(),
        timeout=limit,
        data_dir=data_dir.absolute() if data_dir is not None else None,
        kubeconfig=kubeconfig,
        context=context,
    )
    # The directory goes when the loop has ended with all its threads, and nobody can write into it any more.
    with nullcontext(data_dir) if data_dir else TemporaryDirectory(prefix="penstock-up-") as home:
        try:
            return asyncio.run(run(plan, Path(home).absolute()))
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None


def _named(texts: list[str]) -> tuple[LocalSource, ...]:
    if not texts:
        return ()
    from penstock.sources.local import LocalSource

    return tuple(map(LocalSource.parse, texts))


def _chosen(path: Path | None, cluster: str | None, example: Path | None, *, terminal: bool) -> tuple[Place, str]:
    """The directory and its cluster; the example has one that is meant when nobody says otherwise."""
    if path is not None:
        place = find(path)
        return place, place.choose(cluster, _asked if terminal else None)
    place = find(shipped.folder())
    chosen = place.choose(cluster or shipped.CLUSTER)
    return (find(shipped.write(example)) if example is not None else place), chosen


def _asked(clusters: tuple[str, ...]) -> str:
    """Let a person choose, by number or by name."""
    for number, folder in enumerate(clusters, 1):
        print(f"  {number}  {folder}")
    answer: str = typer.prompt("Which cluster")
    if answer.isdigit() and 0 < int(answer) <= len(clusters):
        return clusters[int(answer) - 1]
    return answer
