"""Events about objects, told to the cluster and, where there is one, to a notification controller.

Both ways are off the reconcile path: what cannot be told is dropped and counted, and no run waits for it.
"""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal, Protocol

import aiohttp
import orjson
import structlog

from penstock.kube.events import Event, reference

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from penstock.kube.resources import Object

Severity = Literal["Normal", "Warning", "Trace"]

PREFIX = "event.toolkit.fluxcd.io/"
"""Annotations of an object that begin like this go into every event about it."""
QUEUE = 1_000
TIMEOUT = 5.0
"""Seconds for one post."""
TRIES = 5
_SEVERITIES = {"Normal": "info", "Warning": "error"}

log = structlog.get_logger()


class Records(Protocol):
    """What keeps events in the cluster; `penstock.kube.Recorder` does."""

    def record(self, event: Event) -> None: ...


class Announcer:
    """Tells events about objects in one controller's name."""

    def __init__(self, recorder: Records, *, sink: EventSink | None = None) -> None:
        self._recorder, self._sink = recorder, sink

    def tell(
        self, obj: Object, severity: Severity, reason: str, message: str, metadata: Mapping[str, str] | None = None
    ) -> None:
        """Say something about an object; never waits, never raises.

        A trace stays in the cluster, as a normal event; the others go to the notification controller too.
        """
        annotations = obj["metadata"].get("annotations") or {}
        told = {**(metadata or {}), **{key: value for key, value in annotations.items() if key.startswith(PREFIX)}}
        kind: Literal["Normal", "Warning"] = "Warning" if severity == "Warning" else "Normal"
        self._recorder.record(Event(reference(obj), kind, reason, message, told))
        if self._sink is not None and severity != "Trace":
            self._sink.post(obj, _SEVERITIES[severity], reason, message, told)


class EventSink:
    """Posts events as JSON to the address of a notification controller (`--events-addr`)."""

    def __init__(
        self,
        url: str,
        *,
        controller: str,
        instance: str = "",
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        pause: float = 1.0,
    ) -> None:
        """`pause` is what the first repetition waits; every further one waits twice as long."""
        self._url = url
        self._controller = controller
        self._instance = instance or socket.gethostname()
        self._now = now
        self._pause = pause
        self._queue: deque[bytes] = deque()
        self._wake = asyncio.Event()
        self.dropped = 0

    def post(self, obj: Object, severity: str, reason: str, message: str, metadata: Mapping[str, str]) -> None:
        """Take note of an event; the oldest is dropped when too many wait."""
        if len(self._queue) >= QUEUE:
            self._queue.popleft()
            self.dropped += 1
        body = {
            "involvedObject": reference(obj),
            "severity": severity,
            "timestamp": self._now().strftime("%Y-%m-%dT%H:%M:%SZ"),
            "message": message,
            "reason": reason,
            "reportingController": self._controller,
            "reportingInstance": self._instance,
        }
        self._queue.append(orjson.dumps({**body, "metadata": dict(metadata)} if metadata else body))
        self._wake.set()

    async def run(self) -> None:
        """Post what comes, until cancelled."""
        timeout = aiohttp.ClientTimeout(total=TIMEOUT)
        async with aiohttp.ClientSession(timeout=timeout, trust_env=False) as session:
            while True:
                await self._wake.wait()
                self._wake.clear()
                while self._queue:
                    await self._deliver(session, self._queue.popleft())

    async def _deliver(self, session: aiohttp.ClientSession, body: bytes) -> None:
        told = ""
        for attempt in range(TRIES):
            if attempt:
                await asyncio.sleep(self._pause * 2 ** (attempt - 1))
            try:
                async with session.post(
                    self._url, data=body, headers={"Content-Type": "application/json"}, allow_redirects=False
                ) as answer:
                    if answer.status < 500:  # a 429 says that the event is known already
                        return
                    told = f"status {answer.status}"
            except (aiohttp.ClientError, TimeoutError) as error:
                told = str(error) or type(error).__name__
        self.dropped += 1
        log.info("an event could not be posted", error=told)
