from __future__ import annotations

from typing import TYPE_CHECKING

import pytest_asyncio

from penstock.embedded import lifecycle
from penstock.embedded.server.ports import DeleteOptions
from tests.embedded.lifecycle.running import create, get, resource, running, until

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from penstock.embedded.server.api import Engine
    from penstock.embedded.server.ports import Propagation
    from penstock.kube.resources import Object


@pytest_asyncio.fixture
async def engine() -> AsyncGenerator[Engine]:
    async with running(lifecycle.install) as made:
        yield made


def owned_by(*owners: Object, block: bool = False) -> Object:
    references = [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
            **({"blockOwnerDeletion": True} if block else {}),
        }
        for owner in owners
    ]
    return {"ownerReferences": references}


async def delete(engine: Engine, name: str, propagation: Propagation | None = None) -> None:
    await engine.delete(resource(engine, "ConfigMap"), name, "default", DeleteOptions(propagation=propagation))


def is_gone(engine: Engine, name: str) -> bool:
    return get(engine, "ConfigMap", name) is None


async def test_dependents_follow_their_owner(engine: Engine) -> None:
    owner = await create(engine, "ConfigMap", "owner")
    child = await create(engine, "ConfigMap", "child", metadata=owned_by(owner))
    await create(engine, "ConfigMap", "grandchild", metadata=owned_by(child))

    await delete(engine, "owner")

    assert is_gone(engine, "owner")
    await until(engine, lambda: is_gone(engine, "grandchild"))
    assert is_gone(engine, "child")


async def test_one_living_owner_is_enough(engine: Engine) -> None:
    first, second = [await create(engine, "ConfigMap", name) for name in ("first", "second")]
    await create(engine, "ConfigMap", "child", metadata=owned_by(first, second))

    await delete(engine, "first")

    def references() -> list[str]:
        child = get(engine, "ConfigMap", "child")
        assert child is not None
        return [each["name"] for each in child["metadata"]["ownerReferences"]]

    await until(engine, lambda: references() == ["second"])


async def test_foreground_waits_for_those_who_block(engine: Engine) -> None:
    owner = await create(engine, "ConfigMap", "owner")
    held = {**owned_by(owner, block=True), "finalizers": ["a/b"]}
    await create(engine, "ConfigMap", "child", metadata=held)

    await delete(engine, "owner", "Foreground")
    await until(engine, lambda: "deletionTimestamp" in (get(engine, "ConfigMap", "child") or {})["metadata"])
    assert not is_gone(engine, "owner")

    await engine.merge(resource(engine, "ConfigMap"), "child", "default", {"metadata": {"finalizers": None}})
    await until(engine, lambda: is_gone(engine, "owner"))


async def test_foreground_does_not_wait_for_the_others(engine: Engine) -> None:
    owner = await create(engine, "ConfigMap", "owner")
    await create(engine, "ConfigMap", "child", metadata={**owned_by(owner), "finalizers": ["a/b"]})

    await delete(engine, "owner", "Foreground")

    await until(engine, lambda: is_gone(engine, "owner"))
    await until(engine, lambda: "deletionTimestamp" in (get(engine, "ConfigMap", "child") or {})["metadata"])


async def test_foreground_goes_all_the_way_down_first(engine: Engine) -> None:
    owner = await create(engine, "ConfigMap", "owner")
    child = await create(engine, "ConfigMap", "child", metadata=owned_by(owner, block=True))
    await create(engine, "ConfigMap", "grandchild", metadata={**owned_by(child, block=True), "finalizers": ["a/b"]})

    await delete(engine, "owner", "Foreground")
    await until(engine, lambda: "deletionTimestamp" in (get(engine, "ConfigMap", "grandchild") or {})["metadata"])
    assert not is_gone(engine, "child")
    assert not is_gone(engine, "owner")

    await engine.merge(resource(engine, "ConfigMap"), "grandchild", "default", {"metadata": {"finalizers": None}})
    await until(engine, lambda: is_gone(engine, "owner"))
    assert is_gone(engine, "child")


async def test_orphans_lose_their_reference_and_stay(engine: Engine) -> None:
    owner = await create(engine, "ConfigMap", "owner")
    await create(engine, "ConfigMap", "child", metadata=owned_by(owner))

    await delete(engine, "owner", "Orphan")

    await until(engine, lambda: is_gone(engine, "owner"))
    child = get(engine, "ConfigMap", "child")
    assert child is not None
    assert "ownerReferences" not in child["metadata"]


async def test_who_is_born_without_an_owner_goes(engine: Engine) -> None:
    ghost: Object = {"metadata": {"name": "ghost", "uid": "00000000-0000-0000-0000-000000000000"}}

    await create(engine, "ConfigMap", "child", metadata=owned_by(ghost))

    await until(engine, lambda: is_gone(engine, "child"))


async def test_a_namesake_is_no_owner(engine: Engine) -> None:
    owner = await create(engine, "ConfigMap", "owner")
    await delete(engine, "owner")
    await create(engine, "ConfigMap", "owner")

    await create(engine, "ConfigMap", "child", metadata=owned_by(owner))

    await until(engine, lambda: is_gone(engine, "child"))


async def test_an_owner_of_an_unknown_kind_is_not_judged(engine: Engine) -> None:
    reference = {"apiVersion": "example.com/v1", "kind": "Thing", "name": "x", "uid": "u"}
    await create(engine, "ConfigMap", "child", metadata={"ownerReferences": [reference]})
    owner = await create(engine, "ConfigMap", "owner")
    await create(engine, "ConfigMap", "after", metadata=owned_by(owner))
    await delete(engine, "owner")

    await until(engine, lambda: is_gone(engine, "after"))
    assert not is_gone(engine, "child")
