"""How a kustomization reads what it names: files below it, directories beside it, remote ones if they are allowed.

Directories may lie outside, as `../base` does, but never contain the one that names them: that would be a cycle. What
comes from a repository stays inside its clone.
"""

import posixpath
import re
from typing import TYPE_CHECKING, NamedTuple, Protocol

from penstock.kustomize.errors import LoadError
from penstock.paths import DiskTree, FileError, Tree, is_within

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.kustomize.repospec import RepoSpec

# Not compiled before a path is met that may be remote: most trees are local, and all of them should start fast.
_MAYBE_REMOTE = r"(?i)[a-z]+://|git::|[a-z][a-z0-9-]*@|github\.com[/:]"


class Remotes(Protocol):
    """Where clones and files from elsewhere come from."""

    def fetch(self, url: str) -> bytes: ...

    def clone(self, spec: "RepoSpec") -> "Path": ...


class Loader(NamedTuple):
    """Reads for the kustomization in the directory `root`, a real path."""

    root: str
    tree: Tree
    restrict: bool
    remotes: Remotes | None = None  # None: nothing from elsewhere
    parent: "Loader | None" = None
    depth: int = 0
    clone: str = ""  # the clone that the root lies in

    def read(self, path: str) -> bytes:
        """The content of a file; a relative path starts at the root."""
        if path[:8].lower().startswith(("http://", "https://")):
            return self._fetch(path)
        try:
            full = path if path.startswith("/") else f"{self.root.rstrip('/')}/{path}"
            return self.tree.read(full, within=self.root if self.restrict else None)
        except FileError as error:
            raise LoadError(str(error)) from error

    def enter(self, path: str) -> "Loader":
        """The loader of a directory that the kustomization names."""
        if not path:
            raise LoadError("a base or component without a path")
        if (spec := self.repository(path)) is not None:
            return self._enter_clone(path, spec)
        if path.startswith("/"):
            raise LoadError(f"the directory '{path}' must be given relative to '{self.root}'")
        try:
            root = self.tree.directory(posixpath.join(self.root, path))
        except FileError as error:
            raise LoadError(str(error)) from error
        if self.clone and not is_within(root, self.clone):
            raise LoadError(f"'{path}' leads out of the repository that names it")
        self._refuse_cycle(root)
        return self._replace(root=root, parent=self, depth=self.depth + 1)

    def repository(self, path: str) -> "RepoSpec | None":
        """The repository that a path names, None for a local one."""
        if not (":" in path or "@" in path or ".com/" in path.lower()) or not re.match(_MAYBE_REMOTE, path):
            return None
        from penstock.kustomize import repospec  # most trees are local

        return repospec.parse(path)

    def _fetch(self, url: str) -> bytes:
        if self.remotes is None:
            raise LoadError(f"'{url}' is remote, and remote files are not allowed")
        return self.remotes.fetch(url)

    def _enter_clone(self, path: str, spec: "RepoSpec") -> "Loader":
        if self.remotes is None:
            raise LoadError(f"'{path}' is remote, and remote bases are not allowed")
        clone = str(self.remotes.clone(spec))
        tree = DiskTree()  # a clone lies outside of any tree that is confined
        try:
            root = tree.directory(posixpath.join(clone, spec.path))
        except FileError as error:
            raise LoadError(f"'{path}': {error}") from error
        if not is_within(root, clone):
            raise LoadError(f"'{path}' leads out of its repository")
        self._refuse_cycle(root)
        return self._replace(root=root, tree=tree, restrict=True, parent=self, depth=self.depth + 1, clone=clone)

    def _refuse_cycle(self, root: str) -> None:
        loader: Loader | None = self
        while loader is not None:
            if is_within(loader.root, root):
                raise LoadError(f"cycle: '{root}' contains '{loader.root}', which leads to it")
            loader = loader.parent
