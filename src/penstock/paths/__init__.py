"""Files of a tree that somebody else wrote: read by name, never outside the directory that was allowed.

`DiskTree` reads directories of this machine, `MemoryTree` a mapping of names to bytes, `LayeredTree` one directory with
some files replaced in memory. All resolve links the same way and answer through the protocol `Tree`. `pack` makes an
archive of a directory, `unpack` a directory of an archive, and `IgnoreRules` say what is left out.
"""

from penstock.paths.disk import DiskTree
from penstock.paths.errors import EscapeError, FileError
from penstock.paths.ignore import IgnoreError, IgnoreRules
from penstock.paths.layered import LayeredTree
from penstock.paths.memory import MemoryTree
from penstock.paths.pack import PackError, pack
from penstock.paths.tarball import ArchiveError
from penstock.paths.tree import Tree, is_within
from penstock.paths.unpack import Limits, unpack

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
