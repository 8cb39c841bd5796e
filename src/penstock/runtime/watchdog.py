"""Names what takes too long: a reconcile past its deadline, and an event loop that could not run."""

from __future__ import annotations

import asyncio
import time
import weakref
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import structlog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import FrameType

    from penstock.runtime.controller import Controller
    from penstock.runtime.metrics import Metrics
    from penstock.runtime.run import Run

TICK = 0.2
BLOCKED = 0.3
"""Seconds by which a tick may be late. A block of TICK + BLOCKED is always noticed."""

_STANDARD_LIBRARY = str(PurePath(asyncio.__file__).parent.parent)

log = structlog.get_logger()


class Watchdog:
    """Looks at all runs a few times a second; each one that is overdue is told once."""

    def __init__(
        self,
        controllers: Iterable[Controller],
        *,
        metrics: Metrics,
        tick: float = TICK,
        blocked: float = BLOCKED,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._controllers = list(controllers)
        self._metrics = metrics
        self._tick, self._blocked = tick, blocked
        self._clock = clock
        self._told: weakref.WeakSet[Run] = weakref.WeakSet()

    async def run(self) -> None:
        """Watch until cancelled."""
        while True:
            before = self._clock()
            await asyncio.sleep(self._tick)
            self._look_at_loop(self._clock() - before - self._tick)
            self._look_at_runs()

    def _look_at_loop(self, late: float) -> None:
        if late > self._blocked:
            self._metrics.blocked.inc(late)
            log.warning("the event loop was blocked", seconds=round(late, 3))

    def _look_at_runs(self) -> None:
        now = asyncio.get_running_loop().time()
        for controller in self._controllers:
            for run in controller.queue.runs:
                if run.deadline is not None and now > run.deadline and run not in self._told:
                    self._told.add(run)
                    self._tell(controller, run, now - run.started)

    def _tell(self, controller: Controller, run: Run, seconds: float) -> None:
        self._metrics.overdue.labels(controller.name).inc()
        log.warning(
            "a reconcile is past its deadline",
            controller=controller.name,
            namespace=run.key.namespace,
            name=run.key.name,
            reconcileID=run.id,
            seconds=round(seconds, 3),
            waits_for=run.waits_for or where(run.task),
        )


def where(task: asyncio.Task[Any] | None) -> str:
    """The place at which a task waits: the innermost line that is no library's, and what it waits in there."""
    frames = list(_frames(task.get_coro())) if task is not None else []
    if not frames:
        return "unknown"
    ours = [frame for frame in frames if not _is_library(frame.f_code.co_filename)]
    place = _place((ours or frames)[-1])
    called = frames[-1].f_code.co_qualname
    return place if place.endswith(f" {called}") else f"{place}, in {called}"


def _is_library(file: str) -> bool:
    return file.startswith(_STANDARD_LIBRARY) or "site-packages" in file


def _frames(awaited: Any) -> Iterable[FrameType]:
    """The frames of a suspended coroutine, outermost first."""
    while awaited is not None:
        for frame, inner in (("cr_frame", "cr_await"), ("ag_frame", "ag_await"), ("gi_frame", "gi_yieldfrom")):
            if hasattr(awaited, frame):
                if (current := getattr(awaited, frame)) is not None:
                    yield current
                awaited = getattr(awaited, inner)
                break
        else:
            return


def _place(frame: FrameType) -> str:
    file = PurePath(frame.f_code.co_filename)
    return f"{'/'.join(file.parts[-2:])}:{frame.f_lineno} {frame.f_code.co_qualname}"
