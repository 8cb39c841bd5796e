from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from penstock.runtime.line import Priority
from penstock.runtime.metrics import Metrics, QueueMetrics
from penstock.runtime.queue import Queue
from tests.runtime.keys import key
from tests.runtime.test_controller import sample

if TYPE_CHECKING:
    from collections.abc import Iterator

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "metrics.md"


def registered() -> dict[str, tuple[str, str]]:
    """Name -> (type, labels) of every family of ours."""
    found: dict[str, tuple[str, str]] = {}
    metrics = Metrics(process=False)
    collectors: list[Any] = list(metrics.registry._collector_to_names)
    for collector in collectors:
        name: str = collector._name + ("_total" if collector._type == "counter" else "")
        found[name] = (collector._type, ", ".join(f"`{label}`" for label in collector._labelnames))
    return found


def documented() -> Iterator[tuple[str, tuple[str, str]]]:
    for line in REFERENCE.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 4 and cells[0].startswith("`"):
            yield cells[0].strip("`"), (cells[1], cells[2])


def test_the_reference_lists_every_series() -> None:
    assert dict(documented()) == registered()


def test_process_metrics_are_there_on_request() -> None:
    assert Metrics().registry.get_sample_value("process_resident_memory_bytes")


@pytest.mark.parametrize("module", ["penstock.runtime", "penstock.runtime.metrics"])
def test_prometheus_is_imported_only_when_needed(module: str) -> None:
    told = subprocess.run(
        [sys.executable, "-c", f"import sys, {module}; print('prometheus_client' in sys.modules)"],
        check=True,
        capture_output=True,
        text=True,
    )
    assert told.stdout.strip() == "False"


@pytest.mark.looptime
async def test_a_queue_is_seen_at_the_moment_of_the_scrape(metrics: Metrics) -> None:
    queue = Queue(concurrency=2, observer=QueueMetrics(metrics, "kustomization"))
    metrics.follow("kustomization", queue)
    name = {"name": "kustomization", "controller": "kustomization"}
    queue.add(key("a"))
    queue.add(key("b"))
    queue.add(key("c"), Priority.ASKED)
    queue.retry(key("d"))
    async with queue.take(), queue.take() as second, second.parked("health"):
        await asyncio.sleep(0.5)
        body, _ = await metrics.exposition()
    assert b"controller_runtime_active_workers" in body
    assert sample(metrics, "workqueue_depth", priority="asked", **name) == 0
    assert sample(metrics, "workqueue_depth", priority="interval", **name) == 1
    assert sample(metrics, "workqueue_adds_total", **name) == 3
    assert sample(metrics, "workqueue_retries_total", **name) == 1
    assert sample(metrics, "workqueue_unfinished_work_seconds", **name) == pytest.approx(1.0)
    assert sample(metrics, "workqueue_longest_running_processor_seconds", **name) == pytest.approx(0.5)
    assert sample(metrics, "workqueue_queue_duration_seconds_count", **name) == 2
    assert sample(metrics, "workqueue_work_duration_seconds_count", **name) == 2
    assert sample(metrics, "controller_runtime_active_workers", controller="kustomization") == 1
    assert sample(metrics, "controller_runtime_max_concurrent_reconciles", controller="kustomization") == 2
    assert sample(metrics, "penstock_reconcile_parked", controller="kustomization") == 1


def test_the_series_of_an_object_that_is_gone_are_removed(metrics: Metrics) -> None:
    for name in ("a", "b"):
        labels = ("Kustomization", name, "default")
        metrics.object_duration.labels(*labels).observe(1)
        metrics.object_suspended.labels(*labels).set(1)
        metrics.object_condition.labels(*labels, "Ready", "True").set(1)
        metrics.token_events.labels("cache_hit", *labels, "fetch_kubeconfig").inc()
    metrics.forget(key("a"))
    metrics.forget(key("never-seen"))
    left = {
        (one.name, one.labels["name"])
        for family in metrics.registry.collect()
        for one in family.samples
        if "namespace" in one.labels and one.labels.get("le") in {None, "+Inf"}
    }
    assert {name for _, name in left} == {"b"}
    assert len(left) == 6


def test_requests_to_an_api_server_are_counted(metrics: Metrics) -> None:
    count = metrics.count_requests("127.0.0.1:6443")
    count("PATCH", 200)
    count("PATCH", 200)
    assert sample(metrics, "rest_client_requests_total", code="200", method="PATCH", host="127.0.0.1:6443") == 2


def test_an_object_is_timed_in_flux_buckets(metrics: Metrics) -> None:
    metrics.object_duration.labels("Kustomization", "a", "default").observe(1)
    bounds = [
        float(one.labels["le"])
        for family in metrics.registry.collect()
        for one in family.samples
        if one.name == "gotk_reconcile_duration_seconds_bucket"
    ]
    assert len(bounds) == 11
    assert bounds[0] == pytest.approx(0.01)
    assert bounds[9] == pytest.approx(1800)
