"""The example that comes with the package."""

from __future__ import annotations

from pathlib import Path

import penstock
from penstock.errors import PenstockError

CLUSTER = "staging"
"""Of those who name none: the example is to run at once."""


def folder() -> Path:
    """Where the example lies: in the installed package, or in the checkout that the package runs from."""
    package = Path(penstock.__file__).parent
    for place in (package / "examples" / "shop", package.parents[1] / "examples" / "shop"):
        if place.is_dir():
            return place
    raise PenstockError("the example is not in this installation; name a directory: penstock up PATH")
