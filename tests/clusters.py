"""A pytest plugin: the cluster of a test, from one fixture with exchangeable backends.

    async def test_something(cluster: Cluster) -> None:
        await cluster.client.create(CONFIG_MAPS, {...}, namespace=cluster.namespace)

Such a test runs on the embedded cluster, and with `pytest --backend real` on a real control plane; one marked `real`
runs nowhere else. `PENSTOCK_E2E_KUBECONFIG` names a cluster to use instead of starting one.

Every test has an embedded cluster of its own, in its process. One real control plane serves the whole run, also with
several workers (xdist): the process that hands out the work owns it, and the workers get its kubeconfig. A test that
stops or kills programs starts a control plane of its own.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import re
import time
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from penstock.errors import PenstockError

# Every run loads this plugin, and most need no cluster: what is heavy is imported where it is used.
if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from penstock.kube import Client

BACKENDS = ("embedded", "real")

GIVEN = "PENSTOCK_E2E_KUBECONFIG"
KUBECONFIG = pytest.StashKey[Path]()


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster as one test sees it."""

    backend: str
    client: Client
    """An admin's."""
    kubeconfig: Path
    namespace: str
    """A fresh one. It is deleted after the test on a cluster that was given; all others go as a whole."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--backend", choices=BACKENDS, help="the one cluster on which tests that need one run")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "cluster" not in metafunc.fixturenames:
        return
    chosen: str | None = metafunc.config.getoption("backend")
    only_real = metafunc.definition.get_closest_marker("real") is not None
    backends = [chosen] if chosen else ["real"] if only_real else BACKENDS
    marks = {"real": [pytest.mark.real]}
    parameters = [pytest.param(name, marks=marks.get(name, [])) for name in backends]
    metafunc.parametrize("cluster", parameters, indirect=True)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("backend") == "real":
        return
    skip = pytest.mark.skip(reason="needs a real control plane: run `make e2e`, or pytest with `--backend real`")
    for item in items:
        if item.get_closest_marker("real"):
            item.add_marker(skip)


class SharedControlPlane:
    """The control plane of the whole run; lives in the process that hands out the work."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
        self._opened = AsyncExitStack()
        self._told = ""

    @pytest.hookimpl(tryfirst=True)  # before xdist starts its workers
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        from tests.controlplane.build import build
        from tests.controlplane.plane import controlplane

        started = time.monotonic()
        try:
            build()  # said on the terminal; in a fixture nobody would see it, and it would time out
            plane = self._runner.run(self._opened.enter_async_context(controlplane()))
        except PenstockError as error:
            raise pytest.UsageError(f"there is no real control plane: {error}") from error
        session.config.stash[KUBECONFIG] = plane.kubeconfig
        self._told = f"control plane: {plane.server}, ready in {time.monotonic() - started:.1f} s"

    def pytest_report_header(self) -> str:
        return self._told

    def pytest_unconfigure(self) -> None:
        with self._runner:
            self._runner.run(self._opened.aclose())


class Handover:
    """Tells the workers of xdist where the cluster is."""

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput["kubeconfig"] = str(node.config.stash[KUBECONFIG])


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("backend") != "real" or config.getoption("collectonly"):
        return
    handed: dict[str, Any] | None = getattr(config, "workerinput", None)
    if handed is not None:
        config.stash[KUBECONFIG] = Path(handed["kubeconfig"])
        return
    config.pluginmanager.register(Handover())
    if given := os.environ.get(GIVEN):
        config.stash[KUBECONFIG] = Path(given)
    else:
        config.pluginmanager.register(SharedControlPlane())


@pytest.fixture(scope="session")
def imported() -> None:
    """What the cluster fixtures need, imported before an event loop runs: in it, reading files counts as blocking."""
    for name in ("penstock.kube", "penstock.embedded.pods", "penstock.embedded.server.instance"):
        importlib.import_module(name)


@pytest_asyncio.fixture
async def cluster(request: pytest.FixtureRequest, imported: None) -> AsyncGenerator[Cluster]:
    """A cluster with a namespace of the test's own, whose default service account is there."""
    from penstock.kube import connect, load
    from penstock.kube.errors import NotFound
    from penstock.kube.resources import NAMESPACES

    async with _kubeconfig(request) as kubeconfig, connect(await asyncio.to_thread(load, kubeconfig)) as client:
        namespace = await _new_namespace(client, request.node.originalname)
        yield Cluster(request.param, client, kubeconfig, namespace)
        if GIVEN in os.environ:  # to empty a namespace costs a control plane as much as half a test
            with suppress(NotFound):  # the test may have deleted it itself
                await client.delete(NAMESPACES, namespace)


@asynccontextmanager
async def _kubeconfig(request: pytest.FixtureRequest) -> AsyncGenerator[Path]:
    """The way to the backend that the test is to run on."""
    if request.param == "real":
        yield request.config.stash[KUBECONFIG]
        return
    from penstock.embedded import cluster

    # Pods are the business of the `kubelets` fixture, on both backends.
    async with cluster(workloads=False) as running:
        yield running.kubeconfig


@pytest_asyncio.fixture
async def kubelets(cluster: Cluster) -> AsyncGenerator[None]:
    """Pods of the test's namespace run, as if there were nodes; nothing is done on a cluster that has some."""
    if GIVEN in os.environ:
        yield
        return
    from penstock.embedded import simulate_pods

    simulation = asyncio.create_task(simulate_pods(cluster.client, namespace=cluster.namespace))
    yield
    simulation.cancel()
    with suppress(asyncio.CancelledError):
        await simulation


async def _new_namespace(client: Client, test: str) -> str:
    """Create a namespace named after the test, and wait until pods could be created in it."""
    from penstock.kube import Resource
    from penstock.kube.resources import NAMESPACES

    service_accounts = Resource("", "v1", "serviceaccounts", "ServiceAccount")
    readable = re.sub(r"[^a-z0-9]+", "-", test.lower()).strip("-")[:40]
    made = await client.create(NAMESPACES, {"metadata": {"generateName": f"{readable}-"}})
    name: str = made["metadata"]["name"]
    async with asyncio.timeout(30):
        async with aclosing(client.watch(service_accounts, name, fields="metadata.name=default")) as events:
            async for event in events:
                if event.type == "ADDED":
                    return name
    raise AssertionError(f"the watch for the default service account of {name} ended early")
