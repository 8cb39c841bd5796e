"""`kustomize build` side by side: the same trees, built by us and by the real kustomize in one run.

    python -m bench kustomize

Needs Go, which installs the real one once. Wall times, the best of several runs; memory is the peak of the process.
"""

import gc
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench import kustomize_trees as trees
from penstock.kustomize import build, build_result
from penstock.kustomize.cache import CACHE
from tests.kustomize.differential import real

SIZES = (1, 100, 1000, 3000)
ENOUGH = 1.0  # seconds after which one run has to do


def main() -> None:
    binary = real()
    if binary is None:
        print("  NOT RUN: Go is not installed, so there is no real kustomize to compare with")
        return
    print(
        f"  {'':<17}{'real':>10}{'command':>10}{'ratio':>8}{'first':>10}{'again':>10}{'ratio':>8}{'memory, real/ours':>20}"
    )
    with tempfile.TemporaryDirectory() as folder:
        for size in SIZES:
            _row(f"{size} objects", binary, trees.overlay(Path(folder) / str(size), size))
        _row("200 components", binary, trees.components(Path(folder) / "components", 200))
        _row("200 bases", binary, trees.bases(Path(folder) / "bases", 200))
        _one_file_changed(Path(folder) / "changed")


def _row(name: str, binary: Path, tree: Path) -> None:
    penstock = str(Path(sys.executable).with_name("penstock"))
    ours, theirs = [penstock, "build", str(tree)], [str(binary), "build", str(tree)]
    assert _output(ours) == _output(theirs), f"{name}: the outputs differ"
    real_time, command = _best(lambda: _output(theirs)), _best(lambda: _output(ours))
    first = _best(lambda: build_result(tree), before=CACHE.clear)
    again = _best(lambda: build_result(tree))
    memory = f"{_peak(theirs):.0f}/{_peak(ours):.0f} MB"
    print(
        f"  {name:<17}{_ms(real_time)}{_ms(command)}{real_time / command:7.1f}x"
        f"{_ms(first)}{_ms(again)}{real_time / first:7.1f}x{memory:>20}"
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


def _output(command: list[str]) -> bytes:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    return subprocess.run(command, capture_output=True, check=True, env=environment).stdout


def _best(work: Callable[[], object], before: Callable[[], object] = lambda: None) -> float:
    """The shortest of up to seven runs."""
    times: list[float] = []
    while len(times) < 7 and sum(times) < ENOUGH:
        before()
        gc.collect()
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return min(times)


def _peak(command: list[str]) -> float:
    """The peak memory of a command in megabytes."""
    child = os.posix_spawn(
        command[0], command, os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)]
    )
    _, _, usage = os.wait4(child, 0)
    assert isinstance(usage, resource.struct_rusage)
    return usage.ru_maxrss / 1024


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:7.0f} ms"
