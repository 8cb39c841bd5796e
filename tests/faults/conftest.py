"""The API servers that faults are tried on: the tiny one in every run, a real one in `make e2e`."""

from __future__ import annotations

import asyncio
import os
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from penstock.kube import connect, load
from penstock.kube.resources import CONFIG_MAPS, NAMESPACES
from tests.clusters import GIVEN, KUBECONFIG, _new_namespace
from tests.kube.apiserver import api_server

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from penstock.kube import Client, Object, Settings


@dataclass(frozen=True, slots=True)
class Target:
    """An API server as it is behind the faults."""

    settings: Settings
    client: Client
    """Goes there directly, around the proxy."""
    namespace: str

    def config_map(self, name: str, **data: str) -> Object:
        return {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": self.namespace},
            "data": data,
        }

    async def put(self, name: str, **data: str) -> None:
        """Create or change a ConfigMap behind the back of whoever watches."""
        await self.client.apply(CONFIG_MAPS, self.config_map(name, **data), manager="test", force=True)

    async def remove(self, name: str) -> None:
        await self.client.delete(CONFIG_MAPS, name, self.namespace)

    async def names(self) -> set[str]:
        listing = await self.client.list(CONFIG_MAPS, self.namespace)
        return {obj["metadata"]["name"] for obj in listing.items} - {"kube-root-ca.crt"}


@pytest_asyncio.fixture(params=["tiny", pytest.param("real", marks=pytest.mark.real)])
async def target(request: pytest.FixtureRequest) -> AsyncGenerator[Target]:
    if request.param == "tiny":
        async with api_server() as server, connect(server.settings) as client:
            yield Target(server.settings, client, "default")
        return
    settings = await asyncio.to_thread(load, request.config.stash[KUBECONFIG])
    async with connect(settings) as client:
        namespace = await _new_namespace(client, request.node.originalname)
        yield Target(settings, client, namespace)
        if GIVEN in os.environ:  # all others go as a whole
            await client.delete(NAMESPACES, namespace)


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses with jitter take a hundredth of their time."""
    monkeypatch.setattr(random, "uniform", lambda low, _high: low / 100)
