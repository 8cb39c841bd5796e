"""A controller: watches objects, queues their keys, and runs one reconcile a key.

A reconcile is a coroutine function that takes a `Run` and says when it wants to be called again. It may raise any
PenstockError; `Terminal` means that only a change can help. Everything else that escapes it is caught here, logged with
its traceback and retried.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import structlog

from penstock.errors import PenstockError
from penstock.runtime.delays import Jitter
from penstock.runtime.line import Priority
from penstock.runtime.metrics import QueueMetrics
from penstock.runtime.queue import Queue, QueueClosed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from penstock.kube.cache import Change, WatchCache
    from penstock.kube.resources import GroupKind, ObjectRef
    from penstock.runtime.delays import Backoff
    from penstock.runtime.fence import Fence
    from penstock.runtime.metrics import Metrics
    from penstock.runtime.run import Run

T = TypeVar("T")

DEADLINE = 600.0
"""Seconds after which the watchdog names a reconcile that has not said otherwise."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class After:
    """Fine; call again after so many seconds. An interval on the way of success is spread."""

    delay: float
    spread: bool = False


@dataclass(frozen=True, slots=True)
class Again:
    """Not done yet; call again through the backoff."""


@dataclass(frozen=True, slots=True)
class Done:
    """Nothing to do until something changes."""


Result = After | Again | Done


class Terminal(PenstockError):
    """No retry can help; the next run comes when something changes."""


