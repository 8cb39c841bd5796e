from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
import structlog

from penstock.kube import Change, ObjectRef, WatchCache, connect, wait_synced
from penstock.kube.definitions import watch_definitions
from penstock.kube.errors import TimedOut
from penstock.kube.resources import CONFIG_MAPS, SECRETS
from tests.kube.apiserver import ApiServer, api_server
from tests.kube.caches import WITHIN, eventually, following
from tests.kube.loopback import Asked, Wire, serve, status

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

pytestmark = pytest.mark.usefixtures("hasty")


@pytest.fixture
async def server() -> AsyncGenerator[ApiServer]:
    async with api_server() as started:
        yield started


@pytest.fixture(params=[True, False], ids=["streaming list", "paged list"])
async def either(server: ApiServer, request: pytest.FixtureRequest) -> ApiServer:
    """A server that can stream lists, and one that cannot."""
    server.streams_lists = request.param
    return server


class TestReading:
    async def test_what_is_there_comes_as_added(self, either: ApiServer) -> None:
        either.put("configmaps", "a", data={"x": "1"})
        either.put("configmaps", "b", namespace="other")
        either.put("secrets", "c")
        async with following(either.settings) as witness:
            await witness.until("added a", "added b")
            cache = witness.cache
            await asyncio.wait_for(cache.synced(), WITHIN)
            assert cache.is_synced
            assert len(cache) == 2
            assert witness.value("a")["data"] == {"x": "1"}
            assert cache.get("a", "other") is None
            assert ("other", "b") in cache
            assert [value["metadata"]["name"] for value in cache.values()] == ["a", "b"]
            assert cache.trouble is None

    async def test_an_empty_resource_is_synced_too(self, either: ApiServer) -> None:
        async with following(either.settings) as witness:
            await asyncio.wait_for(witness.cache.synced(), WITHIN)
            assert len(witness.cache) == 0
            assert witness.cache.version == "100"

    async def test_what_a_list_leaves_out_of_its_items_is_put_back(self, either: ApiServer) -> None:
        either.put("configmaps", "a")
        async with following(either.settings) as witness:
            await witness.until("added a")
            value = witness.value("a")
            assert (value["apiVersion"], value["kind"]) == ("v1", "ConfigMap")

    async def test_a_list_of_many_pages(self, server: ApiServer) -> None:
        server.streams_lists = False
        for number in range(1201):
            server.put("configmaps", f"n{number:04}")
        async with following(server.settings) as witness:
            await asyncio.wait_for(witness.cache.synced(), WITHIN)
            assert len(witness.cache) == 1201
        lists = [asked.query for asked in server.asked if "limit" in asked.query]
        assert [query.get("continue") for query in lists] == [None, "500", "1000"]
        assert lists[0]["resourceVersion"] == "0"

    async def test_streaming_is_tried_once(self, server: ApiServer) -> None:
        server.streams_lists = False
        async with following(server.settings) as witness:
            await asyncio.wait_for(witness.cache.synced(), WITHIN)
            await eventually(lambda: len(server.watches) == 2)
            server.forget()
            server.put("configmaps", "a")
            await witness.until("added a")
        assert sum("sendInitialEvents" in asked.query for asked in server.asked) == 1

    @pytest.mark.parametrize("error", [status(500, "InternalError"), status(504, "Timeout"), status(410, "Expired")])
    async def test_streaming_that_fails_inside_the_stream_falls_back_to_a_list(self, error: Any) -> None:
        """So answers a server whose etcd cannot tell how far it is."""
        inner = ApiServer()
        inner.put("configmaps", "a")

        async def script(asked: Asked, wire: Wire) -> None:
            if "sendInitialEvents" not in asked.query:
                await inner(asked, wire)
                return
            await wire.begin()
            await wire.send({"type": "ERROR", "object": error})
            await wire.end()

        async with serve(script) as server, following(server.settings) as witness:
            await witness.until("added a")

    async def test_a_stream_that_ends_before_it_is_complete_is_no_reading(self) -> None:
        """Half of the objects must never look like all of them."""
        inner = ApiServer()
        inner.put("configmaps", "a")
        inner.put("configmaps", "b")

        async def script(asked: Asked, wire: Wire) -> None:
            if "sendInitialEvents" not in asked.query:
                await inner(asked, wire)
                return
            await wire.begin()
            await wire.send({"type": "ADDED", "object": {"metadata": {"name": "a", "resourceVersion": "101"}}})
            await wire.end()

        async with serve(script) as server, following(server.settings) as witness:
            await witness.until("added a", "added b")

    async def test_only_the_selection_is_asked_for(self, either: ApiServer) -> None:
        either.put("configmaps", "a", metadata={"labels": {"team": "x"}})
        either.put("configmaps", "b")
        async with following(
            either.settings, namespace="default", labels="team=x", fields="metadata.name=a"
        ) as witness:
            await witness.until("added a")
            await eventually(lambda: len(either.watches) >= 2)
        for asked in either.asked:
            assert asked.path == "/api/v1/namespaces/default/configmaps"
            assert asked.query["labelSelector"] == "team=x"
            assert asked.query["fieldSelector"] == "metadata.name=a"

    async def test_only_metadata_is_asked_for(self, either: ApiServer) -> None:
        async with following(either.settings, SECRETS, metadata_only=True) as witness:
            await asyncio.wait_for(witness.cache.synced(), WITHIN)
            await eventually(lambda: len(either.watches) >= 2)
        assert all("as=PartialObjectMetadata" in asked.headers["accept"] for asked in either.asked)


