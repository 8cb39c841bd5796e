"""Plays the kubelets of an API server that has no nodes, through nothing but the Kubernetes API.

Pods become Running and Ready, pods of Jobs complete, deleted pods go away. Nothing is ever executed. Annotations of
the pod (so of the pod template) ask for something else:

    sim.penstock.dev/delay: 2s                 Running at once, but Ready (or completed, or failed) only after this
    sim.penstock.dev/fail: "true"              the containers exit with 1: phase Failed where restartPolicy is Never,
                                               else CrashLoopBackOff with a growing restartCount
    sim.penstock.dev/never-ready: "true"       Running, never Ready; a Job's pod never completes
    sim.penstock.dev/image-pull-error: "true"  Pending, the containers wait with ImagePullBackOff

When several ask, image-pull-error wins over fail, and fail over never-ready. A value that makes no sense is logged as
a warning and treated as absent.

Pods are not bound to a node: an API server deletes such a pod at once, without grace. One that was bound by somebody
is deleted here as soon as it is asked to end, as if its containers had listened.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import structlog

from penstock.embedded import behaviour
from penstock.embedded.kubelet import Remove, Write, next_move
from penstock.kube import WatchCache
from penstock.kube.errors import Conflict, KubeError, NotFound
from penstock.kube.resources import PODS

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.kube import Change, Client, Object, ObjectRef

MANAGER = "penstock-pod-simulator"
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
"""Seconds between tries while the API server refuses or is away."""
SEEN_WITHIN = 5.0
"""Seconds after which a write that no event confirmed is looked at again."""

log = structlog.get_logger()


def _utc_now() -> datetime:
    return datetime.now(UTC)


async def simulate_pods(
    client: Client, *, namespace: str | None = None, now: Callable[[], datetime] = _utc_now
) -> None:
    """Play the kubelets for all pods, or those of one namespace, until cancelled.

    All state is in the pods: it can be cancelled and started again at any time. Only delays begin anew.
    """
    cache = WatchCache(client, PODS, namespace=namespace, transform=_without_managers)
    async with asyncio.TaskGroup() as group:
        cache.subscribe(_Simulation(client, cache, group, now).changed)
        await cache.run()


def _without_managers(pod: Object) -> Object:
    pod["metadata"].pop("managedFields", None)
    return pod


class _Simulation:
    """One task for each pod that has something to come; a pod at rest costs nothing."""

    def __init__(
        self, client: Client, cache: WatchCache[Object], group: asyncio.TaskGroup, now: Callable[[], datetime]
    ) -> None:
        self._client = client
        self._cache = cache
        self._group = group
        self._now = now
        self._under_way: dict[ObjectRef, asyncio.Event] = {}

    async def changed(self, change: Change[Object]) -> None:
        """Take note of a pod that came, changed or went."""
        if change.new is not None:
            _warn(change.ref, change.old, change.new)
        if wake := self._under_way.get(change.ref):
            wake.set()
        elif change.new is not None and self._next(change.new) is not None:
            self._under_way[change.ref] = asyncio.Event()
            self._group.create_task(self._play(change.ref))

    async def _play(self, ref: ObjectRef) -> None:
        try:
            await self._move_on(ref, self._under_way[ref])
        finally:
            del self._under_way[ref]

    async def _move_on(self, ref: ObjectRef, wake: asyncio.Event) -> None:
        """Take the pod from move to move until nothing is left to do, or it is gone."""
        loop = asyncio.get_running_loop()
        due: dict[tuple[str, str], float] = {}
        failures = 0
        while (pod := self._cache.get(ref.name, ref.namespace)) is not None:
            wake.clear()
            move = self._next(pod)
            if move is None:
                return
            if isinstance(move, Write):
                moment = due.setdefault((pod["metadata"]["uid"], move.name), loop.time() + move.after)
                if await _woken(wake, within=moment - loop.time()):
                    continue  # the pod changed while we waited: look again
            done = await self._make(ref, pod, move)
            failures = 0 if done else failures + 1
            await _woken(wake, within=SEEN_WITHIN if done else min(LONGEST_PAUSE, FIRST_PAUSE * 2**failures))

    def _next(self, pod: Object) -> Write | Remove | None:
        wish, _ = behaviour.read(pod["metadata"].get("annotations") or {})
        return next_move(pod, wish, self._now())

    async def _make(self, ref: ObjectRef, pod: Object, move: Write | Remove) -> bool:
        """Make the move; False when it must be tried again. The uid keeps it from meeting a namesake."""
        uid = pod["metadata"]["uid"]
        try:
            if isinstance(move, Remove):
                await self._client.delete(PODS, ref.name, ref.namespace, uid=uid, grace_seconds=0)
            else:
                body = {"metadata": {"uid": uid}, "status": move.status}
                await self._client.patch(
                    PODS, ref.name, ref.namespace, body, kind="strategic", subresource="status", manager=MANAGER
                )
        except NotFound:
            return True  # gone already
        except Conflict:
            return False
        except KubeError as error:
            log.warning("cannot play the kubelet", pod=str(ref), error=str(error))
            return False
        return True


async def _woken(wake: asyncio.Event, *, within: float) -> bool:
    """Wait for the event, but not longer than this many seconds; True when it came."""
    if within <= 0:
        return wake.is_set()
    try:
        async with asyncio.timeout(within):
            await wake.wait()
    except TimeoutError:
        return False
    return True


def _warn(ref: ObjectRef, old: Object | None, new: Object) -> None:
    """Log every annotation that makes no sense, once: when the pod comes, or when they change."""
    annotations = new["metadata"].get("annotations") or {}
    if old is not None and (old["metadata"].get("annotations") or {}) == annotations:
        return
    for problem in behaviour.read(annotations)[1]:
        log.warning("pod simulation: the annotation is left out", pod=str(ref), problem=problem)