class Controller:
    """Reconciles the objects of one kind."""

    def __init__(
        self,
        kind: GroupKind,
        reconcile: Callable[[Run], Awaitable[Result]],
        *,
        metrics: Metrics,
        concurrency: int = 4,
        backoff: Backoff | None = None,
        jitter: Jitter | None = None,
        deadline: float = DEADLINE,
        fence: Fence | None = None,
        mine: Callable[[ObjectRef], bool] = lambda _: True,
    ) -> None:
        """`mine` says which objects this replica works on; the others are left alone."""
        self.kind = kind
        self.name = kind.kind.lower()
        self.queue = Queue(
            concurrency=concurrency, backoff=backoff, observer=QueueMetrics(metrics, self.name), fence=fence
        )
        self._reconcile = reconcile
        self._metrics = metrics
        self._jitter = jitter or Jitter()
        self._deadline = deadline
        self._mine = mine
        self._started = False
        self._known: set[ObjectRef] = set()
        self._ours: set[ObjectRef] = set()
        """Those of the known that were ours when we last looked."""

    def reconciles(
        self,
        cache: WatchCache[T],
        *,
        when: Callable[[Change[T]], bool] = lambda _: True,
        priority: Callable[[Change[T]], Priority] = lambda _: Priority.REVISION,
    ) -> None:
        """Work on the objects of this cache: a change that passes `when` makes its object run."""

        async def note(change: Change[T]) -> None:
            if change.type == "deleted":
                self._known.discard(change.ref)
                self._ours.discard(change.ref)
                return
            self._known.add(change.ref)
            if self._mine(change.ref):
                self._ours.add(change.ref)

        cache.subscribe(note)
        self.watches(cache, to=lambda change: (change.ref,), when=when, priority=priority)

    def watches(
        self,
        cache: WatchCache[T],
        *,
        to: Callable[[Change[T]], Iterable[ObjectRef]],
        when: Callable[[Change[T]], bool] = lambda _: True,
        priority: Callable[[Change[T]], Priority] = lambda _: Priority.REVISION,
    ) -> None:
        """Let changes of other objects make those run that `to` names.

        What the first reading shows is old news: it counts as an interval, whatever `priority` says.
        """

        async def changed(change: Change[T]) -> None:
            if not when(change):
                return
            urgency = priority(change) if self._started else Priority.INTERVAL
            for key in to(change):
                self.add(key, urgency, cause=change.ref)

        cache.subscribe(changed)

    def add(self, key: ObjectRef, priority: Priority = Priority.REVISION, *, cause: ObjectRef | None = None) -> None:
        """Ask for a run of an object."""
        self.queue.add(key, priority, cause=cause)

    async def rebalance(self, _: object = None) -> None:
        """The replicas share the work in another way: stop what is no longer ours, look at what has become ours."""
        for run in self.queue.runs:
            if not self._mine(run.key):
                run.fence.close(_lost(run.key))
        before, self._ours = self._ours, {key for key in self._known if self._mine(key)}
        for key in self._ours - before:
            self.queue.add(key)

    async def run(self) -> None:
        """Work until cancelled, or until drained and nothing is parked."""
        self._metrics.follow(self.name, self.queue)
        self._started = True
        async with asyncio.TaskGroup() as group:
            group.create_task(self._work(group))

    async def drain(self) -> None:
        """Begin nothing new and wait until no run works; parked ones are left for the caller to cancel."""
        self.queue.close()
        await self.queue.drained()

    async def _work(self, group: asyncio.TaskGroup) -> None:
        """Take one key; the next taker waits in line while this one works, however long it parks."""
        try:
            async with self.queue.take() as run:
                group.create_task(self._work(group))
                await self._work_on(run)
        except QueueClosed:
            return

    async def _work_on(self, run: Run) -> None:
        key = run.key
        if not self._mine(key):
            self._leave(key)
            return
        run.fence.close_unless(lambda: self._mine(key), _lost(key))
        run.task = asyncio.current_task()
        run.expect(self._deadline)
        with structlog.contextvars.bound_contextvars(**self._context(run)):
            self._count(run, await self._outcome(run))

    def _leave(self, key: ObjectRef) -> None:
        """Let others work on it; what was ours a moment ago may be again when the members are certain of each other."""
        if key in self._ours:
            self.queue.retry(key)
        else:
            self.queue.forget(key)

    def _context(self, run: Run) -> dict[str, Any]:
        key = run.key
        return {
            "controller": self.name,
            "controllerGroup": self.kind.group,
            "controllerKind": self.kind.kind,
            self.kind.kind: {"name": key.name, "namespace": key.namespace},
            "namespace": key.namespace,
            "name": key.name,
            "reconcileID": run.id,
        }

    async def _outcome(self, run: Run) -> str:
        """Run the reconcile, settle when the next run comes, and give the result as metrics name it."""
        try:
            result = await self._reconcile(run)
        except Exception as error:  # noqa: BLE001 - the edge: nothing a reconcile does may end the controller
            self._failed(run, error)
            return "error"
        match result:
            case After(delay) if delay > 0:
                self.queue.forget(run.key)
                self.queue.add(run.key, after=self._jitter.spread(delay) if result.spread else delay)
                return "requeue_after"
            case Done():
                self.queue.forget(run.key)
                return "success"
            case _:  # also a delay of nothing, which must not become a loop without pause
                self.queue.retry(run.key, run.ask.priority)
                return "requeue"

    def _failed(self, run: Run, error: Exception) -> None:
        self._metrics.errors.labels(self.name).inc()
        known = _expected(error)
        if known is None:
            self._metrics.panics.labels(self.name).inc()
            log.error("reconcile ended in an unexpected exception", exc_info=error)
        elif isinstance(known, Terminal):
            self._metrics.terminal_errors.labels(self.name).inc()
            log.error("reconcile failed for good", error=str(known))
            return
        else:
            log.error("reconcile failed", error=str(known))
        self.queue.retry(run.key, run.ask.priority)

    def _count(self, run: Run, result: str) -> None:
        took = asyncio.get_running_loop().time() - run.started
        self._metrics.runs.labels(self.name, result).inc()
        self._metrics.run_time.labels(self.name).observe(took)
        if run.key in self._known:
            self._metrics.object_duration.labels(self.kind.kind, run.key.name, run.key.namespace).observe(took)
        else:
            self._metrics.forget(run.key)


def _lost(key: ObjectRef) -> str:
    return f"{key} belongs to another replica now; this run writes nothing more"


def _expected(error: BaseException) -> PenstockError | None:
    """The error that a reconcile raised on purpose; None when there is anything else in it."""
    if isinstance(error, PenstockError):
        return error
    if not isinstance(error, BaseExceptionGroup):
        return None
    inner = [_expected(one) for one in error.exceptions]
    known = [one for one in inner if one is not None]
    if len(known) < len(inner):
        return None
    if all(isinstance(one, Terminal) for one in known) or len(known) == 1:
        return known[0]
    return PenstockError("; ".join(str(one) for one in known))
