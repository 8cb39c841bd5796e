"""The real controllers of Flux, as programs that work on the cluster of a test."""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import pytest

from tests.controlplane.build import NoGo
from tests.peers import flux_controller

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from tests.clusters import Cluster

VERSIONS = {"source-controller": "v1.9.0", "kustomize-controller": "v1.9.4"}
MINUTES = 40
"""For the first build of a controller on a small and busy machine."""


def program(name: str) -> Path:
    """The path of the controller, built first where needed; skips the test where there is no Go."""
    try:
        return flux_controller(name, VERSIONS[name])
    except NoGo as error:
        pytest.skip(f"not here: {error}")


@asynccontextmanager
async def flux(path: Path, cluster: Cluster, folder: Path, *flags: str) -> AsyncGenerator[None]:
    """Run a controller on the namespace of the test; what it logs goes to a file in the folder."""
    environment = {**os.environ, "KUBECONFIG": str(cluster.kubeconfig), "RUNTIME_NAMESPACE": cluster.namespace}
    log = folder / f"{path.name}.log"
    with log.open("wb") as out:
        process = await asyncio.create_subprocess_exec(
            *(str(path), "--watch-all-namespaces=false", "--metrics-addr=0", "--health-addr=0", *flags),
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=out,
            stderr=out,
        )
        try:
            yield
        except BaseException:
            print(log.read_text()[-4000:])  # noqa: T201 - pytest shows it with the failure
            raise
        finally:
            with suppress(ProcessLookupError):
                process.terminate()
            try:
                async with asyncio.timeout(20):
                    await process.wait()
            except TimeoutError:
                process.kill()
                await process.wait()
