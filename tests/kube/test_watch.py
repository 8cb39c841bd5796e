from __future__ import annotations

import asyncio
import json
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import pytest

from penstock.kube import WatchEvent, connect
from penstock.kube.errors import ApiError, BadAnswer, Expired, Forbidden, KubeError, TimedOut, Unreachable
from penstock.kube.resources import CONFIG_MAPS
from tests.kube.loopback import Asked, Loopback, Wire, serve, status

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


def event(name: str, *, kind: str = "ADDED", **fields: Any) -> dict[str, Any]:
    return {"type": kind, "object": {"metadata": {"name": name, "resourceVersion": "5"}, **fields}}


def lines(*events: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in events)


async def watched(
    script: Callable[[Wire], Awaitable[None]], *, quiet: float = 5.0, **options: Any
) -> tuple[list[WatchEvent], KubeError | None, Loopback]:
    """The events that came through, what ended the watch (None: its own end), and the server."""

    async def answer(asked: Asked, wire: Wire) -> None:
        await script(wire)

    seen: list[WatchEvent] = []
    async with serve(answer) as server, connect(server.settings) as client:
        try:
            async with aclosing(client.watch(CONFIG_MAPS, "default", quiet=quiet, **options)) as events:
                async for one in events:
                    seen.append(one)  # noqa: PERF401 - what came before an error counts
        except KubeError as error:
            return seen, error, server
    return seen, None, server


def names(events: list[WatchEvent]) -> list[str]:
    return [one.object["metadata"]["name"] for one in events]


@pytest.mark.parametrize("size", [1, 7, 64, 4096])
async def test_events_come_whole_however_they_are_cut(size: int) -> None:
    data = lines(event("a"), event("b", kind="MODIFIED", data={"key": "ü\u2028\n"}), event("c", kind="DELETED"))

    async def script(wire: Wire) -> None:
        await wire.begin()
        await wire.send(*(data[i : i + size] for i in range(0, len(data), size)))
        await wire.end()

    seen, error, _ = await watched(script)
    assert error is None
    assert [one.type for one in seen] == ["ADDED", "MODIFIED", "DELETED"]
    assert names(seen) == ["a", "b", "c"]
    assert seen[1].object["data"] == {"key": "ü\u2028\n"}


async def test_an_event_may_be_larger_than_any_buffer() -> None:
    async def script(wire: Wire) -> None:
        await wire.begin()
        await wire.send(event("huge", data={"key": "x" * 3_000_000}), event("small"))
        await wire.end()

    seen, error, _ = await watched(script)
    assert error is None
    assert names(seen) == ["huge", "small"]
    assert len(seen[0].object["data"]["key"]) == 3_000_000


async def test_an_event_without_end_is_not_kept_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.kube.watch.LONGEST_EVENT", 1024 * 1024)

    async def script(wire: Wire) -> None:
        await wire.begin()
        while True:
            await wire.send(b"x" * 65536)

    seen, error, _ = await watched(script)
    assert seen == []
    assert isinstance(error, BadAnswer)
    assert "is longer than 1 MiB" in str(error)


async def test_empty_lines_are_nothing() -> None:
    async def script(wire: Wire) -> None:
        await wire.begin()
        await wire.send(b"\n", event("a"), b"\n\n")
        await wire.end()

    seen, error, _ = await watched(script)
    assert (names(seen), error) == (["a"], None)


ENDS: dict[str, tuple[bytes, type[KubeError]]] = {
    "half an event": (b'{"type": "ADDED", "obj', BadAnswer),
    "no JSON": (b"<html>\n", BadAnswer),
    "a list": (b"[1]\n", BadAnswer),
    "no type": (b'{"object": {}}\n', BadAnswer),
    "no object": (b'{"type": "ADDED"}\n', BadAnswer),
    "an object of text": (b'{"type": "ADDED", "object": "x"}\n', BadAnswer),
    "metadata of text": (b'{"type": "ADDED", "object": {"metadata": "x"}}\n', BadAnswer),
    "a version that is a number": (b'{"type": "ADDED", "object": {"metadata": {"resourceVersion": 7}}}\n', BadAnswer),
    "an unknown type": (b'{"type": "SIDEWAYS", "object": {}}\n', BadAnswer),
    "a type that is a list": (b'{"type": [], "object": {}}\n', BadAnswer),
    "an expired version": (lines({"type": "ERROR", "object": status(410, "Expired")}), Expired),
    "a right that was taken away": (lines({"type": "ERROR", "object": status(403, "Forbidden")}), Forbidden),
    "an error of text": (b'{"type": "ERROR", "object": "boom"}\n', ApiError),
}


