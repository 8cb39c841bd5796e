"""Files of a tree that somebody else wrote: read by name, never outside the directory that was allowed.

`DiskTree` reads directories of this machine, `MemoryTree` a mapping of names to bytes, `LayeredTree` one directory with
some files replaced in memory. All resolve links the same way and answer through the protocol `Tree`. `pack` makes an
archive of a directory, `unpack` a directory of an archive, and `IgnoreRules` say what is left out.

What only archives need is loaded when it is first used: a build reads files, and has to start fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from penstock.paths.disk import DiskTree
from penstock.paths.errors import EscapeError, FileError
from penstock.paths.memory import MemoryTree
from penstock.paths.tree import Tree, is_within

if TYPE_CHECKING:
    from penstock.paths.ignore import IgnoreError, IgnoreRules
    from penstock.paths.layered import LayeredTree
    from penstock.paths.packing import PackError, pack
    from penstock.paths.tarball import ArchiveError
    from penstock.paths.unpacking import Limits, unpack

__all__ = [
    "ArchiveError",
    "DiskTree",
    "EscapeError",
    "FileError",
    "IgnoreError",
    "IgnoreRules",
    "LayeredTree",
    "Limits",
    "MemoryTree",
    "PackError",
    "Tree",
    "is_within",
    "pack",
    "unpack",
]

_HOMES = {
    "ArchiveError": "tarball",
    "IgnoreError": "ignore",
    "IgnoreRules": "ignore",
    "LayeredTree": "layered",
    "Limits": "unpacking",
    "PackError": "packing",
    "pack": "packing",
    "unpack": "unpacking",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
