"""A repository, its web server and a running controller for every test of GitRepositories."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from penstock.controllers.sources.git_repository import GitRepositories
from penstock.sources.git import Git
from tests.controllers.sources.running import SOON, running
from tests.sources.git.repositories import Repository
from tests.sources.git.server import serving

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from penstock.runtime.metrics import Metrics
    from tests.clusters import Cluster
    from tests.controllers.sources.running import Sources
    from tests.sources.git.server import GitServer


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "served" / "app.git")


@pytest.fixture
async def server(repository: Repository) -> AsyncGenerator[GitServer]:
    async with serving(repository.path.parent) as server:
        yield server


@pytest.fixture
async def sources(cluster: Cluster, tmp_path: Path, metrics: Metrics, server: GitServer) -> AsyncGenerator[Sources]:
    async with (
        Git.open(tmp_path / "mirrors") as git,
        running(cluster, GitRepositories(git), tmp_path, metrics, dependency=0.05, backoff=SOON) as sources,
    ):
        yield sources
