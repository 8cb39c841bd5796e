"""A store, and files to put into it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from penstock.sources.store import ArtifactStore
from tests.sources.store.artifacts import tree

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def store(tmp_path: Path) -> ArtifactStore:
    return ArtifactStore(tmp_path / "store", address="source-controller.flux-system", now=lambda: 1_800_000_000.9)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    return tree(tmp_path / "files", a="1", d__b="2")
