"""Files of a tree that somebody else wrote: read by name, never outside the directory that was allowed.

`DiskTree` reads directories of this machine, `MemoryTree` a mapping of names to bytes. Both resolve links the
same way and answer through the protocol `Tree`.
"""

from penstock.paths.disk import DiskTree
from penstock.paths.errors import EscapeError, FileError
from penstock.paths.memory import MemoryTree
from penstock.paths.tree import Tree, is_within

__all__ = ["DiskTree", "EscapeError", "FileError", "MemoryTree", "Tree", "is_within"]
