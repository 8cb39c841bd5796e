"""A tiny API server in memory that really speaks HTTP: enough for a client, a watch cache and a fault on the way.

It knows versions of the world, paged lists, watches with bookmarks and streaming lists, and it can forget old
versions. It knows no schemas, no admission and no rights.

    async with api_server() as server, connect(server.settings) as client:
        await client.create(CONFIG_MAPS, ...)
"""

from __future__ import annotations

import asyncio
import copy
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.kube.loopback import Asked, Loopback, Wire, serve, status

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable

    from penstock.kube import Object, Settings

SERVED = {
    "": ("configmaps ConfigMap", "secrets Secret", "events Event", "namespaces Namespace"),
    "coordination.k8s.io": ("leases Lease",),
    "example.com": ("widgets Widget",),
}
"""Plural and kind by group; all at v1."""


@dataclass(frozen=True, slots=True)
class Target:
    """What a path points at."""

    prefix: str
    plural: str
    namespace: str
    name: str

    @classmethod
    def of(cls, path: str) -> Target:
        parts = path.strip("/").split("/")
        size = 2 if parts[0] == "api" else 3
        prefix, rest = "/".join(parts[:size]), parts[size:]
        namespace = ""
        if rest[0] == "namespaces" and len(rest) > 2:
            namespace, rest = rest[1], rest[2:]
        return cls(prefix, rest[0], namespace, rest[1] if len(rest) > 1 else "")

    @property
    def api_version(self) -> str:
        return self.prefix.partition("/")[2]

    def holds(self, other: Target) -> bool:
        same = (self.prefix, self.plural) == (other.prefix, other.plural)
        return same and self.namespace in ("", other.namespace)


