"""Finalizers: the hold that a controller has on an object until it has cleaned up after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.kube.errors import Conflict, NotFound
from penstock.kube.resources import Object, ObjectRef
from penstock.runtime.fence import OwnershipLost
from penstock.runtime.status import TRIES, Contention

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.kube.client import Client
    from penstock.kube.resources import Resource
    from penstock.runtime.fence import Fence


async def add(client: Client, resource: Resource, obj: Object, finalizer: str, *, manager: str, fence: Fence) -> Object:
    """Make sure that the object cannot go away without us; the answer is the object as it is then.

    The run goes on with the answer in the same pass. An object that is being deleted is left as it is: the API
    takes no new finalizer for it.
    """

    def wanted(current: Object) -> list[str]:
        present = _finalizers(current)
        if finalizer in present or current["metadata"].get("deletionTimestamp"):
            return present
        return [*present, finalizer]

    return await _set(client, resource, obj, wanted, manager=manager, fence=fence)


async def remove(
    client: Client, resource: Resource, obj: Object, finalizer: str, *, manager: str, fence: Fence
) -> Object:
    """Let the object go; one that is gone already is fine."""

    def wanted(current: Object) -> list[str]:
        return [name for name in _finalizers(current) if name != finalizer]

    try:
        return await _set(client, resource, obj, wanted, manager=manager, fence=fence)
    except NotFound:
        return obj


async def _set(
    client: Client,
    resource: Resource,
    obj: Object,
    wanted: Callable[[Object], list[str]],
    *,
    manager: str,
    fence: Fence,
) -> Object:
    """Patch the list with the version that was read; others' finalizers survive a conflict."""
    uid = obj["metadata"].get("uid")
    for _ in range(TRIES):
        fence.check()
        metadata = obj["metadata"]
        if metadata.get("uid") != uid:
            fence.close(f"{ObjectRef.of(obj)} was deleted and created again; this run writes nothing more")
            raise OwnershipLost(fence.why)
        finalizers = wanted(obj)
        if finalizers == _finalizers(obj):
            return obj
        change = {"resourceVersion": metadata["resourceVersion"], "finalizers": finalizers}
        name, namespace = metadata["name"], metadata.get("namespace")
        try:
            return await client.patch(resource, name, namespace, {"metadata": change}, manager=manager)
        except Conflict:
            obj = await client.get(resource, name, namespace)
    raise Contention(f"{ObjectRef.of(obj)} changed {TRIES} times while its finalizers were being written")


def _finalizers(obj: Object) -> list[str]:
    return list(obj["metadata"].get("finalizers") or [])
