"""A directory that somebody works in stands for a source: what is saved there is what is applied, committed or not.

`LocalDirectory` is the place, `Workspace` knows which sources it stands for and tells when something is saved.
"""

from penstock.sources.local.directory import LocalDirectory
from penstock.sources.local.workspace import LocalSource, Workspace

__all__ = ["LocalDirectory", "LocalSource", "Workspace"]
