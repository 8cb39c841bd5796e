"""The verbs in front of a running controller: what people do on a day, from one end to the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from penstock.controllers.kustomization.settings import Settings
from penstock.runtime import Metrics
from tests.cli.stage import Stage
from tests.controllers.kustomization.manifests import config_map
from tests.controllers.kustomization.world import running

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from tests.clusters import Cluster
    from tests.controllers.kustomization.world import World


@pytest.fixture
def metrics() -> Metrics:
    """Made outside the event loop: its first import reads files."""
    return Metrics()


@pytest_asyncio.fixture
async def world(verbs_imported: None, cluster: Cluster, tmp_path: Path, metrics: Metrics) -> AsyncGenerator[World]:
    settings = Settings(runtime_namespace=cluster.namespace, watch_namespace=cluster.namespace)
    async with running(cluster, settings, tmp_path, metrics) as made:
        yield made


@pytest.mark.timeout(180)  # ten commands, each of which has its own bound
async def test_a_day(world: World) -> None:
    stage = Stage(world.cluster)
    await world.source("v1.0.0", {"config.yaml": config_map("settings")})
    await world.kustomization()
    await world.until_applied("v1.0.0")

    ended = await stage.run("reconcile", "ks", "apps")
    assert (ended.code, ended.err.splitlines()[-1]) == (0, "✔ applied revision v1.0.0")
    assert (await stage.run("tree", "ks", "apps")).out.splitlines()[1] == f"└── ConfigMap/{stage.namespace}/settings"
    assert "Path:            ./\nRevision:        v1.0.0\n" in (await stage.run("trace", "cm/settings")).out

    await stage.run("suspend", "ks", "apps", "--reason=no changes on Fridays", "--for=1h")
    await world.source("v2.0.0", {"kustomization.yaml": "resources: [missing.yaml]\n"})
    ended = await stage.run("reconcile", "ks", "apps")
    assert (ended.code, "resource is suspended" in ended.err) == (1, True)
    ended = await stage.run("resume", "ks", "apps")
    assert ended.code == 1
    assert "missing.yaml" in ended.err

    ended = await stage.run("reconcile", "ks", "apps")
    assert ended.code == 1
    assert ended.err.splitlines()[-1].startswith("✗ Kustomization reconciliation failed: ")
    assert "missing.yaml" in ended.err.splitlines()[-1]
    [row] = (await stage.run("get", "ks", "--status-selector=ready=false", "--no-header")).rows
    assert row[:4] == ["apps", "v1.0.0", "False", "False"]

    await world.source("v3.0.0", {"config.yaml": config_map("settings")})
    await world.until_applied("v3.0.0")
    assert (await stage.run("reconcile", "ks", "apps")).code == 0
    ended = await stage.run("delete", "ks", "apps", "--silent")
    assert ended.err.splitlines()[0] == "► 1 object that it has applied will be deleted with it"
    await world.until_gone()
    assert await world.config_map("settings") is None
