"""Artifacts: where they are kept, how they are served and fetched, and their unpacked trees.

`ArtifactStore` keeps the files of sources in Flux's layout, `ArtifactServer` serves them, `ArtifactFetcher` gets them
from any server of this kind, and `Trees` gives out their content, unpacked once for all.
"""

from penstock.sources.store.fetch import ArtifactFetcher, ArtifactGone, DigestMismatch, FetchError
from penstock.sources.store.files import Retention
from penstock.sources.store.records import RevisionMissing
from penstock.sources.store.scratch import Scratch
from penstock.sources.store.server import ArtifactServer, advertised
from penstock.sources.store.store import ArtifactDamaged, ArtifactMissing, ArtifactStore, StoreError
from penstock.sources.store.trees import Trees

__all__ = [
    "ArtifactDamaged",
    "ArtifactFetcher",
    "ArtifactGone",
    "ArtifactMissing",
    "ArtifactServer",
    "ArtifactStore",
    "DigestMismatch",
    "FetchError",
    "Retention",
    "RevisionMissing",
    "Scratch",
    "StoreError",
    "Trees",
    "advertised",
]
