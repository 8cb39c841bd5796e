"""The example that comes with the package."""

from __future__ import annotations

import shutil
from pathlib import Path

import penstock
from penstock.errors import PenstockError, UsageError

CLUSTER = "staging"
"""Of those who name none: the example is to run at once."""


def folder() -> Path:
    """Where the example lies: in the installed package, or in the checkout that the package runs from."""
    package = Path(penstock.__file__).parent
    for place in (package / "examples" / "shop", package.parents[1] / "examples" / "shop"):
        if place.is_dir():
            return place
    raise PenstockError("the example is not in this installation; name a directory: penstock up PATH")


def write(into: Path) -> Path:
    """Copy the example into a new directory, to be changed there."""
    if into.exists():
        raise UsageError(f"--example: '{into}' is there already; run it with 'penstock up {into}'")
    shutil.copytree(folder(), into)
    return into
