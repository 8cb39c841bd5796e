"""The floor of `bench.kustomizations`: a bare HTTP client that sends what has to be sent, and nothing else.

For each Kustomization: its finalizer, a dry-run of its four objects, the inventory before the first write, the four
applies kind by kind, the final status, and two events: what was created, and that all is well. The bodies are made
before the clock starts.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import aiohttp
import orjson

from bench.kustomizations_load import NAMESPACE, kustomization, names, objects
from penstock.controllers.kustomization.parts import KUSTOMIZATIONS
from penstock.kube.resources import EVENTS

if TYPE_CHECKING:
    from tests.controlplane.plane import ControlPlane

WORKERS = 16
"""Kustomizations at once: a choice, not the best of several."""
APPLY, MERGE, JSON = "application/apply-patch+yaml", "application/merge-patch+json", "application/json"
REVISION = "main@sha1:" + "0" * 40


@dataclass(frozen=True, slots=True)
class Call:
    """One request, ready to be sent."""

    method: str
    path: str
    content_type: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Job:
    """All requests for one Kustomization."""

    finalizer: Call
    dry_runs: list[Call]
    ahead: Call
    applies: list[Call]
    rest: list[Call]


async def floor(plane: ControlPlane) -> tuple[float, float]:
    """Seconds from the first request to the last answer, and seconds of CPU of the client."""
    jobs = iter([_job(name) for name in names()])
    context = ssl.create_default_context(cafile=plane.ca)
    headers = {"Authorization": f"Bearer {plane.token}", "Accept": JSON, "Accept-Encoding": "identity"}
    connector = aiohttp.TCPConnector(ssl=context, limit=0)
    async with aiohttp.ClientSession(plane.server, connector=connector, headers=headers) as session:

        async def send(call: Call) -> Any:
            content = {"Content-Type": call.content_type}
            async with session.request(call.method, call.path, data=call.body, headers=content) as response:
                body = orjson.loads(await response.read())
                assert response.status in {200, 201}, body
                return body

        async def work() -> None:
            for job in jobs:
                await send(job.finalizer)
                await asyncio.gather(*map(send, job.dry_runs))
                await send(job.ahead)
                for call in job.applies:
                    await send(call)
                for call in job.rest:
                    await send(call)

        begun, cpu = time.perf_counter(), time.process_time()
        async with asyncio.TaskGroup() as group:
            for _ in range(WORKERS):
                group.create_task(work())
        return time.perf_counter() - begun, time.process_time() - cpu


def _job(name: str) -> Job:
    applied = objects(name)
    path = KUSTOMIZATIONS.path(name, NAMESPACE)
    entries = [{"id": f"{NAMESPACE}_{name}_{resource.group}_{resource.kind}", "v": "v1"} for resource in applied]
    applies = [
        Call("PATCH", f"{resource.path(name, NAMESPACE)}?fieldManager=bench&force=true", APPLY, orjson.dumps(obj))
        for resource, obj in applied.items()
    ]
    dry_runs = [Call(one.method, f"{one.path}&dryRun=All", one.content_type, one.body) for one in applies]
    lines = "\n".join(f"{resource.kind}/{NAMESPACE}/{name} created" for resource in applied)
    return Job(
        finalizer=_merge(path, {"metadata": {"finalizers": ["finalizers.fluxcd.io"]}}),
        dry_runs=dry_runs,
        ahead=_merge(f"{path}/status", {"status": {"inventory": {"entries": entries}}}),
        applies=applies,
        rest=[
            _merge(f"{path}/status", {"status": _status()}),
            _event(name, 1, "Progressing", lines),
            _event(name, 2, "ReconciliationSucceeded", "Reconciliation finished in 100ms, next run in 1h0m0s"),
        ],
    )


def _merge(path: str, body: Any) -> Call:
    return Call("PATCH", path, MERGE, orjson.dumps(body))


def _status() -> dict[str, Any]:
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "ReconciliationSucceeded",
        "message": f"Applied revision: {REVISION}",
        "observedGeneration": 1,
        "lastTransitionTime": _now(),
    }
    snapshot = {
        "digest": "sha256:" + "0" * 64,
        "firstReconciled": _now(),
        "lastReconciled": _now(),
        "lastReconciledDuration": "100ms",
        "lastReconciledStatus": "ReconciliationSucceeded",
        "totalReconciliations": 1,
        "metadata": {"revision": REVISION},
    }
    return {
        "conditions": [ready],
        "history": [snapshot],
        "observedGeneration": 1,
        "lastAppliedRevision": REVISION,
        "lastAttemptedRevision": REVISION,
    }


def _event(name: str, number: int, reason: str, message: str) -> Call:
    body = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{name}.{number}", "namespace": NAMESPACE},
        "involvedObject": {key: kustomization(name)[key] for key in ("apiVersion", "kind")}
        | {"name": name, "namespace": NAMESPACE},
        "type": "Normal",
        "reason": reason,
        "message": message,
        "source": {"component": "bench"},
        "firstTimestamp": _now(),
        "lastTimestamp": _now(),
        "count": 1,
    }
    return Call("POST", EVENTS.path(namespace=NAMESPACE), JSON, orjson.dumps(body))


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
