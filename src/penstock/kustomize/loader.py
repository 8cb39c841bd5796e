"""How a kustomization reads what it names: files below it, directories beside it, nothing else.

Directories may lie anywhere above the files' confinement, as `../base` does, but never contain the one that
names them: that would be a cycle.
"""

import posixpath
import re
from typing import NamedTuple

from penstock.kustomize.errors import LoadError
from penstock.paths import FileError, Tree, is_within

_URL = re.compile(r"https?://", re.IGNORECASE)


class Loader(NamedTuple):
    """Reads for the kustomization in the directory `root`, a real path."""

    root: str
    tree: Tree
    restrict: bool
    parent: "Loader | None" = None
    depth: int = 0

    def read(self, path: str) -> bytes:
        """The content of a file; a relative path starts at the root."""
        if "://" in path and _URL.match(path):
            raise LoadError(f"'{path}' is remote; remote files are not allowed here")
        try:
            full = path if path.startswith("/") else f"{self.root}/{path}"
            return self.tree.read(full, within=self.root if self.restrict else None)
        except FileError as error:
            raise LoadError(str(error)) from error

    def enter(self, path: str) -> "Loader":
        """The loader of a directory that the kustomization names."""
        if not path:
            raise LoadError("a base or component without a path")
        if path.startswith("/"):
            raise LoadError(f"the directory '{path}' must be given relative to '{self.root}'")
        try:
            root = self.tree.directory(posixpath.join(self.root, path))
        except FileError as error:
            raise LoadError(str(error)) from error
        self._refuse_cycle(root)
        return Loader(root, self.tree, self.restrict, self, self.depth + 1)

    def _refuse_cycle(self, root: str) -> None:
        loader: Loader | None = self
        while loader is not None:
            if is_within(loader.root, root):
                raise LoadError(f"cycle: '{root}' contains '{loader.root}', which leads to it")
            loader = loader.parent
