"""Keeps what is served in step with the definitions, and takes their objects away with them."""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from penstock.embedded.definitions.names import clashes, settled, with_condition
from penstock.embedded.definitions.served import served
from penstock.embedded.status import StatusError

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.embedded.server.ports import Api, ServedResource
    from penstock.embedded.storage import Change
    from penstock.kube.resources import Object

GROUP, PLURAL = "apiextensions.k8s.io", "customresourcedefinitions"
COLLECTION = f"{GROUP}/{PLURAL}"
CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
MANAGER = "kube-apiserver"

log = logging.getLogger("penstock.embedded")


class Definitions:
    """Serves custom resources from the moment their definition is stored."""

    def __init__(self, api: Api, now: Callable[[], float]) -> None:
        self._api = api
        self._now = now
        resource = api.catalog.find(GROUP, "v1", PLURAL)
        if resource is None:
            raise LookupError("CustomResourceDefinitions are not served")
        self._resource = resource

    def load(self) -> None:
        """Serve what is stored."""
        for definition in self._api.list(self._resource):
            self._serve(definition)

    def changed(self, change: Change) -> None:
        """Follow a change at once: the answer to a new definition's creation finds its resources served."""
        if change.record.collection != COLLECTION:
            return
        definition = change.object()
        if change.type == "DELETED":
            spec = definition["spec"]
            self._api.catalog.remove(spec["group"], spec["names"]["plural"])
        elif change.old is None or change.old.object()["spec"] != definition["spec"] or not self._serves(definition):
            self._serve(definition)

    def _serves(self, definition: Object) -> bool:
        spec: Object = definition["spec"]
        names = (spec["group"], spec["names"]["plural"])
        return all(
            self._api.catalog.find(names[0], version["name"], names[1]) is not None
            for version in spec["versions"]
            if version.get("served")
        )

    def _serve(self, definition: Object) -> None:
        spec: Object = definition["spec"]
        catalog = self._api.catalog
        if not _is_granted(definition) and clashes(definition, self._others(definition)):
            return
        catalog.remove(spec["group"], spec["names"]["plural"])
        catalog.add(served(definition))

    def _others(self, definition: Object) -> list[Object]:
        name, group = definition["metadata"]["name"], definition["spec"]["group"]
        return [
            other
            for other in self._api.list(self._resource)
            if other["metadata"]["name"] != name and other["spec"]["group"] == group
        ]

    async def run(self, api: Api) -> None:
        """Write conditions, and clean up after deleted definitions, for as long as the server runs."""
        async with asyncio.TaskGroup() as group:
            leaving: set[str] = set()
            async for change in api.watch(COLLECTION):
                name = change.record.name
                if change.type == "DELETED":
                    leaving.discard(name)
                    await self._look_at_group(change.object()["spec"]["group"])
                    continue
                definition = change.object()
                if definition["metadata"].get("deletionTimestamp"):
                    if name not in leaving:
                        leaving.add(name)
                        group.create_task(self._clean_up(name))
                    continue
                await self._settle(name)

    async def _look_at_group(self, group: str) -> None:
        for definition in self._api.list(self._resource):
            if definition["spec"]["group"] == group:
                await self._settle(definition["metadata"]["name"])

    async def _settle(self, name: str) -> None:
        definition = self._api.get(self._resource, name)
        if definition is None or definition["metadata"].get("deletionTimestamp"):
            return
        status = settled(definition, self._others(definition), self._stamp())
        if status is not None:
            await self._write_status(definition, status)

    async def _write_status(self, definition: Object, status: Object) -> None:
        try:
            await self._api.update(
                self._resource, {**definition, "status": status}, subresource="status", manager=MANAGER
            )
        except StatusError as error:
            if error.code not in (404, 409):  # another write came first, and its event follows
                log.warning("cannot write the status of definition %s: %s", definition["metadata"]["name"], error)

    async def _clean_up(self, name: str) -> None:
        """Delete all objects, wait until they are gone, and let the definition go."""
        definition = self._api.get(self._resource, name)
        if definition is None:
            return
        if CLEANUP not in (definition["metadata"].get("finalizers") or ()):
            return
        resources = served(definition)
        if resources:
            await self._note(name, "InstanceDeletionInProgress", "CustomResource deletion is in progress", "True")
            await self._empty(resources[0])
        await self._note(name, "InstanceDeletionCompleted", "removed all instances", "False")
        await self._release(name)

    async def _empty(self, resource: ServedResource) -> None:
        """Delete what there is; what finalizers hold is waited for."""
        for obj in self._api.list(resource):
            metadata = obj["metadata"]
            try:
                await self._api.delete(resource, metadata["name"], metadata.get("namespace", ""))
            except StatusError as error:
                if error.code != 404:
                    raise
        if not self._api.list(resource):
            return
        async for change in self._api.watch(resource.stored_in):
            if change.type == "DELETED" and not self._api.list(resource):
                return

    async def _note(self, name: str, reason: str, message: str, status: str) -> None:
        definition = self._api.get(self._resource, name)
        if definition is None:
            return
        condition = {"type": "Terminating", "status": status, "reason": reason, "message": message}
        await self._write_status(definition, with_condition(definition.get("status") or {}, condition, self._stamp()))

    async def _release(self, name: str) -> None:
        for _ in range(10):
            definition = self._api.get(self._resource, name)
            if definition is None:
                return
            metadata = definition["metadata"]
            metadata["finalizers"] = [each for each in metadata.get("finalizers") or () if each != CLEANUP]
            try:
                await self._api.update(self._resource, definition, manager=MANAGER)
            except StatusError as error:
                if error.code != 409:
                    raise
                continue
            return

    def _stamp(self) -> str:
        return datetime.fromtimestamp(self._now(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _is_granted(definition: Object) -> bool:
    conditions = (definition.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)


def mark_deleted(definition: Object, now: str) -> Object:
    """A definition as the first DELETE leaves it."""
    metadata: Object = definition["metadata"]
    if metadata.get("deletionTimestamp"):
        return definition
    metadata["deletionTimestamp"] = now
    finalizers: list[str] = metadata.get("finalizers") or []
    if CLEANUP not in finalizers:
        metadata["finalizers"] = [*finalizers, CLEANUP]
    condition = {
        "type": "Terminating",
        "status": "True",
        "reason": "InstanceDeletionPending",
        "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
    }
    definition["status"] = with_condition(definition.get("status") or {}, condition, now)
    return definition
