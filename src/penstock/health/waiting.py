"""Waits until objects are rolled out: told by a watch, bounded by a timeout, and no longer than there is hope."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from penstock.errors import StageError
from penstock.health.lookout import Lookout, open_lookout
from penstock.health.rules import status_of, unschedulable
from penstock.health.status import Health, HealthStatus, part
from penstock.kube.errors import KubeError
from penstock.kube.resources import JOBS, ObjectRef
from penstock.labels import BadSelector, written

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from penstock.health.expressions import Expressions
    from penstock.kube import Client, Object

TICK = 5.0
"""Seconds after which everything is judged again: some rules look at the clock."""

_OWN_PODS = frozenset({"StatefulSet", "ReplicaSet"})


class HealthCheckFailed(StageError):
    """Not everything was healthy when the wait ended; the text names what was not."""

    reason = "HealthCheckFailed"


async def wait(
    client: Client,
    targets: Iterable[ObjectRef],
    *,
    timeout: float,
    fail_fast: bool = True,
    expressions: Expressions | None = None,
    vanishing: Collection[ObjectRef] = (),
) -> None:
    """Return when all targets are Current; HealthCheckFailed after `timeout` seconds, or when waiting is no use.

    With `fail_fast` one failed object ends the wait; without, only when nothing is on its way any more. `vanishing` are
    Jobs that delete themselves when they are done: not there is as good as done.
    """
    progress = _Progress(tuple(dict.fromkeys(targets)), expressions, frozenset(vanishing), fail_fast=fail_fast)
    if not progress.targets:
        return
    try:
        async with asyncio.timeout(timeout):
            await _check_scopes(client, progress.targets)
            async with open_lookout(client) as view:
                await progress.settle(view)
    except TimeoutError:
        raise HealthCheckFailed(progress.account("timeout waiting for", everything=True)) from None
    if progress.failed:
        raise HealthCheckFailed(progress.account("failed early due to stalled resources", everything=False))


def vanishing(objects: Iterable[Object]) -> set[ObjectRef]:
    """The Jobs among these objects that delete themselves when they are done."""
    return {
        ObjectRef.of(obj)
        for obj in objects
        if ObjectRef.of(obj).group_kind == JOBS.group_kind and "ttlSecondsAfterFinished" in part(obj, "spec")
    }


class _Progress:
    """What is known of each target so far."""

    def __init__(
        self,
        targets: tuple[ObjectRef, ...],
        expressions: Expressions | None,
        vanishing: frozenset[ObjectRef],
        *,
        fail_fast: bool,
    ) -> None:
        self.targets = targets
        self._expressions = expressions
        self._vanishing = vanishing
        self._fail_fast = fail_fast
        self._verdicts: dict[ObjectRef, Health] = {}

    async def settle(self, view: Lookout) -> None:
        """Return when all is well, or when nothing can become well any more."""
        seen = await view.look(self.targets)
        self._judge(view, self.targets)
        if self._over():
            return
        view.follow(seen)
        while not self._over():
            await view.rings(TICK)
            # Pods of a target change its verdict too, so a change elsewhere means: all that are not done.
            changed, view.changed = view.changed, set()
            waiting = [ref for ref in self.targets if self._status(ref) is not HealthStatus.CURRENT]
            self._judge(view, changed.intersection(self.targets).union(waiting))

    @property
    def failed(self) -> bool:
        return any(health.status is HealthStatus.FAILED for health in self._verdicts.values())

    def account(self, headline: str, *, everything: bool) -> str:
        """What the error says: the failed ones, or `everything` that is not Current."""
        told = [
            self._line(ref)
            for ref in self.targets
            if self._status(ref) is HealthStatus.FAILED
            or (everything and self._status(ref) is not HealthStatus.CURRENT)
        ]
        return f"{headline}: [{', '.join(told)}]"

    def _line(self, ref: ObjectRef) -> str:
        health = self._verdicts.get(ref)
        if health is None:
            return f"can't determine status for {ref}"
        trouble = f": {health.message}" if health.status is HealthStatus.UNKNOWN and health.message else ""
        return f"{ref} status: '{health.status}'{trouble}"

    def _status(self, ref: ObjectRef) -> HealthStatus | None:
        health = self._verdicts.get(ref)
        return health.status if health else None

    def _over(self) -> bool:
        statuses = [self._status(ref) for ref in self.targets]
        if self._fail_fast and HealthStatus.FAILED in statuses:
            return True
        return all(status in (HealthStatus.CURRENT, HealthStatus.FAILED) for status in statuses)

    def _judge(self, view: Lookout, refs: Iterable[ObjectRef]) -> None:
        for ref in refs:
            if (health := self._health(view, ref)) is not None:
                self._verdicts[ref] = health

    def _health(self, view: Lookout, ref: ObjectRef) -> Health | None:
        sight = view.sight(ref)
        if sight is None:
            return None
        if sight.error is not None:
            return Health(HealthStatus.UNKNOWN, str(sight.error))
        if sight.obj is None:
            done = ref in self._vanishing
            return Health(HealthStatus.CURRENT if done else HealthStatus.NOT_FOUND)
        health = status_of(sight.obj, expressions=self._expressions)
        if health.status is HealthStatus.IN_PROGRESS and ref.kind in _OWN_PODS and ref.group == "apps":
            return self._with_pods(view, sight.obj, ref) or health
        return health

    def _with_pods(self, view: Lookout, obj: Object, ref: ObjectRef) -> Health | None:
        """Failed when a pod of its has failed for good. Pods that go, or that find no node, do not count."""
        if self._expressions and self._expressions.find(ref.group_kind):
            return None
        try:
            labels = written(part(part(obj, "spec"), "selector"))
        except BadSelector:
            return None
        pods = view.pods(ref.namespace, labels) if labels else []
        lost = [pod for pod in pods if status_of(pod).status is HealthStatus.FAILED and not unschedulable(pod)]
        return Health(HealthStatus.FAILED, f"{len(lost)} pods have failed") if lost else None


async def _check_scopes(client: Client, targets: Iterable[ObjectRef]) -> None:
    """A check without a namespace would wait for nothing until its time is over: say so at once."""
    for kind, ref in {ref.group_kind: ref for ref in targets if not ref.namespace}.items():
        try:
            resource = await client.discovery.find(*kind)
        except KubeError:
            continue  # not known (yet): the wait itself tells
        if resource.namespaced:
            raise HealthCheckFailed(f"resource {kind} {ref.name} is namespace scoped, but namespace is not set")
