"""What all controllers of workloads do: make and remove pods, and write a status when it changed."""

from __future__ import annotations

import hashlib
import logging
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import orjson

from penstock.embedded.server.ports import DeleteOptions
from penstock.embedded.status import StatusError

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.embedded.server.ports import Api, ServedResource
    from penstock.embedded.workloads.index import Owned, PodFacts
    from penstock.kube.resources import Object

MANAGER = "kube-controller-manager"
RETRY = 5.0
"""Seconds until a controller looks again after the server refused a pod."""
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_HASH_LENGTH = 10

log = logging.getLogger("penstock.embedded")


class Desk:
    """The tools of the controllers."""

    def __init__(self, api: Api, owned: Owned, now: Callable[[], float]) -> None:
        self.api = api
        self.owned = owned
        self.now = now

    def resource(self, group: str, plural: str) -> ServedResource:
        found = self.api.catalog.find(group, "v1", plural)
        if found is None:
            raise LookupError(f"{plural} of {group!r} are not served")
        return found

    def stamp(self) -> str:
        return datetime.fromtimestamp(self.now(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    async def create_pod(self, owner: Object, template: Object, *, name: str = "", labels: Object | None = None) -> str:
        """Make a pod of a template; what the server said when it refused, else nothing."""
        metadata: Object = template.get("metadata") or {}
        pod: Object = {
            "metadata": {
                "generateName": f"{owner['metadata']['name']}-",
                "namespace": owner["metadata"]["namespace"],
                "labels": {**(metadata.get("labels") or {}), **(labels or {})},
                "ownerReferences": [reference_to(owner)],
            },
            "spec": template["spec"],
        }
        if name:
            pod["metadata"]["name"] = name
        if metadata.get("annotations"):
            pod["metadata"]["annotations"] = metadata["annotations"]
        if metadata.get("finalizers"):
            pod["metadata"]["finalizers"] = metadata["finalizers"]
        try:
            await self.api.create(self.resource("", "pods"), _copied(pod), manager=MANAGER)
        except StatusError as error:
            if error.code == 409:
                return ""
            log.warning("cannot create a pod of %s: %s", owner["metadata"]["name"], error.message)
            return error.message
        return ""

    async def delete_pod(self, pod: PodFacts) -> None:
        try:
            await self.api.delete(self.resource("", "pods"), pod.name, pod.namespace, DeleteOptions())
        except StatusError as error:
            if error.code != 404:
                raise

    async def write_status(self, resource: ServedResource, obj: Object, status: Object) -> None:
        """Make the status what it should be; nothing is sent when it is."""
        before: Object = obj.get("status") or {}
        if before == status:
            return
        patch: Object = {**dict.fromkeys(before), **status}
        await self.change(resource, obj, {"status": patch}, subresource="status")

    async def change(self, resource: ServedResource, obj: Object, patch: Object, *, subresource: str = "") -> None:
        """Merge into an object; one that is gone needs nothing any more."""
        metadata = obj["metadata"]
        try:
            await self.api.merge(
                resource, metadata["name"], metadata["namespace"], patch, subresource=subresource, manager=MANAGER
            )
        except StatusError as error:
            if error.code != 404:
                raise


def reference_to(owner: Object) -> Object:
    """The reference by which a controller owns what it makes."""
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def template_hash(template: Object) -> str:
    """A short name for a pod template: equal templates have equal ones."""
    digest = hashlib.sha256(orjson.dumps(template, option=orjson.OPT_SORT_KEYS)).digest()
    return "".join(_LETTERS[byte % len(_LETTERS)] for byte in digest[:_HASH_LENGTH])


def share(value: Any, total: int, *, up: bool) -> int:
    """An int-or-percent of a total."""
    if isinstance(value, int):
        return value
    percent = int(str(value).removesuffix("%") or 0)
    return -(-total * percent // 100) if up else total * percent // 100


def without_zeros(counts: dict[str, int]) -> Object:
    """Counts as Go writes them: those that are nothing are left out."""
    return {name: count for name, count in counts.items() if count}


def _copied(obj: Object) -> Object:
    copy: Object = orjson.loads(orjson.dumps(obj))
    return copy
