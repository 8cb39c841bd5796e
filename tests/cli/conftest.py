"""A cluster with our kinds for every test of a verb that asks for a `stage`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from tests.cli.stage import Stage, load, staged

if TYPE_CHECKING:
    from tests.clusters import Cluster


@pytest.fixture(scope="session")
def verbs_imported() -> None:
    load()


@pytest_asyncio.fixture
async def stage(verbs_imported: None, cluster: Cluster) -> Stage:
    return await staged(cluster)
