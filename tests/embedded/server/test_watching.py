"""Watches: selections, bookmarks, history that is gone, and clients that do not read."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from penstock.embedded import cluster
from penstock.embedded.server import watching
from penstock.embedded.storage import Retention
from penstock.kube.errors import Expired
from penstock.kube.resources import CONFIG_MAPS, SECRETS

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from penstock.kube import Client, WatchEvent
    from tests.clusters import Cluster

WITHIN = 30.0


def made(name: str, value: str = "", **labels: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": labels}, "data": {"value": value}}


async def taken(events: AsyncGenerator[WatchEvent], count: int) -> list[tuple[str, str]]:
    """The next events but bookmarks, as type and value."""
    found: list[tuple[str, str]] = []
    async with asyncio.timeout(WITHIN):
        while len(found) < count:
            event = await anext(events)
            if event.type != "BOOKMARK":
                found.append((event.type, event.object["data"]["value"]))
    return found


async def test_who_enters_a_selection_is_added_and_who_leaves_it_deleted(cluster: Cluster) -> None:
    client, namespace = cluster.client, cluster.namespace
    version = (await client.list(CONFIG_MAPS, namespace)).resource_version
    watch = client.watch(CONFIG_MAPS, namespace, labels="app=web", resource_version=version)
    async with aclosing(watch) as events:
        await client.create(CONFIG_MAPS, made("a", "outside"), namespace=namespace)
        await client.patch(CONFIG_MAPS, "a", namespace, made("a", "inside", app="web"))
        await client.patch(CONFIG_MAPS, "a", namespace, made("a", "still inside"))
        await client.patch(CONFIG_MAPS, "a", namespace, made("a", "outside again", app="db"))
        await client.patch(CONFIG_MAPS, "a", namespace, made("a", "back", app="web"))
        await client.delete(CONFIG_MAPS, "a", namespace)
        assert await taken(events, 5) == [
            ("ADDED", "inside"),
            ("MODIFIED", "still inside"),
            ("DELETED", "still inside"),
            ("ADDED", "back"),
            ("DELETED", "back"),
        ]


async def test_a_deletion_has_a_version_of_its_own(cluster: Cluster) -> None:
    client, namespace = cluster.client, cluster.namespace
    created = await client.create(CONFIG_MAPS, made("a"), namespace=namespace)
    version: str = created["metadata"]["resourceVersion"]
    async with aclosing(
        client.watch(CONFIG_MAPS, namespace, fields="metadata.name=a", resource_version=version)
    ) as events:
        await client.delete(CONFIG_MAPS, "a", namespace)
        async with asyncio.timeout(WITHIN):
            event = await anext(events)
    assert event.type == "DELETED"
    assert int(event.object["metadata"]["resourceVersion"]) > int(version)


async def test_a_streaming_list_ends_with_a_marked_bookmark(cluster: Cluster) -> None:
    client, namespace = cluster.client, cluster.namespace
    for name in ("b", "a"):
        await client.create(SECRETS, {"metadata": {"name": name}}, namespace=namespace)
    async with aclosing(client.watch(SECRETS, namespace, initial_events=True)) as events:
        found: list[tuple[str, str]] = []
        async with asyncio.timeout(WITHIN):
            async for event in events:
                found.append((event.type, event.object["metadata"].get("name", "")))
                if event.initial_end:
                    break
    assert found == [("ADDED", "a"), ("ADDED", "b"), ("BOOKMARK", "")]


async def test_metadata_only_watches(cluster: Cluster) -> None:
    client, namespace = cluster.client, cluster.namespace
    await client.create(SECRETS, {"metadata": {"name": "a"}, "stringData": {"k": "v"}}, namespace=namespace)
    async with aclosing(client.watch(SECRETS, namespace, fields="metadata.name=a", metadata_only=True)) as events:
        async with asyncio.timeout(WITHIN):
            event = await anext(events)
    assert (event.object["kind"], set(event.object)) == ("PartialObjectMetadata", {"kind", "apiVersion", "metadata"})


async def test_history_that_is_gone_is_said_to_be() -> None:
    async with cluster(controllers=False, retention=Retention(changes=5)) as running, running.client() as client:
        version = (await client.list(CONFIG_MAPS)).resource_version
        for number in range(10):
            await client.create(CONFIG_MAPS, made(f"n{number}"), namespace="default")
        with pytest.raises(Expired, match="too old resource version"):
            async with aclosing(client.watch(CONFIG_MAPS, "default", resource_version=version)) as events:
                await anext(events)


async def test_a_continue_token_that_is_too_old_comes_with_another() -> None:
    async with cluster(controllers=False, retention=Retention(changes=5)) as running, running.client() as client:
        for name in ("a", "b", "c"):
            await client.create(CONFIG_MAPS, made(name), namespace="default")
        pages = client.pages(CONFIG_MAPS, "default", page=1)
        assert [item["metadata"]["name"] for item in (await anext(pages)).items] == ["a"]
        for number in range(10):
            await client.create(CONFIG_MAPS, made(f"z{number}"), namespace="default")
        with pytest.raises(Expired, match="too old to display a consistent list"):
            await anext(pages)


async def test_pages_are_all_of_one_moment(cluster: Cluster) -> None:
    client, namespace = cluster.client, cluster.namespace
    for name in ("a", "b", "c"):
        await client.create(SECRETS, {"metadata": {"name": name}}, namespace=namespace)
    found: list[str] = []
    versions: set[str] = set()
    async for page in client.pages(SECRETS, namespace, page=1):
        found += [item["metadata"]["name"] for item in page.items]
        versions.add(page.resource_version)
        if found == ["a"]:
            await client.delete(SECRETS, "b", namespace)
            await client.create(SECRETS, {"metadata": {"name": "bb"}}, namespace=namespace)
    assert found == ["a", "b", "c"]
    assert len(versions) == 1


async def test_a_client_that_does_not_read_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "QUEUE_LIMIT", 3)
    async with cluster(controllers=False) as running:
        engine = running.engine
        resource = engine.catalog.find("", "v1", "configmaps")
        assert resource is not None
        selection = watching_selection(engine, resource)
        lines = selection.lines()
        async with aclosing(lines):
            assert await anext(lines) == b""  # nothing there yet
            for number in range(10):
                await engine.create(resource, made(f"n{number}"), namespace="default")
            with pytest.raises(StopAsyncIteration):
                await anext(lines)
        assert not engine.storage._subscribers[resource.stored_in]


def watching_selection(engine: Any, resource: Any) -> watching.Watch:
    from penstock.embedded.server.negotiation import Accepted
    from penstock.embedded.server.options import ListOptions
    from penstock.embedded.server.reading import select
    from penstock.embedded.server.rendering import Renderer

    options = ListOptions(resource_version=str(engine.storage.revision))
    renderer = Renderer(resource, Accepted(), None)
    return watching.Watch(engine.storage, select(resource, "default", "", options), renderer, options)


async def test_many_watches_leave_nothing_behind() -> None:
    async with cluster(controllers=False) as running, running.client() as client:
        before = len(running.engine.storage._subscribers.get("/configmaps", ()))
        watches = [client.watch(CONFIG_MAPS, "default", resource_version="1") for _ in range(50)]
        await client.create(CONFIG_MAPS, made("a"), namespace="default")
        for watch in watches:
            async with aclosing(watch), asyncio.timeout(WITHIN):
                await anext(watch)
        await settled(lambda: len(running.engine.storage._subscribers.get("/configmaps", ())) == before)


async def settled(condition: Any) -> None:
    """Wait until the server has noticed that its clients are gone."""
    async with asyncio.timeout(WITHIN):
        while not condition():  # noqa: ASYNC110 - the server tells nobody
            await asyncio.sleep(0.01)


async def test_lines_of_a_watch_are_whole_objects(cluster: Cluster) -> None:
    client, namespace = cluster.client, cluster.namespace
    text = 'line\nbreaks, "quotes" and ünïcödé \u2028'
    await client.create(CONFIG_MAPS, made("a", text), namespace=namespace)
    async with aclosing(client.watch(CONFIG_MAPS, namespace, fields="metadata.name=a")) as events:
        async with asyncio.timeout(WITHIN):
            event = await anext(events)
    assert event.object["data"]["value"] == text
    assert orjson.dumps(event.object)


async def test_two_clients_see_the_same_order(cluster: Cluster) -> None:
    first: Client = cluster.client
    namespace = cluster.namespace
    version = (await first.list(CONFIG_MAPS, namespace)).resource_version
    names = [f"n{number}" for number in range(20)]
    async with (
        aclosing(first.watch(CONFIG_MAPS, namespace, resource_version=version)) as one,
        aclosing(first.watch(CONFIG_MAPS, namespace, resource_version=version)) as other,
    ):
        async with asyncio.TaskGroup() as group:
            for name in names:
                group.create_task(first.create(CONFIG_MAPS, made(name, name), namespace=namespace))
        assert await taken(one, 20) == await taken(other, 20)