@dataclass(slots=True)
class ApiServer:
    """The world as it is, and how it came about."""

    version: int = 100
    objects: dict[Target, Object] = field(default_factory=dict["Target", "Object"])
    history: list[tuple[int, Target, Object]] = field(default_factory=list[tuple[int, "Target", "Object"]])
    forgotten: int = 0
    """Versions up to this one are too old to watch from."""
    streams_lists: bool = True
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _loopback: Loopback | None = None

    @property
    def settings(self) -> Settings:
        assert self._loopback is not None
        return self._loopback.settings

    @property
    def asked(self) -> list[Asked]:
        assert self._loopback is not None
        return self._loopback.asked

    @property
    def watches(self) -> list[Asked]:
        return [asked for asked in self.asked if asked.query.get("watch")]

    def put(
        self, plural: str, name: str, *, namespace: str = "default", prefix: str = "api/v1", **fields: Any
    ) -> Object:
        """Create or change an object behind everybody's back."""
        target = Target(prefix, plural, namespace, name)
        known = self.objects.get(target)
        metadata = {"name": name, "namespace": namespace, "uid": f"uid-{self.version + 1}"}
        metadata |= fields.pop("metadata", {})
        if known is not None:
            metadata = known["metadata"] | metadata | {"uid": known["metadata"]["uid"]}
        return self._store(target, "MODIFIED" if known else "ADDED", {"metadata": metadata, **fields})

    def remove(self, plural: str, name: str, *, namespace: str = "default", prefix: str = "api/v1") -> Object:
        target = Target(prefix, plural, namespace, name)
        return self._store(target, "DELETED", self.objects[target])

    def bookmark(self, plural: str, prefix: str = "api/v1") -> None:
        """Tell all watches of this resource how far they are."""
        self._log("BOOKMARK", Target(prefix, plural, "", ""), {"metadata": {"resourceVersion": str(self.version)}})

    def forget(self) -> None:
        """Whoever wants to watch from before now comes too late."""
        self.version += 1
        self.forgotten = self.version

    async def __call__(self, asked: Asked, wire: Wire) -> None:
        if asked.path in ("/api", "/apis"):
            await wire.answer(self._discovery(asked))
        elif asked.path.strip("/") in self._group_versions():
            await wire.answer(self._resources(asked.path))
        elif asked.query.get("watch"):
            await self._watch(asked, wire)
        else:
            body, code = self._answer(asked)
            await wire.answer(body, status=code)

    def _store(self, target: Target, kind: str, obj: Object) -> Object:
        self.version += 1
        new = copy.deepcopy(obj)
        new["metadata"]["resourceVersion"] = str(self.version)
        new.setdefault("apiVersion", target.api_version)
        new.setdefault("kind", _kind(target.plural))
        if kind == "DELETED":
            del self.objects[target]
        else:
            self.objects[target] = new
        self._log(kind, target, new)
        return new

    def _log(self, kind: str, target: Target, obj: Object) -> None:
        self.history.append((self.version, target, {"type": kind, "object": obj}))
        self._changed.set()
        self._changed = asyncio.Event()

    def _answer(self, asked: Asked) -> tuple[Any, int]:
        target = Target.of(asked.path)
        if asked.method == "GET" and not target.name:
            return self._list(target, asked.query)
        if asked.method == "POST":
            return self._create(target, asked.json)
        if "apply-patch" in asked.headers.get("content-type", "") and target not in self.objects:
            return self._create(target, asked.json)
        if target not in self.objects:
            return status(404, "NotFound", f'"{target.name}" not found', kind=target.plural, name=target.name), 404
        if asked.method == "GET":
            return self.objects[target], 200
        if asked.method == "DELETE":
            return self._store(target, "DELETED", self.objects[target]), 200
        return self._change(target, asked)

    def _list(self, target: Target, query: dict[str, str]) -> tuple[Any, int]:
        found = sorted(self._matching(target, query), key=lambda obj: obj["metadata"]["name"])
        begin, size = int(query.get("continue", "0")), int(query.get("limit", "500"))
        metadata: Object = {"resourceVersion": str(self.version)}
        if begin + size < len(found):
            metadata["continue"] = str(begin + size)
        items = [{key: value for key, value in obj.items() if key not in ("apiVersion", "kind")} for obj in found]
        return {"kind": "List", "metadata": metadata, "items": items[begin : begin + size]}, 200

    def _matching(self, target: Target, query: dict[str, str]) -> Iterable[Object]:
        return [obj for at, obj in self.objects.items() if target.holds(at) and _selected(obj, query)]

    def _create(self, target: Target, obj: Object) -> tuple[Any, int]:
        at = Target(target.prefix, target.plural, target.namespace, obj["metadata"]["name"])
        if at in self.objects:
            return status(409, "AlreadyExists", kind=at.plural, name=at.name), 409
        metadata = obj["metadata"] | {"namespace": at.namespace, "uid": f"uid-{self.version + 1}"}
        return self._store(at, "ADDED", {**obj, "metadata": metadata}), 201

    def _change(self, target: Target, asked: Asked) -> tuple[Any, int]:
        known, wanted = self.objects[target], asked.json
        version = wanted.get("metadata", {}).get("resourceVersion")
        if version not in (None, known["metadata"]["resourceVersion"]):
            return status(409, "Conflict", kind=target.plural, name=target.name), 409
        metadata = known["metadata"] | wanted.get("metadata", {})
        return self._store(target, "MODIFIED", {**known, **wanted, "metadata": metadata}), 200

    async def _watch(self, asked: Asked, wire: Wire) -> None:
        target, query = Target.of(asked.path), asked.query
        if query.get("sendInitialEvents") and not self.streams_lists:
            await wire.refuse(400, "BadRequest", "sendInitialEvents is forbidden")
            return
        since = int(query.get("resourceVersion") or self.version)
        await wire.begin()
        if since < self.forgotten:
            await wire.send({"type": "ERROR", "object": status(410, "Expired", "too old resource version")})
            await wire.end()
            return
        if query.get("sendInitialEvents"):
            await wire.send(*({"type": "ADDED", "object": obj} for obj in self._matching(target, query)))
            await wire.send(_initial_end(self.version))
        await self._follow(target, query, since, wire)

    async def _follow(self, target: Target, query: dict[str, str], since: int, wire: Wire) -> None:
        position = next((i for i, (version, _, _) in enumerate(self.history) if version > since), len(self.history))
        while True:
            changed = self._changed
            for _, at, event in self.history[position:]:
                if target.holds(at) and (event["type"] == "BOOKMARK" or _selected(event["object"], query)):
                    await wire.send(event)
            position = len(self.history)
            await changed.wait()

    def _group_versions(self) -> set[str]:
        return {f"apis/{group}/v1" if group else "api/v1" for group in SERVED}

    def _discovery(self, asked: Asked) -> Any:
        groups = [group for group in SERVED if bool(group) == (asked.path == "/apis")]
        if "APIGroupDiscoveryList" in asked.headers.get("accept", ""):
            return {"kind": "APIGroupDiscoveryList", "items": [_aggregated(group) for group in groups]}
        if asked.path == "/api":
            return {"kind": "APIVersions", "versions": ["v1"]}
        return {
            "kind": "APIGroupList",
            "groups": [{"name": group, "versions": [{"version": "v1"}]} for group in groups],
        }

    def _resources(self, path: str) -> Any:
        group = path.strip("/").split("/")[1] if path.startswith("/apis/") else ""
        entries = [
            {"name": plural, "kind": kind, "namespaced": plural != "namespaces", "verbs": ["get"]}
            for plural, kind in (pair.split() for pair in SERVED[group])
        ]
        return {"kind": "APIResourceList", "groupVersion": path, "resources": entries}


def _aggregated(group: str) -> Any:
    resources = [
        {
            "resource": plural,
            "responseKind": {"group": group, "version": "v1", "kind": kind},
            "scope": "Cluster" if plural == "namespaces" else "Namespaced",
            "verbs": ["get"],
        }
        for plural, kind in (pair.split() for pair in SERVED[group])
    ]
    versions = [{"version": "v1", "freshness": "Current", "resources": resources}]
    return {"metadata": {"name": group} if group else {}, "versions": versions}


def _initial_end(version: int) -> Any:
    metadata = {"resourceVersion": str(version), "annotations": {"k8s.io/initial-events-end": "true"}}
    return {"type": "BOOKMARK", "object": {"metadata": metadata}}


def _kind(plural: str) -> str:
    return next(kind for pairs in SERVED.values() for name, kind in (pair.split() for pair in pairs) if name == plural)


def _selected(obj: Object, query: dict[str, str]) -> bool:
    name, _, value = query.get("labelSelector", "").partition("=")
    return not name or obj["metadata"].get("labels", {}).get(name) == value


@asynccontextmanager
async def api_server() -> AsyncGenerator[ApiServer]:
    server = ApiServer()
    async with serve(server) as loopback:
        server._loopback = loopback
        yield server
