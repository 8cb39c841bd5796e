"""The garbage collector: what becomes of objects whose owners go.

It follows the store's changes and keeps, of all objects, only those that name an owner. Whether an owner lives is
looked up when it matters. A dependent goes when none of its owners lives; references to dead owners are taken out of
one that still has a living owner. Owners that are deleted in the foreground wait for the dependents which block them,
and owners that orphan are taken out of their dependents first.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Literal, NamedTuple

from penstock.embedded.lifecycle.deletion import FOREGROUND, ORPHAN
from penstock.embedded.server.ports import DeleteOptions
from penstock.embedded.status import StatusError

if TYPE_CHECKING:
    from penstock.embedded.server.ports import Api, Propagation, ServedResource
    from penstock.embedded.storage import Change
    from penstock.kube.resources import Object

MANAGER = "kube-controller-manager"
_TRIES = 5

OwnerState = Literal["alive", "gone", "leaving", "unknown"]

log = logging.getLogger("penstock.embedded")


class Place(NamedTuple):
    """Where an object is stored."""

    collection: str
    namespace: str
    name: str


class Collector:
    """Deletes what nobody owns any more."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._dependents: dict[str, set[Place]] = {}
        """By the uid of an owner."""
        self._owners: dict[Place, tuple[str, ...]] = {}
        """The other way round."""
        self._resources: dict[str, ServedResource] = {}
        self._waiting: dict[Place, None] = {}
        self._wake = asyncio.Event()
        self._runs = False

    def changed(self, change: Change) -> None:
        """Follow a change at once: what is known of dependents is never older than what a look-up finds."""
        if not self._runs:
            return
        record = change.record
        place = Place(record.collection, record.namespace, record.name)
        if change.type == "DELETED":
            self._left(place, change.object())
            return
        owned = b'"ownerReferences"' in record.data
        leaving = b'"deletionTimestamp"' in record.data
        if owned or leaving or place in self._owners:
            self._note(place, change.object(), is_new=change.type == "ADDED")

    async def run(self, api: Api) -> None:
        """Collect for as long as the server runs."""
        self._runs = True
        try:
            self._load()
            while True:
                while self._waiting:
                    place = next(iter(self._waiting))
                    del self._waiting[place]
                    await self._look_at(place, api)
                    await asyncio.sleep(0)  # a store in memory never waits: let others have their turn
                self._wake.clear()
                await self._wake.wait()
        finally:
            self._runs = False

    def _load(self) -> None:
        for collection in {resource.stored_in for resource in self._api.catalog.resources()}:
            resource = self._resource(collection)
            for obj in self._api.list(resource) if resource is not None else ():
                metadata = obj["metadata"]
                self._note(Place(collection, metadata.get("namespace", ""), metadata["name"]), obj, is_new=True)

    def _note(self, place: Place, obj: Object, *, is_new: bool) -> None:
        before = self._owners.get(place)
        self._remember(place, obj)
        now = self._owners.get(place)
        if obj["metadata"].get("deletionTimestamp") or (now and (is_new or now != before)):
            self._add(place)

    def _left(self, place: Place, obj: Object) -> None:
        """An object is gone: its dependents may follow, and its owners may have waited for it."""
        self._forget(place)
        self._waiting.pop(place, None)
        for dependent in self._dependents.get(obj["metadata"].get("uid", ""), ()):
            self._add(dependent)
        for reference in self._references(obj):
            found = self._find(reference, place.namespace)
            if found is not None and found[1]["metadata"].get("deletionTimestamp"):
                metadata = found[1]["metadata"]
                self._add(Place(found[0].stored_in, metadata.get("namespace", ""), metadata["name"]))

    def _add(self, place: Place) -> None:
        self._waiting[place] = None
        self._wake.set()

    async def _look_at(self, place: Place, api: Api) -> None:
        resource = self._resource(place.collection)
        obj = api.get(resource, place.name, place.namespace) if resource is not None else None
        if obj is None:
            return
        try:
            if obj["metadata"].get("deletionTimestamp"):
                await self._leaving(place, obj)
            await self._judge(place)
        except StatusError as error:
            log.warning("cannot collect %s: %s", place, error.message)

    async def _leaving(self, place: Place, obj: Object) -> None:
        finalizers = obj["metadata"].get("finalizers") or ()
        if ORPHAN in finalizers:
            await self._orphan(place, obj)
        elif FOREGROUND in finalizers:
            await self._delete_dependents(place, obj)

    async def _orphan(self, place: Place, obj: Object) -> None:
        uid = obj["metadata"]["uid"]
        for dependent in tuple(self._dependents.get(uid, ())):
            await self._drop_references(dependent, {uid})
        await self._drop_finalizer(place, uid, ORPHAN)

    async def _delete_dependents(self, place: Place, obj: Object) -> None:
        """Let the owner go when nothing blocks it; else let the dependents go first."""
        uid = obj["metadata"]["uid"]
        blocking = [dependent for dependent in self._dependents.get(uid, ()) if self._blocks(dependent, uid)]
        if not blocking:
            await self._drop_finalizer(place, uid, FOREGROUND)
            return
        for dependent in tuple(self._dependents.get(uid, ())):
            await self._judge(dependent)

    def _blocks(self, dependent: Place, uid: str) -> bool:
        obj = self._get(dependent)
        references = self._references(obj) if obj is not None else ()
        return any(each["uid"] == uid and each.get("blockOwnerDeletion") for each in references)

    async def _judge(self, place: Place) -> None:
        """Delete a dependent that no living owner keeps."""
        resource, obj = self._resource(place.collection), self._get(place)
        if resource is None or obj is None:
            self._forget(place)
            return
        references = self._references(obj)
        states = {each["uid"]: self._state(each, place.namespace) for each in references}
        if not references or "unknown" in states.values():
            return
        leaving = {uid for uid, state in states.items() if state in ("gone", "leaving")}
        if len(leaving) < len(states):
            if leaving:
                await self._drop_references(place, leaving)
            return
        if obj["metadata"].get("deletionTimestamp") and "leaving" not in states.values():
            return
        waited_for = "leaving" in states.values() and self._dependents.get(obj["metadata"]["uid"])
        await self._delete(resource, place, obj, "Foreground" if waited_for else _policy(obj))

    def _state(self, reference: Object, namespace: str) -> OwnerState:
        """Whether an owner keeps its dependents."""
        group, _, version = reference["apiVersion"].rpartition("/")
        resource = self._api.catalog.find_kind(group, reference["kind"], version)
        if resource is None or (resource.namespaced and not namespace):
            return "unknown"
        found = self._find(reference, namespace)
        if found is None or found[1]["metadata"]["uid"] != reference["uid"]:
            return "gone"
        metadata = found[1]["metadata"]
        waits = metadata.get("deletionTimestamp") and FOREGROUND in (metadata.get("finalizers") or ())
        return "leaving" if waits else "alive"

    def _find(self, reference: Object, namespace: str) -> tuple[ServedResource, Object] | None:
        group, _, version = reference["apiVersion"].rpartition("/")
        resource = self._api.catalog.find_kind(group, reference["kind"], version)
        if resource is None:
            return None
        obj = self._api.get(resource, reference["name"], namespace if resource.namespaced else "")
        return None if obj is None else (resource, obj)

    async def _delete(self, resource: ServedResource, place: Place, obj: Object, policy: Propagation) -> None:
        metadata = obj["metadata"]
        if metadata.get("deletionTimestamp") and (
            policy == "Background" or FOREGROUND in (metadata.get("finalizers") or ())
        ):
            return
        options = DeleteOptions(propagation=policy, uid=metadata["uid"])
        try:
            await self._api.delete(resource, place.name, place.namespace, options)
        except StatusError as error:
            if error.code not in (404, 409):
                raise

    async def _drop_references(self, place: Place, uids: set[str]) -> None:
        resource = self._resource(place.collection)
        for _ in range(_TRIES):
            obj = self._get(place)
            if resource is None or obj is None:
                return
            kept = [each for each in self._references(obj) if each["uid"] not in uids]
            if len(kept) == len(self._references(obj)):
                return
            await self._change(resource, place, obj, {"ownerReferences": kept or None})

    async def _drop_finalizer(self, place: Place, uid: str, finalizer: str) -> None:
        resource = self._resource(place.collection)
        for _ in range(_TRIES):
            obj = self._get(place)
            if resource is None or obj is None or obj["metadata"]["uid"] != uid:
                return
            finalizers = obj["metadata"].get("finalizers") or []
            if finalizer not in finalizers:
                return
            kept = [each for each in finalizers if each != finalizer]
            await self._change(resource, place, obj, {"finalizers": kept or None})

    async def _change(self, resource: ServedResource, place: Place, obj: Object, metadata: Object) -> None:
        """Change metadata of the object as it is; somebody who was quicker makes the caller look again."""
        version = obj["metadata"]["resourceVersion"]
        patch = {"metadata": {**metadata, "resourceVersion": version}}
        try:
            await self._api.merge(resource, place.name, place.namespace, patch, manager=MANAGER)
        except StatusError as error:
            if error.code not in (404, 409):
                raise

    def _get(self, place: Place) -> Object | None:
        resource = self._resource(place.collection)
        return None if resource is None else self._api.get(resource, place.name, place.namespace)

    def _resource(self, collection: str) -> ServedResource | None:
        known = self._resources.get(collection)
        catalog = self._api.catalog
        if known is not None and catalog.find(known.group, known.version, known.plural) is known:
            return known
        self._resources.pop(collection, None)
        found = next((each for each in catalog.resources() if each.stored_in == collection), None)
        if found is not None:
            self._resources[collection] = found
        return found

    @staticmethod
    def _references(obj: Object) -> list[Object]:
        return obj["metadata"].get("ownerReferences") or []

    def _remember(self, place: Place, obj: Object) -> None:
        uids = tuple(each["uid"] for each in self._references(obj))
        if self._owners.get(place) == uids:
            return
        self._forget(place)
        if uids:
            self._owners[place] = uids
        for uid in uids:
            self._dependents.setdefault(uid, set()).add(place)

    def _forget(self, place: Place) -> None:
        for uid in self._owners.pop(place, ()):
            known = self._dependents.get(uid, set())
            known.discard(place)
            if not known:
                self._dependents.pop(uid, None)


def _policy(obj: Object) -> Propagation:
    """How a dependent is deleted: as it was asked for, else in the background."""
    finalizers = obj["metadata"].get("finalizers") or ()
    if ORPHAN in finalizers:
        return "Orphan"
    return "Foreground" if FOREGROUND in finalizers else "Background"