class TestFollowing:
    async def test_changes_are_told_with_before_and_after(self, either: ApiServer) -> None:
        either.put("configmaps", "a", data={"x": "1"})
        async with following(either.settings) as witness:
            await witness.until("added a")
            either.put("configmaps", "a", data={"x": "2"})
            either.put("configmaps", "b")
            either.remove("configmaps", "a")
            await witness.until("modified a", "added b", "deleted a")
            _, modified, _, deleted = witness.changes
            assert modified.ref == ObjectRef("", "ConfigMap", "default", "a")
            assert [(change.old or {}).get("data") for change in (modified, deleted)] == [{"x": "1"}, {"x": "2"}]
            assert [(change.new or {}).get("data") for change in (modified, deleted)] == [{"x": "2"}, None]

    async def test_a_transform_keeps_only_what_is_needed(self, either: ApiServer) -> None:
        either.put("configmaps", "a", data={"x": "1"})
        async with following(either.settings, transform=lambda obj: obj["data"]["x"]) as witness:
            await witness.until("added a")
            either.put("configmaps", "a", data={"x": "2"})
            await witness.until("modified a")
            assert witness.cache.get("a", "default") == "2"
            assert (witness.changes[1].old, witness.changes[1].new) == ("1", "2")

    async def test_the_version_follows_events_and_bookmarks(self, either: ApiServer) -> None:
        async with following(either.settings) as witness:
            await asyncio.wait_for(witness.cache.synced(), WITHIN)
            either.put("configmaps", "a")
            await witness.until("added a")
            assert witness.cache.version == "101"
            either.put("secrets", "of no interest")
            either.bookmark("configmaps")
            await eventually(lambda: witness.cache.version == "102")
            assert witness.told == []

    async def test_a_handler_that_raises_harms_nobody(self, either: ApiServer) -> None:
        async def bad(_change: Change[Any]) -> None:
            raise RuntimeError("mine alone")

        async with connect(either.settings) as client:
            cache: WatchCache[Any] = WatchCache(client, CONFIG_MAPS)
            cache.subscribe(bad)
            seen: list[str] = []
            arrived = asyncio.Event()

            async def good(change: Change[Any]) -> None:
                seen.append(change.ref.name)
                arrived.set()

            cache.subscribe(good)
            with structlog.testing.capture_logs() as logs:
                running = asyncio.create_task(cache.run())
                either.put("configmaps", "a")
                await asyncio.wait_for(arrived.wait(), WITHIN)
                running.cancel()
            assert seen == ["a"]
            assert [entry["event"] for entry in logs] == ["a listener failed"]
            assert logs[0]["object"] == "ConfigMap/default/a"

    async def test_a_handler_is_waited_for_so_that_order_holds(self, either: ApiServer) -> None:
        order: list[str] = []

        async def slow(change: Change[Any]) -> None:
            order.append(f"begin {change.ref.name}")
            await asyncio.sleep(0)
            order.append(f"end {change.ref.name}")

        either.put("configmaps", "a")
        either.put("configmaps", "b")
        async with following(either.settings) as witness:
            witness.cache.subscribe(slow)
            await asyncio.wait_for(witness.cache.synced(), WITHIN)
        assert order == ["begin a", "end a", "begin b", "end b"]


class TestWaiting:
    async def test_for_several_caches(self, either: ApiServer) -> None:
        async with following(either.settings) as one, following(either.settings, SECRETS) as other:
            await wait_synced([one.cache, other.cache], within=WITHIN)
            assert one.cache.is_synced
            assert other.cache.is_synced

    async def test_that_takes_too_long_says_for_what_and_why(self) -> None:
        inner = ApiServer()

        async def script(asked: Asked, wire: Wire) -> None:
            if asked.path.endswith("/secrets"):
                await wire.refuse(403, "Forbidden", "secrets is forbidden: User jane cannot list")
            elif asked.path.endswith("/events"):
                await wire.hang()
            else:
                await inner(asked, wire)

        events = CONFIG_MAPS.__class__("", "v1", "events", "Event")
        async with (
            serve(script) as server,
            following(server.settings) as fine,
            following(server.settings, SECRETS) as forbidden,
            following(server.settings, events) as silent,
        ):
            await eventually(lambda: forbidden.cache.trouble is not None)
            with pytest.raises(TimedOut) as caught:
                await wait_synced([fine.cache, forbidden.cache, silent.cache], within=0.2)
        assert str(caught.value) == (
            "the first reading is not complete after 0s: "
            "secrets: secrets is forbidden: User jane cannot list; events: no answer yet"
        )


async def test_a_definition_that_comes_makes_discovery_read_again() -> None:
    server = ApiServer()
    crds: dict[str, Any] = {"metadata": {"resourceVersion": "5"}, "items": []}
    born = asyncio.Event()

    async def script(asked: Asked, wire: Wire) -> None:
        if "customresourcedefinitions" not in asked.path:
            await server(asked, wire)
        elif not asked.query.get("watch"):
            await wire.answer(crds)
        elif asked.query.get("sendInitialEvents"):
            await wire.refuse(400)
        else:
            await wire.begin()
            await born.wait()
            await wire.send(
                {"type": "ADDED", "object": {"metadata": {"name": "w.example.com", "resourceVersion": "6"}}}
            )
            await wire.hang()

    async with serve(script) as loopback, connect(loopback.settings) as client:
        cache = watch_definitions(client)
        running = asyncio.create_task(cache.run())
        await client.discovery.resource("v1", "ConfigMap")
        before = sum(asked.path == "/apis" for asked in loopback.asked)
        born.set()
        await eventually(lambda: len(cache) == 1)
        assert cache.values() == ["w.example.com"]
        with pytest.raises(Exception, match="does not serve"):
            await client.discovery.resource("w.example.com/v1", "W")
        assert sum(asked.path == "/apis" for asked in loopback.asked) == before + 1
        running.cancel()
