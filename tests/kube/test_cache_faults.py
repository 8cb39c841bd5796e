"""What really happens between a cache and its server, told event by event through a stand-in of the client."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, cast

import pytest
import structlog

from penstock.kube import Client, Listing, WatchCache, WatchEvent
from penstock.kube.errors import (
    BadAnswer,
    Expired,
    Forbidden,
    KubeError,
    Status,
    TimedOut,
    TooManyRequests,
    Unavailable,
    Unreachable,
)
from penstock.kube.resources import CONFIG_MAPS
from tests.kube.caches import Witness

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

pytestmark = pytest.mark.looptime

End = KubeError | None
"""How a stream ends: with an error, or just so."""


def obj(name: str, version: int | str, **fields: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "default", "resourceVersion": str(version)}, **fields}


def added(name: str, version: int | str, **fields: Any) -> WatchEvent:
    return WatchEvent("ADDED", obj(name, version, **fields))


def modified(name: str, version: int | str, **fields: Any) -> WatchEvent:
    return WatchEvent("MODIFIED", obj(name, version, **fields))


def deleted(name: str, version: int | str) -> WatchEvent:
    return WatchEvent("DELETED", obj(name, version))


class Server:
    """Serves lists and watches in the order in which the test gives them; then it is silent."""

    def __init__(self) -> None:
        self.lists: list[Listing | KubeError] = []
        self.watches: list[tuple[list[WatchEvent], End]] = []
        self.asked: list[str] = []
        self.times: list[float] = []

    def listing(self, version: int, *objects: dict[str, Any]) -> None:
        self.lists.append(Listing(list(objects), str(version)))

    def stream(self, *events: WatchEvent, end: End = None) -> None:
        self.watches.append((list(events), end))

    async def pages(
        self, *_arguments: object, resource_version: str | None, **_options: object
    ) -> AsyncIterator[Listing]:
        self._note(f"list {resource_version}")
        answer = self.lists.pop(0)
        if isinstance(answer, KubeError):
            raise answer
        yield answer

    async def watch(
        self, *_arguments: object, resource_version: str, initial_events: bool = False, **_options: object
    ) -> AsyncGenerator[WatchEvent]:
        if initial_events:
            raise Expired(Status(410))
        self._note(f"watch {resource_version}")
        if not self.watches:
            await asyncio.Event().wait()
        events, end = self.watches.pop(0)
        for event in events:
            yield event
        if end is not None:
            raise end

    def _note(self, what: str) -> None:
        self.asked.append(what)
        self.times.append(asyncio.get_running_loop().time())


@asynccontextmanager
async def following(server: Server, **options: Any) -> AsyncGenerator[Witness[Any]]:
    cache: WatchCache[Any] = WatchCache(cast(Client, server), CONFIG_MAPS, **options)
    witness = Witness(cache)
    running = asyncio.create_task(cache.run())
    try:
        yield witness
        assert not running.done()
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


async def settle(server: Server) -> None:
    """Until everything that was given is served."""
    async with asyncio.timeout(3600):
        while server.lists or server.watches:  # noqa: ASYNC110 - time is virtual
            await asyncio.sleep(1)
        await asyncio.sleep(1)


class TestResuming:
    @pytest.mark.parametrize(
        "end",
        [None, Unreachable("reset"), TimedOut("half-open"), BadAnswer("cut off"), Unavailable(Status(503))],
        ids=["the server ends it", "reset", "half-open", "cut in an event", "503"],
    )
    async def test_a_watch_goes_on_where_it_was(self, end: End) -> None:
        server = Server()
        server.listing(10, obj("a", 5))
        server.stream(modified("a", 11), end=end)
        server.stream(modified("a", 12))
        async with following(server) as witness:
            await settle(server)
            assert witness.told == ["added a", "modified a", "modified a"]
        assert server.asked[:3] == ["list 0", "watch 10", "watch 11"]

    async def test_it_goes_on_from_the_last_bookmark(self) -> None:
        server = Server()
        server.listing(10)
        server.stream(WatchEvent("BOOKMARK", {"metadata": {"resourceVersion": "500"}}), end=Unreachable("reset"))
        server.stream()
        async with following(server):
            await settle(server)
        assert server.asked[:3] == ["list 0", "watch 10", "watch 500"]

    async def test_a_late_event_does_not_set_the_version_back(self) -> None:
        server = Server()
        server.listing(10)
        server.stream(added("b", 12), added("a", 11), end=Unreachable("reset"))
        server.stream()
        async with following(server) as witness:
            await settle(server)
            assert witness.told == ["added b", "added a"]
        assert server.asked[:3] == ["list 0", "watch 10", "watch 12"]


class TestExpiry:
    async def test_a_version_that_is_too_old_means_a_new_reading_and_only_the_difference_is_told(self) -> None:
        server = Server()
        server.listing(10, obj("same", 5), obj("changed", 6), obj("gone", 7))
        server.stream(end=Expired(Status(410)))
        server.listing(20, obj("same", 5), obj("changed", 18), obj("new", 19))
        async with following(server) as witness:
            await settle(server)
            assert witness.told == [
                *("added same", "added changed", "added gone"),
                *("deleted gone", "modified changed", "added new"),
            ]
            assert witness.cache.version == "20"
        assert server.asked == ["list 0", "watch 10", "list None", "watch 20"]

    async def test_the_new_reading_is_not_from_the_servers_memory(self) -> None:
        """Which may be older than what we have seen already."""
        server = Server()
        server.listing(10)
        server.stream(end=Expired(Status(410)))
        server.listing(20)
        async with following(server):
            await settle(server)
        assert [asked for asked in server.asked if asked.startswith("list")] == ["list 0", "list None"]

    async def test_a_reading_that_fails_changes_nothing(self) -> None:
        server = Server()
        server.listing(10, obj("a", 5), obj("b", 6))
        server.stream(end=Expired(Status(410)))
        server.lists += [Unreachable("reset"), Expired(Status(410)), TimedOut("late"), Forbidden(Status(403))]
        server.listing(20, obj("a", 5), obj("b", 6))
        async with following(server) as witness:
            await settle(server)
            assert witness.told == ["added a", "added b"], "nothing is mistaken for deleted"
            assert len(witness.cache) == 2

    async def test_a_restored_cluster_has_lower_versions_and_is_right(self) -> None:
        server = Server()
        server.listing(1000, obj("a", 900, data="new"), obj("b", 950))
        server.stream(end=Expired(Status(504)))
        server.listing(50, obj("a", 40, data="old"))
        server.stream(modified("a", 51, data="newer"), added("b", 52))
        async with following(server) as witness:
            await settle(server)
            assert witness.told == ["added a", "added b", "deleted b", "modified a", "modified a", "added b"]
            assert witness.cache.version == "52"
            assert witness.value("a")["data"] == "newer"

    async def test_a_version_from_the_future_is_doubted_after_two_silent_watches(self) -> None:
        """A server waits for it without a word; so it is after a restore under a running controller."""
        server = Server()
        server.listing(1000, obj("a", 900), obj("b", 950))
        server.stream(end=TimedOut("silence"))
        server.stream(end=TimedOut("silence"))
        server.listing(50, obj("a", 40))
        async with following(server) as witness:
            await settle(server)
            assert witness.told == ["added a", "added b", "deleted b", "modified a"]
        assert server.asked == ["list 0", "watch 1000", "watch 1000", "list None", "watch 50"]

    async def test_a_word_between_two_silences_is_enough(self) -> None:
        server = Server()
        server.listing(10)
        bookmark = WatchEvent("BOOKMARK", {"metadata": {"resourceVersion": "11"}})
        for _ in range(5):
            server.stream(bookmark, end=TimedOut("silence"))
        async with following(server):
            await settle(server)
        assert server.asked.count("list 0") == 1
        assert "list None" not in server.asked


class TestDisorder:
    async def told(self, *events: WatchEvent) -> list[str]:
        """What is told of these events after a reading that knew only `a`, at version 10."""
        server = Server()
        server.listing(10, obj("a", 5))
        server.stream(*events)
        async with following(server) as witness:
            await settle(server)
            assert witness.told[0] == "added a"
            return witness.told[1:]

    async def test_an_event_that_comes_twice_is_told_once(self) -> None:
        event = modified("a", 11)
        assert await self.told(event, event, event) == ["modified a"]

    async def test_an_older_state_does_not_overwrite_a_newer_one(self) -> None:
        assert await self.told(modified("a", 12), modified("a", 11)) == ["modified a"]

    async def test_a_deletion_that_comes_twice_is_told_once(self) -> None:
        assert await self.told(deleted("a", 11), deleted("a", 11)) == ["deleted a"]

    async def test_a_late_deletion_does_not_remove_what_was_created_again(self) -> None:
        assert await self.told(added("a", 15), deleted("a", 11)) == ["modified a"]

    async def test_a_late_change_does_not_bring_back_what_was_deleted(self) -> None:
        assert await self.told(deleted("a", 12), modified("a", 11)) == ["deleted a"]

    async def test_the_whole_life_told_twice_is_told_once(self) -> None:
        life = [added("b", 11), modified("b", 12), deleted("b", 13)]
        assert await self.told(*life, *life) == ["added b", "modified b", "deleted b"]

    async def test_what_was_created_again_is_told(self) -> None:
        assert await self.told(deleted("a", 11), added("a", 12)) == ["deleted a", "added a"]

    async def test_what_the_reading_no_longer_had_does_not_come_back(self) -> None:
        assert await self.told(added("b", 9), modified("b", 10)) == []

    async def test_objects_out_of_order_are_all_told(self) -> None:
        events = [added("d", 14), added("b", 11), added("c", 13), modified("a", 12)]
        assert await self.told(*events) == ["added d", "added b", "added c", "modified a"]

    async def test_versions_that_are_no_numbers_are_taken_as_they_come(self) -> None:
        server = Server()
        server.lists.append(Listing([obj("a", "x1")], "opaque"))
        server.stream(modified("a", "x2"), added("b", "x3"), deleted("a", "x4"))
        async with following(server) as witness:
            await settle(server)
            assert witness.told == ["added a", "modified a", "added b", "deleted a"]

    @pytest.mark.parametrize("version", ["²", "9" * 5000, "", "-1", "1e9"])
    async def test_an_odd_version_ends_nothing(self, version: str) -> None:
        assert await self.told(modified("a", version)) == ["modified a"]

    async def test_deletions_are_not_remembered_for_ever(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("penstock.kube.cache.REMEMBERED", 2)
        server = Server()
        server.listing(10)
        server.stream(*(deleted(f"n{number}", 20 + number) for number in range(100)))
        async with following(server) as witness:
            await settle(server)
            assert len(witness.cache._gone) == 2


class TestPace:
    async def test_a_server_that_closes_at_once_is_not_asked_in_a_tight_loop(self) -> None:
        server = Server()
        server.listing(10)
        for _ in range(1000):
            server.stream()
        async with following(server):
            await asyncio.sleep(600)
        assert 15 <= len(server.asked) <= 50

    @pytest.mark.parametrize("error", [Expired(Status(410)), Unreachable("refused")], ids=["410", "refused"])
    async def test_nor_is_one_that_always_fails(self, error: KubeError) -> None:
        server = Server()
        server.lists = [error] * 1000
        async with following(server):
            await asyncio.sleep(600)
        assert 15 <= len(server.asked) <= 50

    async def test_the_first_pauses_are_short(self) -> None:
        server = Server()
        server.listing(10)
        for _ in range(4):
            server.stream(end=Unreachable("reset"))
        async with following(server):
            await settle(server)
        assert server.times[4] < 1

    async def test_a_stream_that_lived_a_while_is_followed_by_the_next_at_once(self) -> None:
        class Patient(Server):
            async def watch(self, *arguments: Any, **options: Any) -> AsyncGenerator[WatchEvent]:
                async for event in super().watch(*arguments, **options):
                    yield event
                await asyncio.sleep(300)

        server = Patient()
        server.listing(10)
        for _ in range(10):
            server.stream()
        async with following(server):
            await asyncio.sleep(2999)
        assert len([asked for asked in server.asked if asked.startswith("watch")]) == 10
        gaps = [later - earlier for earlier, later in zip(server.times[1:], server.times[2:], strict=False)]
        assert all(gap < 301 for gap in gaps)

    @pytest.mark.parametrize("refusal", [TooManyRequests, Unavailable])
    async def test_a_server_that_asks_for_a_pause_gets_it(self, refusal: type[TooManyRequests | Unavailable]) -> None:
        server = Server()
        server.listing(10)
        server.stream(end=refusal(Status(429, retry_after=20)))
        server.stream()
        async with following(server):
            await settle(server)
        assert server.times[2] - server.times[1] >= 20

    async def test_trouble_is_told_while_it_lasts_and_logged_once(self) -> None:
        server = Server()
        server.listing(10)
        for _ in range(20):
            server.stream(end=Unreachable("refused"))
        with structlog.testing.capture_logs() as logs:
            async with following(server) as witness:
                await asyncio.sleep(1)
                assert str(witness.cache.trouble) == "refused"
                await settle(server)
                await asyncio.sleep(100)
                assert witness.cache.trouble is None
        assert [entry["event"] for entry in logs] == ["cannot watch"]