@pytest.mark.parametrize(("data", "expected"), ENDS.values(), ids=ENDS.keys())
async def test_what_ends_a_watch_is_typed_and_what_came_before_counts(data: bytes, expected: type[KubeError]) -> None:
    async def script(wire: Wire) -> None:
        await wire.begin()
        await wire.send(event("before"), data)
        await wire.end()

    seen, error, _ = await watched(script)
    assert names(seen) == ["before"]
    assert isinstance(error, expected)


@pytest.mark.parametrize("whole", [b"", b'{"type": "ADDED", "obj'], ids=["between events", "in an event"])
async def test_a_connection_that_breaks(whole: bytes) -> None:
    async def script(wire: Wire) -> None:
        await wire.begin()
        await wire.send(event("before"), *([whole] if whole else []))
        wire.reset()

    seen, error, _ = await watched(script)
    assert isinstance(error, Unreachable)
    assert names(seen) in (["before"], [])  # a reset may overtake what was sent


async def test_a_half_open_connection_ends_when_it_was_quiet_for_too_long() -> None:
    async def script(wire: Wire) -> None:
        await wire.begin()
        await wire.send(event("before"))
        await wire.hang()

    seen, error, _ = await watched(script, quiet=0.1)
    assert names(seen) == ["before"]
    assert isinstance(error, TimedOut)


async def test_a_watch_that_never_begins_ends_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not after the long quiet that an open watch may have."""
    monkeypatch.setattr("penstock.kube.client.TIMEOUT", 0.1)

    async def script(wire: Wire) -> None:
        await wire.hang()

    seen, error, _ = await watched(script, quiet=1000)
    assert seen == []
    assert isinstance(error, TimedOut)


async def test_a_refusal_that_never_ends_ends_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.kube.client.TIMEOUT", 0.1)

    async def script(wire: Wire) -> None:
        await wire.raw(b"HTTP/1.1 500 x\r\nContent-Length: 100\r\n\r\n{")
        await wire.hang()

    _, error, _ = await watched(script, quiet=1000)
    assert isinstance(error, TimedOut)


@pytest.mark.parametrize(("code", "expected"), [(410, Expired), (403, Forbidden), (500, ApiError)])
async def test_a_refusal_is_what_it_is(code: int, expected: type[KubeError]) -> None:
    async def script(wire: Wire) -> None:
        await wire.refuse(code)

    _, error, _ = await watched(script)
    assert isinstance(error, expected)


async def test_what_is_asked_for() -> None:
    async def script(wire: Wire) -> None:
        await wire.begin()
        await wire.end()

    _, _, server = await watched(
        script, labels="a=b", fields="metadata.name=x", resource_version="7", metadata_only=True, seconds=300
    )
    (asked,) = server.asked
    assert asked.path == "/api/v1/namespaces/default/configmaps"
    assert asked.query == {
        "labelSelector": "a=b",
        "fieldSelector": "metadata.name=x",
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": "7",
        "timeoutSeconds": "300",
    }
    assert asked.headers["accept"].startswith("application/json;as=PartialObjectMetadata;")


async def test_a_streaming_list_is_asked_for_and_its_end_is_seen() -> None:
    async def script(wire: Wire) -> None:
        await wire.begin()
        end = event("", kind="BOOKMARK")
        end["object"]["metadata"]["annotations"] = {"k8s.io/initial-events-end": "true"}
        await wire.send(event("a"), event("", kind="BOOKMARK"), end)
        await wire.end()

    seen, _, server = await watched(script, resource_version="", initial_events=True)
    assert [one.initial_end for one in seen] == [False, False, True]
    query = server.asked[0].query
    assert query["sendInitialEvents"] == "true"
    assert query["resourceVersionMatch"] == "NotOlderThan"
    assert query["resourceVersion"] == ""


async def test_leaving_a_watch_closes_its_connection() -> None:
    gone = asyncio.Event()

    async def script(asked: Asked, wire: Wire) -> None:
        await wire.begin()
        try:
            while True:
                await wire.send(event("again"))
        except ConnectionError:
            gone.set()
            raise

    async with serve(script) as server, connect(server.settings) as client:
        async with aclosing(client.watch(CONFIG_MAPS)) as events:
            await anext(events)
        async with asyncio.timeout(5):
            await gone.wait()
