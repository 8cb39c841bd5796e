"""Random trees built by us and by the real kustomize, compared byte for byte.

    python -m tests.kustomize.differential COUNT [FIRST]

The real one is installed with Go, once, into the user's cache. Seeds that differ are printed; `FIRST` with a count of 1
shows one of them. Trees that either side refuses must be refused by both.

The command spends most of its time on reading its schema. So the library that it is made of builds many trees in one
process, and the command itself has the last word: on every tree with which we differ, and on some of the others.
"""

import difflib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from penstock.errors import PenstockError
from penstock.kustomize import Options, build_result
from tests.controlplane.build import NoGo
from tests.kustomize.random_trees import Files, tree
from tests.peers import flux_says, installed

VERSION = "v5.8.1"
MODULE = "sigs.k8s.io/kustomize/kustomize/v5"
AT_ONCE = 100
SAMPLE = 20
"""Of so many trees the command builds one, whatever the library said."""


def real() -> Path:
    """The real kustomize, installed if need be; NoGo without Go."""
    return installed("kustomize", MODULE, VERSION)


def differences(binary: Path, seeds: range) -> Iterator[tuple[int, str]]:
    """The seeds on which we differ, and how."""
    for first in range(seeds.start, seeds.stop, AT_ONCE):
        with tempfile.TemporaryDirectory() as folder:
            tops = {seed: Path(folder) / str(seed) / "top" for seed in range(first, min(first + AT_ONCE, seeds.stop))}
            for seed, top in tops.items():
                write(top.parent, tree(seed))
            answers = flux_says("kustomize", map(str, tops.values()))
            for (seed, top), answer in zip(tops.items(), answers, strict=True):
                agreed = ours(top) == (None if answer.error else answer.value)
                if agreed and seed % SAMPLE:
                    continue
                if difference := compare(binary, top):
                    yield seed, difference


def write(folder: Path, files: Files) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def compare(binary: Path, top: Path) -> str:
    """How the two builds differ; empty if they do not."""
    command = [str(binary), "build", "--reorder=none", str(top)]
    run = subprocess.run(command, capture_output=True, check=False, env={"PATH": os.environ["PATH"], "HOME": str(top)})
    theirs = run.stdout.decode() if run.returncode == 0 else None
    try:
        built = build(top)
    except PenstockError as error:
        return "" if theirs is None else f"we refuse it: {error}\n"
    if theirs is None and b"panic: " in run.stderr and b"already registered" not in run.stderr:
        return ""  # a crash says nothing
    if theirs is None:
        return f"they refuse it: {run.stderr.decode()[-600:]}\n"
    return "".join(difflib.unified_diff(theirs.splitlines(True), built.splitlines(True), "real", "ours"))


def build(top: Path) -> str:
    return build_result(top, options=Options(reorder="none")).as_yaml()


def ours(top: Path) -> str | None:
    """What we make of it; None when we refuse it."""
    try:
        return build(top)
    except PenstockError:
        return None


def main(arguments: list[str]) -> int:
    try:
        binary = real()
    except NoGo as error:
        sys.stderr.write(f"differential NOT RUN: {error}\n")
        return 0
    count, first = int(arguments[0]), int(arguments[1]) if len(arguments) > 1 else 0
    found = 0
    for seed, difference in differences(binary, range(first, first + count)):
        found += 1
        sys.stdout.write(f"seed {seed}:\n{difference}\n")
    sys.stdout.write(f"{count} trees from seed {first}: {found} differ\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
