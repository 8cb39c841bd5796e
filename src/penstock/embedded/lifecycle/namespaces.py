"""The end of a namespace: its content is deleted, and when the last of it is gone, so is the namespace."""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from penstock.embedded.server.ports import DeleteOptions
from penstock.embedded.status import StatusError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.embedded.server.ports import Api, ServedResource
    from penstock.embedded.storage import Change
    from penstock.kube.resources import Object

COLLECTION = "/namespaces"
MANAGER = "kube-controller-manager"
KUBERNETES = "kubernetes"
_TRIES = 10

log = logging.getLogger("penstock.embedded")


class NamespaceTerminator:
    """Empties namespaces that are to go. Looks again whenever something in one of them goes."""

    def __init__(self, api: Api, now: Callable[[], float]) -> None:
        self._api = api
        self._now = now
        self._terminating: set[str] = set()
        self._waiting: dict[str, None] = {}
        self._wake = asyncio.Event()
        self._runs = False

    def changed(self, change: Change) -> None:
        """Take note of a namespace that is to go, and of content that went."""
        if not self._runs:
            return
        record = change.record
        if record.collection == COLLECTION:
            if change.type == "DELETED":
                self._terminating.discard(record.name)
            elif b'"deletionTimestamp"' in record.data and record.name not in self._terminating:
                self._terminating.add(record.name)
                self._add(record.name)
        elif change.type == "DELETED" and record.namespace in self._terminating:
            self._add(record.namespace)

    def _add(self, name: str) -> None:
        self._waiting[name] = None
        self._wake.set()

    async def run(self, api: Api) -> None:
        """Work for as long as the server runs."""
        self._runs = True
        try:
            resource = self._namespaces()
            for namespace in api.list(resource) if resource is not None else ():
                if namespace["metadata"].get("deletionTimestamp"):
                    self._terminating.add(namespace["metadata"]["name"])
                    self._add(namespace["metadata"]["name"])
            while True:
                while self._waiting:
                    name = next(iter(self._waiting))
                    del self._waiting[name]
                    await self._look_at(name)
                    await asyncio.sleep(0)  # a store in memory never waits: let others have their turn
                self._wake.clear()
                await self._wake.wait()
        finally:
            self._runs = False

    async def _look_at(self, name: str) -> None:
        namespace = self._namespace(name)
        if namespace is None or KUBERNETES not in ((namespace.get("spec") or {}).get("finalizers") or ()):
            return
        try:
            await self._empty(name)
        except StatusError as error:
            log.warning("cannot end namespace %s: %s", name, error.message)

    async def _empty(self, name: str) -> None:
        for resource, objects in self._content(name):
            for obj in objects:
                await self._delete(resource, obj)
        left = {f"{resource.plural}.{resource.group}": objects for resource, objects in self._content(name)}
        if left:
            await self._tell(name, left)
        else:
            await self._release(name)

    def _resources(self) -> Sequence[ServedResource]:
        """One of each namespaced resource that can be listed and deleted, whatever its versions."""
        found: dict[str, ServedResource] = {}
        for resource in self._api.catalog.resources():
            if resource.namespaced and "list" in resource.verbs and "delete" in resource.verbs:
                found.setdefault(resource.stored_in, resource)
        return list(found.values())

    def _content(self, name: str) -> list[tuple[ServedResource, list[Object]]]:
        listed = ((resource, self._api.list(resource, name)) for resource in self._resources())
        return [(resource, objects) for resource, objects in listed if objects]

    async def _delete(self, resource: ServedResource, obj: Object) -> None:
        metadata = obj["metadata"]
        if metadata.get("deletionTimestamp"):
            return
        options = DeleteOptions(propagation="Background", uid=metadata["uid"])
        try:
            await self._api.delete(resource, metadata["name"], metadata["namespace"], options)
        except StatusError as error:
            if error.code not in (404, 409):
                log.warning("cannot delete %s %s: %s", resource.plural, metadata["name"], error)

    async def _tell(self, name: str, left: dict[str, list[Object]]) -> None:
        """Write into the status why the namespace is still there."""
        finalizers: dict[str, int] = {}
        for objects in left.values():
            for obj in objects:
                for finalizer in obj["metadata"].get("finalizers") or ():
                    finalizers[finalizer] = finalizers.get(finalizer, 0) + 1
        remaining = ", ".join(f"{what} has {len(objects)} resource instances" for what, objects in sorted(left.items()))
        held = ", ".join(f"{each} in {number} resource instances" for each, number in sorted(finalizers.items()))
        conditions = [
            (
                "NamespaceDeletionDiscoveryFailure",
                False,
                "ResourcesDiscovered",
                "All resources successfully discovered",
            ),
            (
                "NamespaceDeletionGroupVersionParsingFailure",
                False,
                "ParsedGroupVersions",
                "All legacy kube types successfully parsed",
            ),
            (
                "NamespaceDeletionContentFailure",
                False,
                "ContentDeleted",
                "All content successfully deleted, may be waiting on finalization",
            ),
            ("NamespaceContentRemaining", True, "SomeResourcesRemain", f"Some resources are remaining: {remaining}"),
            (
                (
                    "NamespaceFinalizersRemaining",
                    True,
                    "SomeFinalizersRemain",
                    f"Some content in the namespace has finalizers remaining: {held}",
                )
                if held
                else (
                    "NamespaceFinalizersRemaining",
                    False,
                    "ContentHasNoFinalizers",
                    "All content-preserving finalizers finished",
                )
            ),
        ]
        stamp = datetime.fromtimestamp(self._now(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        patch: Object = {
            "status": {
                "conditions": [
                    {
                        "type": kind,
                        "status": "True" if holds else "False",
                        "lastTransitionTime": stamp,
                        "reason": reason,
                        "message": message,
                    }
                    for kind, holds, reason, message in conditions
                ]
            }
        }
        resource = self._namespaces()
        if resource is None:
            return
        try:
            await self._api.merge(resource, name, "", patch, subresource="status", manager=MANAGER)
        except StatusError as error:
            log.warning("cannot write the status of namespace %s: %s", name, error)

    async def _release(self, name: str) -> None:
        resource = self._namespaces()
        for _ in range(_TRIES):
            namespace = self._namespace(name)
            if resource is None or namespace is None:
                return
            finalizers = (namespace.get("spec") or {}).get("finalizers") or ()
            namespace["spec"]["finalizers"] = [each for each in finalizers if each != KUBERNETES]
            try:
                await self._api.update(resource, namespace, subresource="finalize", manager=MANAGER)
            except StatusError as error:
                if error.code == 409:
                    continue
                if error.code != 404:
                    raise
            return

    def _namespaces(self) -> ServedResource | None:
        return self._api.catalog.find("", "v1", "namespaces")

    def _namespace(self, name: str) -> Object | None:
        resource = self._namespaces()
        return None if resource is None else self._api.get(resource, name)
