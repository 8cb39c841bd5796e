"""The verbs of the Kubernetes API, with one identity.

A client is a cheap view: `impersonate` gives another one over the same connections. Values are raw objects; what
went wrong is one of `penstock.kube.errors`.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

import orjson
from multidict import CIMultiDict

from penstock.kube.discovery import Discovery
from penstock.kube.errors import BadAnswer
from penstock.kube.resources import is_object
from penstock.kube.transport import TIMEOUT, Request, Transport
from penstock.kube.watch import QUIET, watch_events

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator
    from contextlib import AbstractAsyncContextManager

    import aiohttp

    from penstock.kube.identity import Identity
    from penstock.kube.limiter import Limiter
    from penstock.kube.resources import Object, Resource
    from penstock.kube.settings import Settings
    from penstock.kube.watch import WatchEvent

Propagation = Literal["Background", "Foreground", "Orphan"]
Validation = Literal["Strict", "Warn", "Ignore"]
PatchKind = Literal["merge", "json", "strategic"]

_PATCH_TYPES: dict[PatchKind, str] = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
}
_JSON = "application/json"
_APPLY = "application/apply-patch+yaml"  # JSON is YAML: nothing is converted

METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"

LIST_TIMEOUT = 120.0


@dataclass(frozen=True, slots=True)
class Listing:
    """What a list answered: the objects, and the version of the world they were seen at."""

    items: list[Object]
    resource_version: str


@asynccontextmanager
async def connect(settings: Settings, *, limiter: Limiter | None = None) -> AsyncGenerator[Client]:
    """A client for one API server; its connections are closed at the end."""
    transport = Transport(settings, limiter=limiter)
    try:
        yield Client(transport, identity=settings.identity)
    finally:
        await transport.close()


class Client:
    """One cluster as seen with one identity."""

    def __init__(
        self, transport: Transport, *, identity: Identity | None = None, discovery: Discovery | None = None
    ) -> None:
        self.transport = transport
        self.identity = identity
        self._headers: CIMultiDict[str] = CIMultiDict(identity.headers() if identity else ())
        self.discovery = discovery or Discovery(self.call)
        """Shared by all views: what a cluster serves does not depend on who asks."""

    def impersonate(self, identity: Identity) -> Client:
        """The same cluster and connections with somebody else's rights."""
        return Client(self.transport, identity=identity, discovery=self.discovery)

    async def call(self, request: Request, *, urgent: bool = False) -> Any:
        """Send a request of one's own making; `urgent` passes the limiter by."""
        return await self.transport.call(request, self._headers, urgent=urgent)

    def stream(
        self, request: Request, *, quiet: float | None = QUIET
    ) -> AbstractAsyncContextManager[aiohttp.StreamReader]:
        """The bytes of an answer as they come, such as those of a log; TimedOut after `quiet` seconds without one."""
        return self.transport.stream(request, self._headers, quiet=quiet)

    async def get(
        self,
        resource: Resource,
        name: str,
        namespace: str | None = None,
        *,
        subresource: str | None = None,
        metadata_only: bool = False,
        urgent: bool = False,
    ) -> Object:
        return await self._object(
            Request(
                "GET",
                resource.path(name, namespace, subresource),
                accept=METADATA if metadata_only else None,
                kind=f"get {resource.plural}",
                repeatable=True,
            ),
            urgent=urgent,
        )

    async def list(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        labels: str | None = None,
        fields: str | None = None,
        resource_version: str | None = None,
        metadata_only: bool = False,
        page: int = 500,
    ) -> Listing:
        """Every object that matches, page by page; all pages are of one version of the world.

        `resource_version="0"` takes what the server has in memory, which is cheap and may be a moment old.
        """
        items: list[Object] = []
        version = ""
        async for chunk in self.pages(
            resource,
            namespace,
            labels=labels,
            fields=fields,
            resource_version=resource_version,
            metadata_only=metadata_only,
            page=page,
        ):
            items += chunk.items
            version = chunk.resource_version
        return Listing(items, version)

    async def pages(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        labels: str | None = None,
        fields: str | None = None,
        resource_version: str | None = None,
        metadata_only: bool = False,
        page: int = 500,
    ) -> AsyncIterator[Listing]:
        """The same, one page at a time. A token that expires on the way raises Expired: begin again."""
        query = selection(labels, fields) | {"limit": str(page)}
        if resource_version is not None:
            query["resourceVersion"] = resource_version
        while True:
            answer = await self._object(
                Request(
                    "GET",
                    resource.path(namespace=namespace),
                    query=query,
                    accept=METADATA_LIST if metadata_only else None,
                    repeatable=True,
                    timeout=LIST_TIMEOUT,
                )
            )
            metadata = answer.get("metadata") or {}
            items = answer.get("items")
            if items is not None and not (isinstance(items, list) and all(map(is_object, items))):
                raise BadAnswer(f"the list of {resource} holds something else than objects")
            yield Listing(items or [], metadata.get("resourceVersion") or "")
            token = metadata.get("continue")
            if not token:
                return
            query = selection(labels, fields) | {"limit": str(page), "continue": token}

    async def create(
        self,
        resource: Resource,
        obj: Object,
        *,
        namespace: str | None = None,
        name: str | None = None,
        subresource: str | None = None,
        manager: str | None = None,
        dry_run: bool = False,
        validation: Validation | None = None,
        urgent: bool = False,
    ) -> Object:
        """Create the object; with `name` and `subresource`, post to that (as a token request is)."""
        namespace = namespace or _namespace(obj)
        return await self._object(
            Request(
                "POST",
                resource.path(name, namespace, subresource),
                query=_options(manager=manager, dry_run=dry_run, validation=validation),
                body=orjson.dumps(obj),
                content_type=_JSON,
                kind=f"create {resource.plural}",
                repeatable=dry_run,
            ),
            urgent=urgent,
        )

    async def replace(
        self,
        resource: Resource,
        obj: Object,
        *,
        subresource: str | None = None,
        manager: str | None = None,
        dry_run: bool = False,
        validation: Validation | None = None,
        urgent: bool = False,
    ) -> Object:
        return await self._object(
            Request(
                "PUT",
                resource.path(_name(obj), _namespace(obj), subresource),
                query=_options(manager=manager, dry_run=dry_run, validation=validation),
                body=orjson.dumps(obj),
                content_type=_JSON,
                kind=f"replace {resource.plural}",
                repeatable=dry_run,
            ),
            urgent=urgent,
        )

    async def apply(
        self,
        resource: Resource,
        obj: Object,
        *,
        manager: str,
        force: bool = False,
        dry_run: bool = False,
        validation: Validation | None = None,
        subresource: str | None = None,
    ) -> Object:
        """Server-side apply: the fields of `obj` are the whole wish of this manager, no more and no less."""
        query = _options(manager=manager, dry_run=dry_run, validation=validation)
        query["force"] = "true" if force else "false"
        # With a resourceVersion the second of two equal applies is a conflict.
        versioned = "resourceVersion" in obj.get("metadata", {})
        return await self._object(
            Request(
                "PATCH",
                resource.path(_name(obj), _namespace(obj), subresource),
                query=query,
                body=orjson.dumps(obj),
                content_type=_APPLY,
                kind=f"apply {resource.plural}" if not dry_run else f"dry-run {resource.plural}",
                repeatable=dry_run or not versioned,
            )
        )

    async def patch(
        self,
        resource: Resource,
        name: str,
        namespace: str | None,
        body: Any,
        *,
        kind: PatchKind = "merge",
        subresource: str | None = None,
        manager: str | None = None,
        dry_run: bool = False,
        validation: Validation | None = None,
        urgent: bool = False,
    ) -> Object:
        """Change parts of an object. Never repeated by itself: a JSON patch may add twice."""
        return await self._object(
            Request(
                "PATCH",
                resource.path(name, namespace, subresource),
                query=_options(manager=manager, dry_run=dry_run, validation=validation),
                body=orjson.dumps(body),
                content_type=_PATCH_TYPES[kind],
                kind=f"patch {resource.plural}",
                repeatable=dry_run,
            ),
            urgent=urgent,
        )

    async def delete(
        self,
        resource: Resource,
        name: str,
        namespace: str | None = None,
        *,
        propagation: Propagation | None = None,
        uid: str | None = None,
        resource_version: str | None = None,
        grace_seconds: int | None = None,
        dry_run: bool = False,
    ) -> Object:
        """Delete, if it is still the object meant: with `uid`, a re-created namesake is a Conflict."""
        preconditions = {"uid": uid, "resourceVersion": resource_version}
        options: Object = {
            "propagationPolicy": propagation,
            "preconditions": {key: value for key, value in preconditions.items() if value},
            "gracePeriodSeconds": grace_seconds,
            "dryRun": ["All"] if dry_run else None,
        }
        return await self._object(
            Request(
                "DELETE",
                resource.path(name, namespace),
                body=orjson.dumps({key: value for key, value in options.items() if value not in (None, {})}),
                content_type=_JSON,
                kind=f"delete {resource.plural}",
                repeatable=True,
            )
        )

    async def scale(self, resource: Resource, name: str, namespace: str | None, replicas: int) -> Object:
        """Set the number of replicas through the scale subresource."""
        body = {"spec": {"replicas": replicas}}
        return await self.patch(resource, name, namespace, body, subresource="scale")

    def watch(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        labels: str | None = None,
        fields: str | None = None,
        resource_version: str | None = None,
        metadata_only: bool = False,
        initial_events: bool = False,
        seconds: int | None = None,
        quiet: float = QUIET,
    ) -> AsyncGenerator[WatchEvent]:
        """What happens from `resource_version` on. Ends when the server ends it; Expired when it is too old.

        With `initial_events` the present state comes first, then a bookmark whose `initial_end` is set.
        """
        query = selection(labels, fields) | {"watch": "true", "allowWatchBookmarks": "true"}
        if resource_version is not None:
            query["resourceVersion"] = resource_version
        if initial_events:
            query |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        if seconds is not None:
            query["timeoutSeconds"] = str(seconds)
        request = Request(
            "GET",
            resource.path(namespace=namespace),
            query=query,
            accept=METADATA if metadata_only else None,
            timeout=TIMEOUT,
        )
        return watch_events(self.transport.stream(request, self._headers, quiet=quiet), request)

    async def _object(self, request: Request, *, urgent: bool = False) -> Object:
        answer = await self.call(request, urgent=urgent)
        if not is_object(answer):
            raise BadAnswer(f"the answer to {request} is not an object")
        return cast("Object", answer)


def selection(labels: str | None, fields: str | None) -> dict[str, str]:
    query: dict[str, str] = {}
    if labels:
        query["labelSelector"] = labels
    if fields:
        query["fieldSelector"] = fields
    return query


def _options(*, manager: str | None, dry_run: bool, validation: Validation | None) -> dict[str, str]:
    query: dict[str, str] = {}
    if manager:
        query["fieldManager"] = manager
    if dry_run:
        query["dryRun"] = "All"
    if validation:
        query["fieldValidation"] = validation
    return query


def _name(obj: Object) -> str:
    name = (obj.get("metadata") or {}).get("name")
    if not name:
        raise ValueError(f"an object of kind {obj.get('kind')!r} has no metadata.name")
    return str(name)


def _namespace(obj: Object) -> str | None:
    return (obj.get("metadata") or {}).get("namespace")
