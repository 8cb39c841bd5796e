"""How long the command takes to start: the best of several runs, since everything else is somebody else's noise."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

RUNS = 7


def main() -> None:
    penstock = Path(sys.executable).with_name("penstock")
    for arguments in (["--help"], ["version"], ["kinds"]):
        best = min(_seconds([str(penstock), *arguments]) for _ in range(RUNS))
        print(f"  penstock {' '.join(arguments):<10} {best * 1000:6.0f} ms")
    bare = min(_seconds([sys.executable, "-c", "pass"]) for _ in range(RUNS))
    print(f"  python alone        {bare * 1000:6.0f} ms")


def _seconds(command: list[str]) -> float:
    begun = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begun
