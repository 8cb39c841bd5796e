"""Where a kustomization lies: what it may read, and how its files are called in messages."""

import posixpath
from typing import NamedTuple

from penstock.kustomize.context import Context
from penstock.kustomize.loader import Loader
from penstock.kustomize.origin import Origin
from penstock.schema import Schema


class Place(NamedTuple):
    """One kustomization file of a build."""

    loader: Loader
    file_name: str
    origin: Origin
    context: Context

    @property
    def schema(self) -> Schema:
        return self.context.schema

    @property
    def file(self) -> str:
        """The kustomization file, as messages call it."""
        return self.name(self.file_name)

    def name(self, path: str) -> str:
        """A file named in the kustomization, as messages call it."""
        return posixpath.normpath(posixpath.join(self.origin.path, path))

    def read(self, path: str) -> bytes:
        """The content of a file named in the kustomization."""
        return self.loader.read(path)
