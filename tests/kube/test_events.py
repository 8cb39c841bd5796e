from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

import pytest
import structlog

from penstock.kube import Client, Event, Recorder, Resource, reference
from penstock.kube.errors import Forbidden, KubeError, NotFound, Status, Unreachable

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from penstock.kube import Object

pytestmark = pytest.mark.looptime

APP = {
    "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
    "kind": "Kustomization",
    "metadata": {"namespace": "apps", "name": "web", "uid": "u1", "resourceVersion": "7", "labels": {"a": "b"}},
}
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}


class Store:
    """The two verbs of a client that a recorder needs."""

    def __init__(self) -> None:
        self.objects: dict[str, Object] = {}
        self.writes = 0
        self.failure: KubeError | None = None
        self.hanging = False

    async def create(self, _resource: Resource, obj: Object) -> Object:
        await self._arrive()
        self.objects[obj["metadata"]["name"]] = obj
        return {}

    async def patch(self, _resource: Resource, name: str, namespace: str, body: Any) -> Object:
        await self._arrive()
        if name not in self.objects:
            raise NotFound(Status(404, name=name))
        assert self.objects[name]["metadata"]["namespace"] == namespace
        self.objects[name] |= body
        return self.objects[name]

    async def _arrive(self) -> None:
        await asyncio.sleep(0.01)
        if self.hanging:
            await asyncio.Event().wait()
        if self.failure:
            raise self.failure
        self.writes += 1

    @property
    def told(self) -> list[str]:
        return [f"{obj['message']} x{obj['count']}" for obj in self.objects.values()]


def event(message: str = "applied", *, obj: Object = APP, reason: str = "Done", **fields: Any) -> Event:
    return Event(reference(obj), fields.pop("type", "Normal"), reason, message, **fields)


@asynccontextmanager
async def recording(store: Store) -> AsyncGenerator[Recorder]:
    recorder = Recorder(
        cast(Client, store),
        component="kustomize-controller",
        instance="pod-1",
        now=lambda: datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
    )
    running = asyncio.create_task(recorder.run())
    try:
        yield recorder
        assert not running.done(), "a recorder never ends by itself"
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


async def test_an_event_is_stored_as_kubernetes_does() -> None:
    store = Store()
    async with recording(store) as recorder:
        recorder.record(event("applied", type="Warning", annotations={"revision": "main@sha1:x"}))
        await recorder.flush(within=10)
    (stored,) = store.objects.values()
    assert stored["metadata"]["name"].startswith("web.")
    assert stored["metadata"]["namespace"] == "apps"
    assert stored["metadata"]["annotations"] == {"revision": "main@sha1:x"}
    assert stored["involvedObject"] == {
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "namespace": "apps",
        "name": "web",
        "uid": "u1",
        "resourceVersion": "7",
    }
    assert (stored["type"], stored["reason"], stored["message"]) == ("Warning", "Done", "applied")
    assert stored["source"] == {"component": "kustomize-controller"}
    assert (stored["reportingComponent"], stored["reportingInstance"]) == ("kustomize-controller", "pod-1")
    assert stored["firstTimestamp"] == stored["lastTimestamp"] == "2026-01-02T03:04:05Z"
    assert stored["count"] == 1


async def test_an_event_about_a_cluster_scoped_object_lies_in_default() -> None:
    store = Store()
    async with recording(store) as recorder:
        recorder.record(event(obj=NODE))
        await recorder.flush(within=10)
    assert [obj["metadata"]["namespace"] for obj in store.objects.values()] == ["default"]


async def test_long_names_and_texts_are_cut_to_what_the_server_takes() -> None:
    store = Store()
    long = {**APP, "metadata": {"namespace": "apps", "name": "n" * 253}}
    async with recording(store) as recorder:
        recorder.record(event("m" * 5000, obj=long))
        await recorder.flush(within=10)
    (stored,) = store.objects.values()
    assert len(stored["metadata"]["name"]) <= 253
    assert len(stored["message"]) == 1024


