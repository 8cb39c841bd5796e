"""Status of an object, written as one merge patch of what changed, and only while the object is ours.

Every patch carries the resourceVersion that was read. When the server refuses it, the object is read again: if only
fields of others changed, our change is sent once more; if somebody wrote fields of ours, another process works on
the object, and the run's fence is closed before it can write anything else.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import structlog

from penstock.errors import PenstockError
from penstock.kube.errors import Conflict, NotFound
from penstock.kube.resources import Object, ObjectRef
from penstock.runtime.conditions import OWNED
from penstock.runtime.fence import OwnershipLost

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Collection

    from penstock.kube.client import Client
    from penstock.kube.resources import Resource
    from penstock.runtime.fence import Fence

TRIES = 5
PATIENCE = 0.2
"""Seconds that a run may last before anybody sees what it is doing."""

log = structlog.get_logger()


class Contention(PenstockError):
    """Others changed the object again and again while we tried to write it."""


class StatusWriter:
    """Writes the status of one object during one run.

    `write` sends what differs from the object as last seen, now, and nothing when nothing differs. `show` is for
    progress: it is sent at most once a run, and only if the run lasts longer than `patience` seconds.
    """

    def __init__(
        self,
        client: Client,
        resource: Resource,
        obj: Object,
        *,
        manager: str,
        fence: Fence,
        owned: Collection[str] = OWNED,
    ) -> None:
        """`owned` are the condition types that are ours; every other field of the status is ours too."""
        self.object = obj
        """The object as last read or answered."""
        self.sent = 0
        """How many patches the server has taken."""
        self._client = client
        self._resource = resource
        self._manager = manager
        self._fence = fence
        self._owned = owned
        self._unanswered: list[Object] = []
        self._lock = asyncio.Lock()
        self._pending: Object | None = None
        self._shown = asyncio.Event()

    async def write(self, status: Object) -> None:
        """Make the status equal to `status`; raises OwnershipLost when the object is no longer ours."""
        self._pending = None
        self._shown.clear()
        async with self._lock:
            await self._write(status)

    def show(self, status: Object) -> None:
        """Have this seen soon, if the run goes on; what was to be shown before is forgotten."""
        self._pending = status
        self._shown.set()

    @asynccontextmanager
    async def showing(self, *, patience: float = PATIENCE) -> AsyncGenerator[None]:
        """Send what is shown inside the body. A failure to show is logged and does not end the run."""
        # A task group would wrap every error of the body; this task has one owner and ends with it.
        task = asyncio.create_task(self._show_once(patience))
        try:
            yield
            if self._lock.locked():  # a patch under way is left to finish
                await asyncio.wait([task])
        finally:
            task.cancel()
            await asyncio.wait([task])
            if not task.cancelled():
                task.result()

    async def _show_once(self, patience: float) -> None:
        await asyncio.sleep(patience)
        while True:
            await self._shown.wait()
            async with self._lock:
                if self._pending is None:  # overtaken by a write
                    continue
                try:
                    await self._write(self._pending)
                except PenstockError as error:
                    log.info("progress could not be shown", error=str(error))
                return

    async def _write(self, status: Object) -> None:
        for _ in range(TRIES):
            self._fence.check()
            change = delta(self.object.get("status") or {}, status)
            if not change:
                return
            if await self._sent(change, status):
                return
            status = self._with_others(status)
        raise Contention(f"{ObjectRef.of(self.object)} changed {TRIES} times while its status was being written")

    async def _sent(self, change: Object, status: Object) -> bool:
        metadata = self.object["metadata"]
        body = {"metadata": {"resourceVersion": metadata["resourceVersion"]}, "status": change}
        name, namespace = metadata["name"], metadata.get("namespace")
        self._unanswered.append(status)
        try:
            self.object = await self._client.patch(
                self._resource, name, namespace, body, subresource="status", manager=self._manager
            )
        except Conflict:
            self._unanswered.pop()
            self._take(await self._read(name, namespace))
            return False
        except NotFound:
            raise self._lost("is gone") from None
        self._unanswered.clear()
        self.sent += 1
        return True

    async def _read(self, name: str, namespace: str | None) -> Object:
        try:
            return await self._client.get(self._resource, name, namespace)
        except NotFound:
            raise self._lost("is gone") from None

    def _take(self, fresh: Object) -> None:
        """Go on from what the server has now, unless somebody else has written what is ours."""
        if fresh["metadata"].get("uid") != self.object["metadata"].get("uid"):
            raise self._lost("was deleted and created again")
        base, now = self._ours(self.object.get("status")), self._ours(fresh.get("status"))
        # A patch without an answer may have landed: then the server has what we sent.
        if now != base and now not in [self._ours(status) for status in self._unanswered]:
            fields = ", ".join(sorted(delta(base, now)))
            raise self._lost(f"was changed by somebody else (status: {fields})")
        self.object = fresh

    def _lost(self, what: str) -> PenstockError:
        self._fence.close(f"{ObjectRef.of(self.object)} {what}; this run writes nothing more")
        return OwnershipLost(self._fence.why)

    def _ours(self, status: Object | None) -> Object:
        ours = dict(status or {})
        if "conditions" in ours:
            ours["conditions"] = [one for one in ours["conditions"] if one.get("type") in self._owned]
        return {field: value for field, value in ours.items() if value not in (None, [], {})}

    def _with_others(self, status: Object) -> Object:
        """Our status with the conditions that others have set meanwhile."""
        live = (self.object.get("status") or {}).get("conditions") or []
        others = [one for one in live if one.get("type") not in self._owned]
        ours = self._ours(status).get("conditions") or []
        return {**status, "conditions": [*ours, *others]} if ours or others else status


def delta(old: Object, new: Object) -> Object:
    """The JSON merge patch that turns `old` into `new`; empty when they are equal.

    Lists are replaced whole. A None in `new` means that the field is not there: a merge patch cannot say null.
    """
    change: Object = {key: None for key in old if old[key] is not None and new.get(key) is None}
    for key, value in new.items():
        before = old.get(key)
        if value is None or value == before:
            continue
        if isinstance(value, dict) and isinstance(before, dict):
            if inner := delta(before, value):
                change[key] = inner
        else:
            change[key] = value
    return change
