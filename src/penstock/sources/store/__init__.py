"""Artifacts: where they are kept, how they are served and fetched, and their unpacked trees.

`ArtifactStore` keeps the files of sources in Flux's layout.
"""

from penstock.sources.store.files import Retention
from penstock.sources.store.store import ArtifactDamaged, ArtifactMissing, ArtifactStore, StoreError

__all__ = ["ArtifactDamaged", "ArtifactMissing", "ArtifactStore", "Retention", "StoreError"]
