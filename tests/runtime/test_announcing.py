"""Events: in the cluster, and at the address of a notification controller."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web

from penstock.runtime import announcing
from penstock.runtime.announcing import Announcer, EventSink

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from penstock.kube import Event

OBJECT: dict[str, Any] = {
    "apiVersion": "source.toolkit.fluxcd.io/v1",
    "kind": "GitRepository",
    "metadata": {
        "name": "apps",
        "namespace": "team",
        "uid": "u-1",
        "resourceVersion": "7",
        "annotations": {"event.toolkit.fluxcd.io/cluster": "north", "other": "not told"},
    },
}


class Recorded:
    def __init__(self) -> None:
        self.events: list[Event] = []

    def record(self, event: Event) -> None:
        self.events.append(event)


class Listener:
    """A notification controller that answers what it is told to, and 202 afterwards."""

    def __init__(self) -> None:
        self.url = ""
        self.codes: list[int] = []
        self.bodies: list[dict[str, Any]] = []
        self.arrived = asyncio.Condition()

    async def take(self, request: web.Request) -> web.Response:
        async with self.arrived:
            self.bodies.append(await request.json())
            self.arrived.notify_all()
        return web.Response(status=self.codes.pop(0) if self.codes else 202)

    async def count(self, number: int) -> None:
        async with asyncio.timeout(20), self.arrived:
            await self.arrived.wait_for(lambda: len(self.bodies) >= number)


@asynccontextmanager
async def listening() -> AsyncGenerator[tuple[Listener, EventSink]]:
    listener = Listener()
    app = web.Application()
    app.router.add_post("/", listener.take)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    sink = EventSink(
        f"http://127.0.0.1:{runner.addresses[0][1]}/",
        controller="source-controller",
        instance="pod-1",
        now=lambda: datetime(2026, 1, 1, tzinfo=UTC),
        pause=0.001,
    )
    running = asyncio.create_task(sink.run())
    try:
        yield listener, sink
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
        await runner.cleanup()


async def test_an_event_goes_both_ways() -> None:
    recorded = Recorded()
    async with listening() as (listener, sink):
        announcer = Announcer(recorded, sink=sink)
        announcer.tell(OBJECT, "Normal", "NewArtifact", "stored artifact", {"revision": "main"})
        await listener.count(1)
    metadata = {"revision": "main", "event.toolkit.fluxcd.io/cluster": "north"}
    [event] = recorded.events
    assert (event.type, event.reason, event.message, event.annotations) == (
        "Normal",
        "NewArtifact",
        "stored artifact",
        metadata,
    )
    assert listener.bodies == [
        {
            "involvedObject": {
                "apiVersion": "source.toolkit.fluxcd.io/v1",
                "kind": "GitRepository",
                "name": "apps",
                "namespace": "team",
                "uid": "u-1",
                "resourceVersion": "7",
            },
            "severity": "info",
            "timestamp": "2026-01-01T00:00:00Z",
            "message": "stored artifact",
            "reason": "NewArtifact",
            "metadata": metadata,
            "reportingController": "source-controller",
            "reportingInstance": "pod-1",
        }
    ]


async def test_severities() -> None:
    recorded = Recorded()
    async with listening() as (listener, sink):
        announcer = Announcer(recorded, sink=sink)
        announcer.tell(OBJECT, "Trace", "ArtifactUpToDate", "nothing new")
        announcer.tell(OBJECT, "Warning", "GitOperationFailed", "away")
        await listener.count(1)
    assert [(event.type, event.reason) for event in recorded.events] == [
        ("Normal", "ArtifactUpToDate"),
        ("Warning", "GitOperationFailed"),
    ]
    assert [(body["severity"], body["reason"]) for body in listener.bodies] == [("error", "GitOperationFailed")]


@pytest.mark.parametrize(
    ("codes", "posts", "dropped"),
    [
        pytest.param([500, 503], 3, 0, id="trouble is waited out"),
        pytest.param([429], 1, 0, id="a duplicate is not repeated"),
        pytest.param([400], 1, 0, id="a refusal is not repeated"),
        pytest.param([500] * announcing.TRIES, announcing.TRIES, 1, id="given up after some tries"),
    ],
)
async def test_repetitions(codes: list[int], posts: int, dropped: int) -> None:
    async with listening() as (listener, sink):
        listener.codes = codes
        sink.post(OBJECT, "info", "First", "text", {})
        sink.post(OBJECT, "info", "Second", "text", {})
        await listener.count(posts + 1)
    assert [body["reason"] for body in listener.bodies] == ["First"] * posts + ["Second"]
    assert sink.dropped == dropped


async def test_the_queue_is_bounded() -> None:
    sink = EventSink("http://127.0.0.1:1/", controller="x", instance="y")
    for number in range(announcing.QUEUE + 5):
        sink.post(OBJECT, "info", "Reason", str(number), {})
    assert sink.dropped == 5
