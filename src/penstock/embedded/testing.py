"""A pytest plugin for other people: an embedded cluster for a test.

    pytest_plugins = ["penstock.embedded.testing"]  # in conftest.py

    async def test_something(embedded_client: Client) -> None:
        await embedded_client.create(CONFIG_MAPS, {...}, namespace="default")

Every test has a cluster of its own, in its own process and in memory. The tests are asynchronous: pytest-asyncio (or
a plugin like it) must be installed and run them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest_asyncio

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from penstock.embedded import Cluster
    from penstock.kube import Client

__all__ = ["embedded_client", "embedded_cluster"]


@pytest_asyncio.fixture
async def embedded_cluster() -> AsyncGenerator[Cluster]:
    """A cluster that runs: `embedded_cluster.settings`, `.kubeconfig`, `.client()`."""
    from penstock.embedded import cluster

    async with cluster() as running:
        yield running


@pytest_asyncio.fixture
async def embedded_client(embedded_cluster: Cluster) -> AsyncGenerator[Client]:
    """A client of it, with an admin's rights."""
    async with embedded_cluster.client() as client:
        yield client
