"""The engine of the server: store, catalog, rules and plugins, and the verbs for code that lives inside."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from typing import TYPE_CHECKING

from penstock.embedded.server import conversion, objects, podverbs
from penstock.embedded.server.catalog import Catalog
from penstock.embedded.server.options import WriteOptions
from penstock.embedded.server.ports import SYSTEM, DeleteOptions, Plugins
from penstock.embedded.server.targets import Target
from penstock.embedded.server.writing import Writer
from penstock.embedded.status import modified, not_found
from penstock.embedded.storage import Change, Stale

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable

    from penstock.embedded.server.ports import ServedResource, User
    from penstock.embedded.storage import Storage
    from penstock.kube.resources import Object

MANAGER = "penstock"


class Engine:
    """Everything of the server but HTTP; is the `Api` of the ports."""

    def __init__(self, storage: Storage, *, address: str = "", clock: Callable[[], float] = time.time) -> None:
        self.storage = storage
        self.address = address
        self.catalog = Catalog()
        self.plugins = Plugins()
        self.clock = clock
        self.writer = Writer(storage, self.catalog, self.plugins, clock=clock)
        podverbs.install(self.plugins, self.writer)

    def get(self, resource: ServedResource, name: str, namespace: str = "") -> Object | None:
        record = self.storage.get(resource.stored_in, namespace, name)
        return self.writer.stored_object(resource, record) if record is not None else None

    def list(self, resource: ServedResource, namespace: str = "") -> list[Object]:
        return [
            self.writer.stored_object(resource, record) for record in self.storage.list(resource.stored_in, namespace)
        ]

    async def watch(self, *collections: str, initial: bool = True) -> AsyncGenerator[Change]:
        waiting: deque[Change] = deque()
        wake = asyncio.Event()

        def take(change: Change) -> None:
            waiting.append(change)
            wake.set()

        end = self.storage.subscribe(take, collections or ("",))
        try:
            seen = self.storage.durable
            if initial:
                seen = self.storage.revision
                for collection in collections or self.storage.collections():
                    for record in self.storage.list(collection):
                        yield Change("ADDED", record, None)
            while True:
                while waiting:
                    change = waiting.popleft()
                    if change.revision > seen:
                        yield change
                wake.clear()
                await wake.wait()
        finally:
            end()

    async def create(
        self,
        resource: ServedResource,
        obj: Object,
        *,
        namespace: str = "",
        manager: str = "",
        user: User = SYSTEM,
        dry_run: bool = False,
    ) -> Object:
        obj = _typed(resource, obj)
        namespace = namespace or obj["metadata"].get("namespace") or ""
        options = WriteOptions(manager=manager or MANAGER, dry_run=dry_run)
        target = Target(resource, namespace if resource.namespaced else "", user=user, options=options)
        outcome = self.writer.create(target, obj)
        await self.storage.settle()
        return outcome.obj

    async def update(
        self,
        resource: ServedResource,
        obj: Object,
        *,
        subresource: str = "",
        manager: str = "",
        user: User = SYSTEM,
        dry_run: bool = False,
    ) -> Object:
        options = WriteOptions(manager=manager or MANAGER, dry_run=dry_run)
        obj = _typed(resource, obj)
        outcome = self.writer.update(_target(resource, obj, subresource, user, options), obj)
        await self.storage.settle()
        return outcome.obj

    async def apply(
        self,
        resource: ServedResource,
        obj: Object,
        *,
        manager: str,
        force: bool = True,
        subresource: str = "",
        user: User = SYSTEM,
    ) -> Object:
        options = WriteOptions(manager=manager, force=force)
        obj = _typed(resource, obj)
        outcome = self.writer.apply(_target(resource, obj, subresource, user, options), obj)
        await self.storage.settle()
        return outcome.obj

    async def merge(
        self,
        resource: ServedResource,
        name: str,
        namespace: str,
        patch: Object,
        *,
        subresource: str = "",
        manager: str = "",
        user: User = SYSTEM,
    ) -> Object:
        from penstock.embedded.fields import merge_patch

        options = WriteOptions(manager=manager or MANAGER)
        target = Target(resource, namespace, name, subresource, user, options)
        outcome = self.writer.change(target, lambda obj: merge_patch(obj, patch))
        await self.storage.settle()
        return outcome.obj

    async def delete(
        self,
        resource: ServedResource,
        name: str,
        namespace: str = "",
        options: DeleteOptions | None = None,
        user: User = SYSTEM,
    ) -> None:
        self.writer.delete(Target(resource, namespace, name, user=user), options or DeleteOptions())
        await self.storage.settle()

    async def store(self, resource: ServedResource, obj: Object) -> Object:
        stored = self._store(resource, obj)
        await self.storage.settle()
        return stored

    async def store_all(self, objs: Iterable[tuple[ServedResource, Object]]) -> None:
        for resource, obj in objs:
            self._store(resource, obj)
        await self.storage.settle()

    def _store(self, resource: ServedResource, obj: Object) -> Object:
        obj = _typed(resource, obj)
        metadata = obj["metadata"]
        namespace = metadata.get("namespace") or "" if resource.namespaced else ""
        if not metadata.get("uid"):
            metadata["uid"] = objects.new_uid()
        metadata.setdefault("creationTimestamp", objects.timestamp(self.clock()))
        version = metadata.get("resourceVersion")
        obj = conversion.to_stored(resource, objects.ordered(obj))
        try:
            change = self.storage.put(
                resource.stored_in, namespace, metadata["name"], obj, expected=int(version) if version else None
            )
        except Stale:
            raise modified(resource.plural, metadata["name"], group=resource.group) from None
        for observer in self.plugins.observers:
            observer.changed(change)
        return obj

    async def remove(self, resource: ServedResource, name: str, namespace: str = "", uid: str = "") -> None:
        record = self.storage.get(resource.stored_in, namespace, name)
        if record is None or (uid and record.object()["metadata"].get("uid") != uid):
            return
        change = self.storage.delete(resource.stored_in, namespace, name)
        for observer in self.plugins.observers:
            observer.changed(change)
        await self.storage.settle(change.revision)


def _typed(resource: ServedResource, obj: Object) -> Object:
    typed = {**obj, "kind": resource.kind, "apiVersion": resource.api_version}
    typed["metadata"] = dict(obj.get("metadata") or {})
    return typed


def _target(resource: ServedResource, obj: Object, subresource: str, user: User, options: WriteOptions) -> Target:
    metadata = obj["metadata"]
    namespace = metadata.get("namespace") or "" if resource.namespaced else ""
    name = metadata.get("name") or ""
    if not name:
        raise not_found(resource.plural, name, group=resource.group)
    return Target(resource, namespace, name, subresource, user, options)
