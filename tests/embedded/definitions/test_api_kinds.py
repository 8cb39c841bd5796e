"""The kinds we speak are served by our own server: every definition, and every example object."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest_asyncio
import yaml

from penstock.api import crds
from tests.embedded.definitions.defining import conditions
from tests.embedded.lifecycle.running import CONTROLLERS, resource, running, until

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from penstock.embedded.server.api import Engine
    from penstock.kube.resources import Object

OBJECTS = Path(__file__).parents[2] / "api" / "objects"
CRDS = list(crds())
EXAMPLES: list[Object] = [
    obj
    for path in sorted(OBJECTS.glob("*.yaml"))
    for obj in yaml.safe_load_all(path.read_text(encoding="utf-8"))
    if obj
]


@pytest_asyncio.fixture
async def engine() -> AsyncGenerator[Engine]:
    async with running(*CONTROLLERS) as made:
        for definition in CRDS:
            await made.create(resource(made, "CustomResourceDefinition"), definition)
        yield made


async def test_all_definitions_are_established(engine: Engine) -> None:
    def waiting() -> list[str]:
        names: list[str] = [definition["metadata"]["name"] for definition in CRDS]
        return [name for name in names if conditions(engine, name).get("Established") != "True"]

    await until(engine, lambda: not waiting())


async def test_all_examples_are_accepted(engine: Engine) -> None:
    assert len(EXAMPLES) > 30
    for example in EXAMPLES:
        group, _, version = example["apiVersion"].rpartition("/")
        served = engine.catalog.find_kind(group, example["kind"], version)
        assert served is not None, example["kind"]
        metadata = {**example["metadata"], "namespace": "default"}
        metadata.pop("resourceVersion", None)
        wanted = {key: value for key, value in example.items() if key != "status"} | {"metadata": metadata}

        made = await engine.apply(served, wanted, manager="test")

        assert made["metadata"]["generation"] >= 1
        if "status" in example:
            told = {
                "apiVersion": example["apiVersion"],
                "kind": example["kind"],
                "metadata": {"name": metadata["name"], "namespace": "default"},
                "status": example["status"],
            }
            written = await engine.apply(served, told, manager="test", subresource="status")
            assert written["status"].keys() >= {key for key, value in example["status"].items() if value is not None}
