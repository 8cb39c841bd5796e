from __future__ import annotations

from typing import TYPE_CHECKING

import pytest_asyncio

from penstock.embedded import lifecycle
from tests.embedded.lifecycle.running import AUTHORITY, create, get, resource, running, until

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from penstock.embedded.server.api import Engine


@pytest_asyncio.fixture
async def engine() -> AsyncGenerator[Engine]:
    async with running(lifecycle.install) as made:
        yield made


async def test_every_namespace_is_furnished(engine: Engine) -> None:
    await create(engine, "Namespace", "new")

    await until(engine, lambda: get(engine, "ConfigMap", "kube-root-ca.crt", "new"))
    assert get(engine, "ServiceAccount", "default", "new")
    authority = get(engine, "ConfigMap", "kube-root-ca.crt", "new")
    assert authority is not None
    assert authority["data"] == {"ca.crt": AUTHORITY.decode()}
    assert authority["metadata"]["managedFields"][0]["manager"] == "kube-controller-manager"


async def test_furniture_comes_back(engine: Engine) -> None:
    await until(engine, lambda: get(engine, "ServiceAccount", "default"))
    before = get(engine, "ServiceAccount", "default")
    assert before is not None

    await engine.delete(resource(engine, "ServiceAccount"), "default", "default")

    def uid() -> str | None:
        found = get(engine, "ServiceAccount", "default")
        return found["metadata"]["uid"] if found else None

    await until(engine, lambda: uid() not in (None, before["metadata"]["uid"]))


async def test_an_empty_namespace_goes(engine: Engine) -> None:
    await create(engine, "Namespace", "new")
    await engine.delete(resource(engine, "Namespace"), "new")

    await until(engine, lambda: get(engine, "Namespace", "new") is None)
    assert engine.list(resource(engine, "ConfigMap"), "new") == []


async def test_a_namespace_waits_for_its_content(engine: Engine) -> None:
    await create(engine, "Namespace", "new")
    await create(engine, "ConfigMap", "held", metadata={"namespace": "new", "finalizers": ["a/b"]})
    await create(engine, "Secret", "loose", metadata={"namespace": "new"})
    await engine.delete(resource(engine, "Namespace"), "new")

    def told() -> dict[str, str]:
        namespace = get(engine, "Namespace", "new")
        assert namespace is not None
        assert namespace["status"]["phase"] == "Terminating"
        return {each["type"]: each["message"] for each in namespace["status"].get("conditions") or ()}

    await until(engine, lambda: "NamespaceFinalizersRemaining" in told())
    assert told()["NamespaceContentRemaining"] == ("Some resources are remaining: configmaps. has 1 resource instances")
    assert told()["NamespaceFinalizersRemaining"] == (
        "Some content in the namespace has finalizers remaining: a/b in 1 resource instances"
    )
    assert get(engine, "Secret", "loose", "new") is None

    await engine.merge(resource(engine, "ConfigMap"), "held", "new", {"metadata": {"finalizers": None}})
    await until(engine, lambda: get(engine, "Namespace", "new") is None)
