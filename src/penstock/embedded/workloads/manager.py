"""Runs the controllers: a change puts its object, or that object's controller, into a queue that one worker empties."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Protocol

from penstock.embedded.status import StatusError
from penstock.embedded.workloads.daemonsets import DaemonSets
from penstock.embedded.workloads.deployments import Deployments
from penstock.embedded.workloads.desk import RETRY, Desk
from penstock.embedded.workloads.index import Owned
from penstock.embedded.workloads.jobs import Jobs
from penstock.embedded.workloads.pods import Pods
from penstock.embedded.workloads.replicasets import ReplicaSets
from penstock.embedded.workloads.statefulsets import StatefulSets

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.embedded.server.ports import Api
    from penstock.embedded.storage import Change
    from penstock.kube.resources import Object

Key = tuple[str, str, str]
"""Kind, namespace and name."""

COLLECTIONS = {
    "/pods": "Pod",
    "apps/replicasets": "ReplicaSet",
    "apps/deployments": "Deployment",
    "apps/statefulsets": "StatefulSet",
    "apps/daemonsets": "DaemonSet",
    "batch/jobs": "Job",
}
_OWNED = ("Pod", "ReplicaSet")

log = logging.getLogger("penstock.embedded")


class Controller(Protocol):
    async def reconcile(self, obj: Object) -> float | None:
        """Bring one object a step further; seconds until the next look, None for the next change."""
        ...


class Workloads:
    """All controllers of workloads, driven by the store's changes."""

    def __init__(self, api: Api, now: Callable[[], float]) -> None:
        self._api = api
        self._owned = Owned()
        desk = Desk(api, self._owned, now)
        self._pods = Pods(desk)
        self._controllers: dict[str, Controller] = {
            "Pod": self._pods,
            "ReplicaSet": ReplicaSets(desk),
            "Deployment": Deployments(desk),
            "StatefulSet": StatefulSets(desk),
            "DaemonSet": DaemonSets(desk),
            "Job": Jobs(desk),
        }
        self._resources = {kind: desk.resource(*collection.split("/", 1)) for collection, kind in COLLECTIONS.items()}
        self._waiting: dict[Key, None] = {}
        self._timers: dict[Key, asyncio.TimerHandle] = {}
        self._wake = asyncio.Event()

    def load(self) -> None:
        """Take over what is stored."""
        for kind, resource in self._resources.items():
            for obj in self._api.list(resource):
                self._note(kind, obj)

    def changed(self, change: Change) -> None:
        """Follow a change at once, so that no controller ever acts on an old count."""
        record = change.record
        kind = COLLECTIONS.get(record.collection)
        if kind is None:
            return
        if change.type != "DELETED":
            self._note(kind, change.object())
            return
        if kind in _OWNED:
            self._add_controller(self._owned.drop(kind, record.namespace, record.name), record.namespace)
        if kind == "Pod":
            self._pods.forget(change.object()["metadata"].get("uid", ""))
        self._cancel((kind, record.namespace, record.name))

    def _note(self, kind: str, obj: Object) -> None:
        metadata = obj["metadata"]
        namespace = metadata.get("namespace", "")
        if kind in _OWNED:
            self._add_controller(self._owned.put(kind, obj), namespace)
        self._add((kind, namespace, metadata["name"]))

    def _add_controller(self, reference: Object | None, namespace: str) -> None:
        if reference is not None and reference["kind"] in self._controllers:
            self._add((reference["kind"], namespace, reference["name"]))

    def _add(self, key: Key) -> None:
        self._waiting[key] = None
        self._wake.set()

    async def run(self, api: Api) -> None:
        """Work for as long as the server runs."""
        try:
            while True:
                while self._waiting:
                    key = next(iter(self._waiting))
                    del self._waiting[key]
                    await self._reconcile(api, key)
                    await asyncio.sleep(0)  # a store in memory never waits: let others have their turn
                self._wake.clear()
                await self._wake.wait()
        finally:
            for timer in self._timers.values():
                timer.cancel()

    async def _reconcile(self, api: Api, key: Key) -> None:
        kind, namespace, name = key
        obj = api.get(self._resources[kind], name, namespace)
        if obj is None:
            return
        try:
            again = await self._controllers[kind].reconcile(obj)
        except StatusError as error:
            log.warning("cannot play %s %s of namespace %s: %s", kind, name, namespace, error.message)
            again = RETRY
        self._cancel(key)
        if again is not None:
            self._timers[key] = asyncio.get_running_loop().call_later(again, self._due, key)

    def _due(self, key: Key) -> None:
        self._timers.pop(key, None)
        self._add(key)

    def _cancel(self, key: Key) -> None:
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()
