"""One installation for all tests of a module, on either backend."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from penstock.embedded import cluster
from tests.clusters import BACKENDS, KUBECONFIG
from tests.controllers.flux_cli.installation import installed
from tests.controlplane.build import NoGo
from tests.peers import flux

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from tests.controllers.flux_cli.installation import Installation


@pytest.fixture(scope="module")
def flux_program() -> Path:
    try:
        return flux()
    except NoGo as error:
        pytest.skip(f"not here: {error}")


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=BACKENDS)
async def installation(
    request: pytest.FixtureRequest, flux_program: Path, imported: None, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[Installation]:
    folder = tmp_path_factory.mktemp("installation")
    if request.param == "real":
        async with installed(request.config.stash[KUBECONFIG], request.param, flux_program, folder) as made:
            yield made
        return
    async with (
        cluster(workloads=False) as running,
        installed(running.kubeconfig, request.param, flux_program, folder) as made,
    ):
        yield made
