"""Penstock: a GitOps engine in Python that speaks Flux's API.

`build`, `diff`, `decrypt` and `cluster` are the library in four words; they are imported when they are first used.
Every folder is one concept; ARCHITECTURE.md shows the way the data takes through them.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.embedded import cluster
    from penstock.library import build, decrypt, diff

__all__ = ["__version__", "build", "cluster", "decrypt", "diff"]

__version__ = "0.1.0.dev0"

_HOMES = {
    "build": "penstock.library",
    "cluster": "penstock.embedded",
    "decrypt": "penstock.library",
    "diff": "penstock.library",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for and no more: the command has to start fast."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)
