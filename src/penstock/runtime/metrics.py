"""Prometheus metrics under the names that Flux dashboards already use.

prometheus_client takes longer to import than the rest of us, so it is imported when metrics are first made, not
when this module is. `docs/reference/metrics.md` lists every series; a test keeps the list true.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from penstock.runtime.line import Priority
from penstock.runtime.queue import Observer

if TYPE_CHECKING:
    from collections.abc import Callable

    from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

    from penstock.kube.resources import ObjectRef
    from penstock.runtime.queue import Queue
    from penstock.runtime.workers import WorkerPool

Labels = tuple[str, ...]

_OBJECT: Labels = ("kind", "name", "namespace")
_CONTROLLER: Labels = ("controller",)
_QUEUE: Labels = ("name", "controller")

# Ten steps from 10 ms to half an hour, each the same factor above the one before, as Flux has them.
_OBJECT_BUCKETS = tuple(0.01 * (1800 / 0.01) ** (step / 9) for step in range(10))
_QUEUE_BUCKETS = tuple(1e-8 * 10**step for step in range(12))
_RUN_BUCKETS = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
    *(1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60),
)


class Metrics:
    """All series of one process, in a registry of their own."""

    def __init__(self, *, process: bool = True) -> None:
        """`process` adds the memory, CPU and file descriptors of this process."""
        import prometheus_client

        prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call] # the peers have none, and they double the size
        self.registry: CollectorRegistry = prometheus_client.CollectorRegistry()
        if process:
            prometheus_client.ProcessCollector(registry=self.registry)
        self._fresh: list[Callable[[], None]] = []
        self._add_object_series()
        self._add_controller_series()
        self._add_queue_series()
        self._add_own_series()

    def _add_object_series(self) -> None:
        self.object_duration = self._histogram(
            "gotk_reconcile_duration_seconds", "Seconds that a reconcile of the object took.", _OBJECT, _OBJECT_BUCKETS
        )
        self.object_condition = self._gauge(
            "gotk_reconcile_condition",
            "Condition of the object; kept for old dashboards.",
            (*_OBJECT, "type", "status"),
        )
        self.object_suspended = self._gauge(
            "gotk_suspend_status", "Whether the object is suspended; kept for old dashboards.", _OBJECT
        )
        self.token_events = self._counter(
            "gotk_token_cache_events_total", "Tokens found in the cache, or not.", ("event_type", *_OBJECT, "operation")
        )
        self.tokens = self._gauge("gotk_token_cached_items", "Tokens in the cache.")
        self.token_requests = self._counter(
            "gotk_token_cache_requests_total", "Requests to the token cache by outcome.", ("status",)
        )
        self.token_evictions = self._counter(
            "gotk_token_cache_evictions_total", "Tokens that left the cache before their time."
        )

    def _add_controller_series(self) -> None:
        prefix = "controller_runtime"
        self.runs = self._counter(f"{prefix}_reconcile_total", "Reconciles by result.", (*_CONTROLLER, "result"))
        self.errors = self._counter(f"{prefix}_reconcile_errors_total", "Reconciles that failed.", _CONTROLLER)
        self.terminal_errors = self._counter(
            f"{prefix}_terminal_reconcile_errors_total", "Reconciles whose failure no retry can help.", _CONTROLLER
        )
        self.panics = self._counter(
            f"{prefix}_reconcile_panics_total", "Reconciles that ended in an unexpected exception.", _CONTROLLER
        )
        self.run_time = self._histogram(
            f"{prefix}_reconcile_time_seconds", "Seconds that a reconcile took.", _CONTROLLER, _RUN_BUCKETS
        )
        self.active = self._gauge(f"{prefix}_active_workers", "Reconciles that hold a slot.", _CONTROLLER)
        self.most_active = self._gauge(f"{prefix}_max_concurrent_reconciles", "Slots that there are.", _CONTROLLER)
        self.requests = self._counter(
            "rest_client_requests_total", "Requests to API servers.", ("code", "method", "host")
        )
        self.leads = self._gauge("leader_election_master_status", "1 while this process leads.", ("name",))

    def _add_queue_series(self) -> None:
        self.depth = self._gauge("workqueue_depth", "Keys that are ready and wait.", (*_QUEUE, "priority"))
        self.adds = self._counter("workqueue_adds_total", "Keys put in line.", _QUEUE)
        self.retries = self._counter("workqueue_retries_total", "Keys put back through the backoff.", _QUEUE)
        self.waited = self._histogram(
            "workqueue_queue_duration_seconds", "Seconds that a key stood in line.", _QUEUE, _QUEUE_BUCKETS
        )
        self.worked = self._histogram(
            "workqueue_work_duration_seconds", "Seconds that a key was worked on.", _QUEUE, _QUEUE_BUCKETS
        )
        self.unfinished = self._gauge(
            "workqueue_unfinished_work_seconds", "Seconds that the present runs have lasted together.", _QUEUE
        )
        self.longest = self._gauge(
            "workqueue_longest_running_processor_seconds", "Seconds that the oldest run has lasted.", _QUEUE
        )

    def _add_own_series(self) -> None:
        self.parked = self._gauge("penstock_reconcile_parked", "Reconciles that wait without a slot.", _CONTROLLER)
        self.overdue = self._counter(
            "penstock_reconcile_overdue_total", "Reconciles that ran past their deadline.", _CONTROLLER
        )
        self.blocked = self._counter(
            "penstock_event_loop_blocked_seconds_total", "Seconds for which the event loop could not run."
        )
        self.worker_calls = self._counter(
            "penstock_worker_calls_total", "Calls to the worker processes by result.", ("result",)
        )
        self.workers = self._gauge("penstock_workers", "Worker processes by state.", ("state",))

    def follow(self, name: str, queue: Queue) -> None:
        """Show what a controller's queue looks like at the moment of each scrape."""
        depths = {one: self.depth.labels(name, name, one.name.lower()) for one in Priority}
        self.most_active.labels(name).set(queue.concurrency)

        def look() -> None:
            now = asyncio.get_running_loop().time()
            lasted = [now - run.started for run in queue.runs]
            for priority, gauge in depths.items():
                gauge.set(queue.depth(priority))
            self.active.labels(name).set(queue.busy)
            self.parked.labels(name).set(sum(bool(run.waits_for) for run in queue.runs))
            self.unfinished.labels(name, name).set(sum(lasted))
            self.longest.labels(name, name).set(max(lasted, default=0.0))

        self._fresh.append(look)

    def follow_pool(self, pool: WorkerPool) -> None:
        """Show how many worker processes there are at the moment of each scrape."""

        def look() -> None:
            self.workers.labels("busy").set(pool.busy)
            self.workers.labels("idle").set(pool.idle)

        self._fresh.append(look)

    def count_requests(self, host: str) -> Callable[[str, int], None]:
        """What a transport calls with method and status code of every answer of that API server."""
        return lambda method, code: self.requests.labels(str(code), method, host).inc()

    def forget(self, ref: ObjectRef) -> None:
        """Remove the series of an object that is gone."""
        with contextlib.suppress(KeyError):  # never recorded
            self.object_duration.remove(ref.kind, ref.name, ref.namespace)
        with contextlib.suppress(KeyError):
            self.object_suspended.remove(ref.kind, ref.name, ref.namespace)
        labels = {"kind": ref.kind, "name": ref.name, "namespace": ref.namespace}
        self.object_condition.remove_by_labels(labels)
        self.token_events.remove_by_labels(labels)

    async def exposition(self, accept: str = "") -> tuple[bytes, str]:
        """Everything in the format that the scraper asks for, and the content type of that format.

        Thousands of objects take a while to write down: that is done in a thread.
        """
        from prometheus_client.exposition import choose_encoder

        for look in self._fresh:
            look()
        encode, content_type = choose_encoder(accept)
        return await asyncio.to_thread(encode, self.registry), content_type

    def _counter(self, name: str, text: str, labels: Labels = ()) -> Counter:
        from prometheus_client import Counter

        return Counter(name, text, labels, registry=self.registry)

    def _gauge(self, name: str, text: str, labels: Labels = ()) -> Gauge:
        from prometheus_client import Gauge

        return Gauge(name, text, labels, registry=self.registry)

    def _histogram(self, name: str, text: str, labels: Labels, buckets: tuple[float, ...]) -> Histogram:
        from prometheus_client import Histogram

        return Histogram(name, text, labels, buckets=buckets, registry=self.registry)


class QueueMetrics(Observer):
    """Counts what one controller's queue does."""

    def __init__(self, metrics: Metrics, name: str) -> None:
        self._adds = metrics.adds.labels(name, name)
        self._retries = metrics.retries.labels(name, name)
        self._waited = metrics.waited.labels(name, name)
        self._worked = metrics.worked.labels(name, name)

    def added(self) -> None:
        self._adds.inc()

    def retried(self) -> None:
        self._retries.inc()

    def taken(self, waited: float) -> None:
        self._waited.observe(waited)

    def finished(self, worked: float) -> None:
        self._worked.observe(worked)
