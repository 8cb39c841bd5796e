"""Random trees built by us and by the real kustomize, compared byte for byte.

    python -m tests.kustomize.differential COUNT [FIRST]

The real one is installed with Go, once, into the user's cache. Seeds that differ are printed; `FIRST` with a count of 1
shows one of them. Trees that either side refuses must be refused by both.
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
from tests.peers import installed

VERSION = "v5.8.1"
MODULE = "sigs.k8s.io/kustomize/kustomize/v5"


def real() -> Path:
    """The real kustomize, installed if need be; NoGo without Go."""
    return installed("kustomize", MODULE, VERSION)


def differences(binary: Path, seeds: range) -> Iterator[tuple[int, str]]:
    """The seeds on which we differ, and how."""
    for seed in seeds:
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder), tree(seed))
            difference = compare(binary, Path(folder) / "top")
        if difference:
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
        ours = build_result(top, options=Options(reorder="none")).as_yaml()
    except PenstockError as error:
        return "" if theirs is None else f"we refuse it: {error}\n"
    if theirs is None and b"panic: " in run.stderr and b"already registered" not in run.stderr:
        return ""  # a crash says nothing
    if theirs is None:
        return f"they refuse it: {run.stderr.decode()[-600:]}\n"
    return "".join(difflib.unified_diff(theirs.splitlines(True), ours.splitlines(True), "real", "ours"))


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
