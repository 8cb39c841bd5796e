"""A running controller for every test that asks for a `world`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from penstock.api.durations import SECOND, Duration
from penstock.controllers.kustomization.settings import Gates, Settings
from penstock.runtime import Metrics
from tests.controllers.kustomization.world import running

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from penstock.sources.store import ArtifactStore
    from tests.clusters import Cluster
    from tests.controllers.kustomization.world import World


@pytest.fixture
def metrics() -> Metrics:
    """Made outside the event loop: its first import reads files."""
    return Metrics()


@pytest.fixture
def settings(cluster: Cluster) -> Settings:
    """As in the suite that the scenarios come from; a test may have others by a fixture of the same name."""
    return Settings(
        requeue_dependency=Duration(2 * SECOND),
        override_managers=("node-fetch",),
        age_secret="sops-age-secret",
        runtime_namespace=cluster.namespace,
        watch_namespace=cluster.namespace,
        gates=Gates(
            cancel_health_check_on_new_revision=True,
            disable_config_watchers=True,
            disable_fail_fast_behavior=True,
            external_artifact=True,
            strict_post_build_substitutions=False,
        ),
    )


@pytest.fixture
def store() -> ArtifactStore | None:
    """None, as in a process without sources; a test may have one by a fixture of the same name."""
    return None


@pytest_asyncio.fixture
async def world(
    cluster: Cluster, settings: Settings, tmp_path: Path, metrics: Metrics, store: ArtifactStore | None
) -> AsyncGenerator[World]:
    async with running(cluster, settings, tmp_path, metrics, store) as made:
        yield made
