"""The controllers of sources: one pipeline from an object to its artifact, and the hooks of each kind.

A kind is a `SourceKind`; `source_controller` makes a controller of it.
"""

from penstock.controllers.sources.controller import Setup, source_controller
from penstock.controllers.sources.kind import Outdated, SourceKind
from penstock.controllers.sources.surroundings import Surroundings

__all__ = ["Outdated", "Setup", "SourceKind", "Surroundings", "source_controller"]
