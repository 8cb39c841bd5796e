"""What is easily got wrong: the differences and oddities that the documentation lists, each with its test."""

from __future__ import annotations

import ast
import asyncio
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from penstock import embedded
from penstock.api import decode
from penstock.api.durations import SECOND, Duration
from penstock.api.kustomization import Kustomization
from penstock.kube import Client, connect, load
from penstock.kube.resources import CONFIG_MAPS, NAMESPACES, SECRETS
from tests.controllers.kustomization.identities import flattened, make_account
from tests.controllers.kustomization.manifests import config_map

if TYPE_CHECKING:
    from penstock.runtime import Metrics
    from tests.controllers.kustomization.world import World

ROOT = Path(__file__).parents[3]
DOCUMENT = ROOT / "docs" / "concepts" / "kustomization.md"


def test_every_difference_names_a_test_that_exists() -> None:
    rows = re.findall(r"^\|.*\| `(tests/\S+\.py)::(\w+)` \|$", DOCUMENT.read_text(), re.MULTILINE)
    assert len(rows) > 30
    missing = [f"{path}::{name}" for path, name in rows if name not in _tests(ROOT / path)]
    assert not missing, f"the documentation names {missing}, and there are no such tests"


def _tests(path: Path) -> set[str]:
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, functions)}


@pytest.mark.parametrize(
    ("spec", "seconds"),
    [
        pytest.param({"timeout": "5s"}, 30, id="too short"),
        pytest.param({"timeout": "2m"}, 120, id="as it is given"),
        pytest.param({"interval": "10m"}, 570, id="by default half a minute less than the interval"),
        pytest.param({"interval": "10s"}, 30, id="by default, and too short"),
    ],
)
def test_a_short_timeout_is_half_a_minute(spec: dict[str, str], seconds: int) -> None:
    reference = {"kind": "GitRepository", "name": "x"}
    raw = {
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "metadata": {"name": "x", "namespace": "x"},
        "spec": {"interval": "10m", "prune": True, "sourceRef": reference, **spec},
    }
    assert decode(raw, Kustomization).spec.health_timeout.seconds == seconds


async def test_a_suspended_one_stays_ready_at_a_new_generation(world: World) -> None:
    await world.source("v1", {"a.yaml": config_map("a")})
    await world.kustomization()
    await world.until_applied("v1")
    await world.change({"suspend": True, "force": True})
    await world.until(lambda: world.status()["observedGeneration"] == world.live()["metadata"]["generation"])
    assert world.condition("Ready")["status"] == "True"


async def test_variables_are_read_once_a_run(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    real = Client.get

    async def get(self: Client, resource: Any, name: str, *arguments: Any, **options: Any) -> Any:
        if resource == CONFIG_MAPS and name == "variables":
            read.append(name)
        return await real(self, resource, name, *arguments, **options)

    body = {"metadata": {"name": "variables"}, "data": {"x": "text"}}
    await world.client.create(CONFIG_MAPS, body, namespace=world.namespace)
    monkeypatch.setattr(Client, "get", get)
    await world.source("v1", {f"{name}.yaml": config_map(name, {"key": "${x}"}) for name in "abcdef"})
    await world.kustomization(postBuild={"substituteFrom": [{"kind": "ConfigMap", "name": "variables"}]})
    await world.until_applied("v1")
    assert len(read) == sum(one["totalReconciliations"] for one in world.status()["history"])


async def test_a_run_without_news_writes_once(world: World) -> None:
    await world.source("v1", {"a.yaml": config_map("a")})
    await world.kustomization(wait=True)
    await world.until_applied("v1")
    healthy = world.condition("Healthy")
    versions: set[str] = set()

    async def note(change: Any) -> None:
        if change.new is not None and not world.condition("Reconciling"):  # a run that lasts shows its progress
            versions.add(change.new["metadata"]["resourceVersion"])

    world.cache.subscribe(note)
    await world.ask("now")
    await world.until(lambda: world.status().get("lastHandledReconcileAt") == "now")
    await world.until_applied("v1")
    assert len(versions) == 2, "the annotation, and the end of the run"
    assert world.condition("Healthy")["message"] == healthy["message"]


async def test_the_first_pass_goes_on_after_the_finalizer(world: World, metrics: Metrics) -> None:
    await world.source("v1", {"a.yaml": config_map("a")})
    await world.kustomization()
    await world.until_applied("v1")
    labels = {"controller": "kustomization", "result": "requeue"}
    again = metrics.registry.get_sample_value("controller_runtime_reconcile_total", labels)
    assert not again, "no run ended only to begin once more"


async def test_ready_tells_how_long_health_was_waited_for(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.api.kustomization.SHORTEST_TIMEOUT", Duration(1 * SECOND))
    missing = {"apiVersion": "v1", "kind": "ConfigMap", "name": "missing", "namespace": world.namespace}
    await world.source("v1", {"a.yaml": config_map("a")})
    await world.kustomization(timeout="1s", healthChecks=[missing])
    ready = await world.until_failed("HealthCheckFailed")
    assert ready["message"].startswith("health check failed after ")
    assert ready["message"].endswith(f": {world.condition('Healthy')['message']}")


async def test_the_account_for_the_deletion_is_that_of_the_other_cluster(world: World) -> None:
    """It exists only there. Looked up here, it would be missing, and everything would stay."""
    async with embedded.cluster(workloads=False) as running:
        settings = await asyncio.to_thread(load, running.kubeconfig)
        async with connect(settings) as client:
            there = replace(world, cluster=replace(world.cluster, client=client, kubeconfig=running.kubeconfig))
            await client.create(NAMESPACES, {"metadata": {"name": world.namespace}})
            account = await make_account(there.cluster, "deployer")
            text = yaml.safe_dump(await asyncio.to_thread(flattened, running.kubeconfig))
            body = {"metadata": {"name": "remote"}, "stringData": {"value": text}}
            await world.client.create(SECRETS, body, namespace=world.namespace)
            await world.source("v1", {"a.yaml": config_map("a")})
            await world.kustomization(serviceAccountName=account, kubeConfig={"secretRef": {"name": "remote"}})
            await world.until_applied("v1")
            assert await there.config_map("a")
            assert not await world.config_map("a")
            await world.delete()
            await world.until_gone()
            assert not await there.config_map("a")
