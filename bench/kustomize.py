"""`kustomize build` side by side: the same trees, built by us and by the real kustomize in one run.

    python -m bench kustomize

Needs Go, which installs the real one once. Wall times, the best of several runs unless one takes long; `first` and
`again` are library calls in a warm process, without and with the parsed files of the last build.
"""

import gc
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench import kustomize_trees as trees
from penstock.kustomize import build, build_result
from penstock.kustomize.cache import SHARED
from tests.kustomize.differential import real

SIZES = (1, 100, 1000, 3000)
RUNS = 7
ENOUGH = 1.0  # seconds after which no further run is tried
COLUMNS = {"real": 10, "command": 10, "ratio": 8, "first": 10, "again": 10, "ratio ": 8, "memory, real/ours": 20}


def main() -> None:
    binary = real()
    print(" " * 19 + "".join(f"{name:>{width}}" for name, width in COLUMNS.items()))
    with tempfile.TemporaryDirectory() as folder:
        for size in SIZES:
            _row(f"{size} objects", binary, trees.overlay(Path(folder) / str(size), size))
        _row("200 components", binary, trees.components(Path(folder) / "components", 200))
        _row("200 bases", binary, trees.bases(Path(folder) / "bases", 200))
        _one_file_changed(Path(folder) / "changed")


def _row(name: str, binary: Path, tree: Path) -> None:
    penstock = str(Path(sys.executable).with_name("penstock"))
    printed, real_time, real_peak = _command([str(binary), "build", str(tree)])
    own, command, peak = _command([penstock, "build", str(tree)])
    assert printed == own, f"{name}: the outputs differ"
    first = _best(lambda: build_result(tree), before=SHARED.clear)
    again = _best(lambda: build_result(tree))
    memory = f"{real_peak:.0f}/{peak:.0f} MB"
    print(
        f"  {name:<17}{_ms(real_time)}{_ms(command)}{real_time / command:7.1f}x"
        f"{_ms(first)}{_ms(again)}{real_time / again:7.1f}x{memory:>20}"
    )


def _one_file_changed(folder: Path) -> None:
    """What a build costs when one file of a thousand changed since the last."""
    top = trees.overlay(folder, 1000)
    build(top)
    file = folder / "base" / "2.yaml"
    text = file.read_text()
    counter = iter(range(1_000_000))
    changed = _best(lambda: build(top), before=lambda: file.write_text(text + f"# {next(counter)}\n"))
    unchanged = _best(lambda: build(top))
    print(f"  one file of 1000 changed: {_ms(changed).strip()}; none changed: {_ms(unchanged).strip()}")


def _command(command: list[str]) -> tuple[bytes, float, float]:
    """What a command prints, the seconds it takes at best, and its peak memory in megabytes."""
    printed, seconds, peak = _run(command)
    spent, runs = seconds, 1
    while spent < ENOUGH and runs < RUNS:
        _, another, _ = _run(command)
        spent, runs, seconds = spent + another, runs + 1, min(seconds, another)
    return printed, seconds, peak


def _run(command: list[str]) -> tuple[bytes, float, float]:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    begun = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment) as child:
        assert child.stdout is not None
        printed = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - begun
        child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0, command
    return printed, seconds, usage.ru_maxrss / 1024


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
