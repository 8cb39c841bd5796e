"""`kustomize build` side by side: the same trees, built by us and by the real kustomize in one run.

    python -m bench kustomize

Needs Go, which installs the real one once. Wall times, the best of several runs unless one takes long. `library` is a
call in a process that has built before, without a cache. The second table shows what a cache saves: the first build of
a tree, the second when nothing changed, and the second when one file changed; it should grow with the change, not with
the tree. Both hand out all objects.
"""

import gc
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from bench import kustomize_trees as trees
from penstock.kustomize import Cache, build
from tests.kustomize.differential import real

SIZES = (1, 100, 1000, 3000)
RUNS = 7
STARTS = 20
ENOUGH = 1.0  # seconds after which no further run is tried
PENSTOCK = str(Path(sys.executable).with_name("penstock"))
COLUMNS = {"real": 10, "command": 10, "ratio": 8, "library": 10, "ratio ": 8, "memory, real/ours": 20}
AGAIN = {"first": 10, "unchanged": 11, "one file changed": 18, "first / changed": 17}


def main() -> None:
    binary = real()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tree = {size: trees.overlay(folder / str(size), size) for size in SIZES}
        _run([PENSTOCK, "build", str(tree[1])])  # so that the bytecode is cached, as it is in any installation
        _start(tree[1])
        print(" " * 19 + "".join(f"{name:>{width}}" for name, width in COLUMNS.items()))
        for size in SIZES:
            _row(f"{size} objects", binary, tree[size])
        _row("200 components", binary, trees.components(folder / "components", 200))
        _row("200 bases", binary, trees.bases(folder / "bases", 200))
        print(" " * 19 + "".join(f"{name:>{width}}" for name, width in AGAIN.items()))
        for size in SIZES[1:]:
            _again(f"{size} objects", tree[size])


def _start(tree: Path) -> None:
    """What the smallest build costs as a command, beside a Python that does nothing."""
    for name, command in (
        ("penstock build, 1 object", [PENSTOCK, "build", str(tree)]),
        ("python that does nothing", [sys.executable, "-c", "pass"]),
    ):
        runs = [_run(command) for _ in range(STARTS)]
        wall, cpu = (statistics.median(one) for one in zip(*((run.seconds, run.cpu) for run in runs), strict=True))
        print(f"  {name}: {_ms(wall).strip()}, of which CPU {_ms(cpu).strip()} (median of {STARTS})")


def _row(name: str, binary: Path, tree: Path) -> None:
    theirs = _best_run([str(binary), "build", str(tree)])
    ours = _best_run([PENSTOCK, "build", str(tree)])
    assert theirs.printed == ours.printed, f"{name}: the outputs differ"
    library = _best(lambda: build(tree, cache=None))
    memory = f"{theirs.peak:.0f}/{ours.peak:.0f} MB"
    print(
        f"  {name:<17}{_ms(theirs.seconds)}{_ms(ours.seconds)}{theirs.seconds / ours.seconds:7.1f}x"
        f"{_ms(library)}{theirs.seconds / library:7.1f}x{memory:>20}"
    )


def _again(name: str, tree: Path) -> None:
    first = _best(lambda: build(tree, cache=Cache()))
    cache = Cache()
    build(tree, cache=cache)
    unchanged = _best(lambda: build(tree, cache=cache))
    file = tree.parent / "base" / "2.yaml"
    text = file.read_text()
    counter = iter(range(1_000_000))

    def change() -> None:
        file.write_text(text.replace("production", f"production-{next(counter)}"))

    changed = _best(lambda: build(tree, cache=cache), before=change)
    print(f"  {name:<17}{_ms(first)}{_ms(unchanged):>11}{_ms(changed):>18}{first / changed:16.1f}x")


class Run(NamedTuple):
    """One run of a command."""

    printed: bytes
    seconds: float
    cpu: float  # seconds
    peak: float  # megabytes


def _best_run(command: list[str]) -> Run:
    runs = [_run(command)]
    while sum(run.seconds for run in runs) < ENOUGH and len(runs) < RUNS:
        runs.append(_run(command))
    return min(runs, key=lambda run: run.seconds)


def _run(command: list[str]) -> Run:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    begun = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment) as child:
        assert child.stdout is not None
        printed = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - begun
        child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0, command
    return Run(printed, seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def _best(work: Callable[[], object], before: Callable[[], object] = lambda: None) -> float:
    """The shortest of several calls."""
    times: list[float] = []
    while not times or (len(times) < RUNS and sum(times) < ENOUGH):
        before()
        gc.collect()
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return min(times)


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:7.0f} ms"
