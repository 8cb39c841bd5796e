"""What is easily got wrong: the differences and oddities that the documentation lists, each with its test."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from penstock.api import decode
from penstock.api.kustomization import Kustomization
from penstock.kube import Client
from penstock.kube.resources import CONFIG_MAPS
from tests.controllers.kustomization.manifests import config_map

if TYPE_CHECKING:
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
        if change.new is not None:
            versions.add(change.new["metadata"]["resourceVersion"])

    world.cache.subscribe(note)
    await world.ask("now")
    await world.until(lambda: world.status().get("lastHandledReconcileAt") == "now")
    assert len(versions) <= 3, "the annotation, the end of the run, and the progress of a run that lasts"
    assert world.condition("Healthy") == healthy