class TestRepetition:
    async def test_the_same_again_raises_the_count(self) -> None:
        store = Store()
        async with recording(store) as recorder:
            for _ in range(5):
                recorder.record(event("applied"))
            await recorder.flush(within=10)
        assert store.told == ["applied x5"]

    @pytest.mark.parametrize(
        "other",
        [
            event("other"),
            event(reason="Other"),
            event(type="Warning"),
            event(obj=NODE),
            event(annotations={"revision": "2"}),
        ],
        ids=["text", "reason", "type", "object", "annotations"],
    )
    async def test_what_differs_is_an_event_of_its_own(self, other: Event) -> None:
        store = Store()
        async with recording(store) as recorder:
            recorder.record(event())
            recorder.record(other)
            await recorder.flush(within=10)
        assert [obj["count"] for obj in store.objects.values()] == [1, 1]

    async def test_one_that_the_server_has_forgotten_is_made_anew(self) -> None:
        store = Store()
        async with recording(store) as recorder:
            recorder.record(event())
            await recorder.flush(within=10)
            store.objects.clear()
            recorder.record(event())
            recorder.record(event())
            await recorder.flush(within=10)
        assert store.told == ["applied x2"]

    async def test_many_that_differ_only_in_their_text_become_one(self) -> None:
        store = Store()
        async with recording(store) as recorder:
            for number in range(15):
                recorder.record(event(f"text {number}"))
            await recorder.flush(within=10)
        assert store.told == [
            *(f"text {number} x1" for number in range(10)),
            "(combined from similar events): text 14 x5",
        ]

    async def test_the_same_text_again_does_not_count_as_similar(self) -> None:
        store = Store()
        async with recording(store) as recorder:
            for _ in range(15):
                recorder.record(event("text"))
            recorder.record(event("another"))
            await recorder.flush(within=10)
        assert store.told == ["text x15", "another x1"]

    async def test_after_ten_minutes_texts_are_told_apart_again(self) -> None:
        store = Store()
        async with recording(store) as recorder:
            for number in range(11):
                recorder.record(event(f"text {number}"))
            await recorder.flush(within=10)
            await asyncio.sleep(601)
            recorder.record(event("late"))
            await recorder.flush(within=10)
        assert store.told[-1] == "late x1"


class TestBounds:
    async def test_an_object_may_burst_and_then_gets_one_in_five_minutes(self) -> None:
        store = Store()
        async with recording(store) as recorder:
            for _ in range(100):
                recorder.record(event())
            await recorder.flush(within=10)
            assert store.writes == 25
            assert recorder.dropped == 75
            await asyncio.sleep(301)
            for _ in range(5):
                recorder.record(event())
            await recorder.flush(within=10)
            assert store.writes == 26

    async def test_one_object_does_not_use_up_what_another_may_say(self) -> None:
        store = Store()
        async with recording(store) as recorder:
            for _ in range(100):
                recorder.record(event())
            recorder.record(event("mine", obj=NODE))
            await recorder.flush(within=10)
        assert "mine x1" in store.told

    async def test_the_queue_is_bounded_and_the_oldest_go_first(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("penstock.kube.events.QUEUE", 500)
        store = Store()
        store.hanging = True
        async with recording(store) as recorder:
            await asyncio.sleep(1)
            for number in range(510):
                recorder.record(event(obj={**NODE, "metadata": {"name": f"n{number}"}}))
            assert recorder.dropped == 10
            store.hanging = False
            await recorder.flush(within=60)
        names = {obj["involvedObject"]["name"] for obj in store.objects.values()}
        assert names == {f"n{number}" for number in range(10, 510)}

    async def test_recording_never_waits(self) -> None:
        store = Store()
        store.hanging = True
        async with recording(store) as recorder:
            for _ in range(5000):
                recorder.record(event())
            assert asyncio.get_running_loop().time() == 0

    async def test_memory_is_bounded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("penstock.kube.events.REMEMBERED", 10)
        store = Store()
        async with recording(store) as recorder:
            for number in range(100):
                recorder.record(event(obj={**NODE, "metadata": {"name": f"n{number}"}}))
            await recorder.flush(within=60)
            assert len(recorder._buckets) == 10
            assert len(recorder._series) == 10


class TestAnApiThatIsDown:
    @pytest.mark.parametrize("failure", [Unreachable("gone"), Forbidden(Status(403)), NotFound(Status(404))])
    async def test_events_are_dropped_and_counted_and_later_ones_told(self, failure: KubeError) -> None:
        store = Store()
        store.failure = failure
        async with recording(store) as recorder:
            recorder.record(event("lost"))
            await recorder.flush(within=10)
            assert recorder.dropped == 1
            store.failure = None
            recorder.record(event("told"))
            await recorder.flush(within=10)
        assert store.told == ["told x1"]

    async def test_waiting_for_the_last_ones_is_bounded(self) -> None:
        store = Store()
        store.hanging = True
        with structlog.testing.capture_logs() as logs:
            async with recording(store) as recorder:
                recorder.record(event())
                recorder.record(event())
                await asyncio.sleep(1)
                await recorder.flush(within=5)
                assert asyncio.get_running_loop().time() == 6
        assert [(entry["event"], entry["count"]) for entry in logs] == [("events were left behind", 1)]
