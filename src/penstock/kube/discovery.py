"""What a cluster serves: from kinds to the resources that requests are made to.

One request tells it all on a server of the last years (the aggregated document); older ones are asked group by
group. A group that cannot be read is *unknown*, never absent, and what was served a moment ago is unknown for a
while before it counts as gone: a failed discovery must never look like an object that is no longer there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from penstock.kube.errors import ApiError, BadAnswer, DiscoveryUnknown, NoMatch, NotFound, Unreachable
from penstock.kube.resources import Object, Resource, group_of
from penstock.kube.transport import Request

AGGREGATED = (
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,"
    "application/json"
)

REST = 2.0
"""Seconds between two refreshes that only a missing kind asked for; a changed CRD does not wait."""

FIRST_LOOK, LONGEST_PAUSE = 0.05, 1.0
"""Seconds between two readings while waiting for a new kind: doubled from the first to the longest."""

GRACE = 10.0
"""Seconds for which something that left discovery is unknown. A restarting server leaves groups out."""

Caller = Callable[[Request], Awaitable[Any]]
Kind = tuple[str, str]
"""apiVersion and kind."""


@dataclass(frozen=True, slots=True)
class Served:
    """One kind with all that discovery says about it."""

    resource: Resource
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()


@dataclass(slots=True)
class _Snapshot:
    """One reading of discovery."""

    kinds: dict[Kind, Served] = field(default_factory=dict[Kind, Served])
    unknown: set[str] = field(default_factory=set[str])
    """The apiVersions that could not be read."""
    preferred: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """The apiVersions of each group, the server's favourite first."""

    def preferred_kind(self, group: str, kind: str) -> Served | None:
        versions = self.preferred.get(group, ())
        return next((self.kinds[version, kind] for version in versions if (version, kind) in self.kinds), None)

    def add(self, group: str, version: str, served: Iterable[Served]) -> None:
        self.preferred.setdefault(group, []).append(_join(group, version))
        for kind in served:
            self.kinds.setdefault((kind.resource.api_version, kind.resource.kind), kind)


class Discovery:
    """The kinds of one cluster, read when first needed and again when something is missing."""

    def __init__(self, call: Caller) -> None:
        self._call = call
        self._snapshot: _Snapshot | None = None
        self._missing_since: dict[Kind, float] = {}
        self._read_at = float("-inf")
        self._stale = False
        self._reading = asyncio.Lock()

    async def resource(self, api_version: str, kind: str) -> Resource:
        """The resource that serves this kind; NoMatch when there is none, DiscoveryUnknown when nobody knows."""
        return (await self.served(api_version, kind)).resource

    async def served(self, api_version: str, kind: str) -> Served:
        """The same with short names, verbs and subresources."""
        wanted = (api_version, kind)
        snapshot = await self._current()
        if wanted not in snapshot.kinds and self._may_refresh():
            snapshot = await self.refresh()
        if wanted in snapshot.kinds:
            return snapshot.kinds[wanted]
        if api_version in snapshot.unknown or wanted in self._missing_since:
            raise DiscoveryUnknown(
                f"whether the cluster serves {kind} of {api_version} is not known: its API group cannot be read now"
            )
        raise NoMatch(f"the cluster does not serve {kind} of {api_version}{_advice(snapshot, api_version, kind)}")

    async def find(self, group: str, kind: str) -> Resource:
        """The resource in the version that the server prefers."""
        snapshot = await self._current()
        found = snapshot.preferred_kind(group, kind)
        if found is None and self._may_refresh():
            snapshot = await self.refresh()
            found = snapshot.preferred_kind(group, kind)
        if found is not None:
            return found.resource
        unreadable = any(group_of(api_version) == group for api_version in snapshot.unknown)
        if unreadable or any(group_of(version) == group and kind == name for version, name in self._missing_since):
            raise DiscoveryUnknown(f"whether the cluster serves {kind} of group {group!r} is not known now")
        raise NoMatch(f"the cluster does not serve {kind} of group {group!r}")

    async def kinds(self) -> list[Served]:
        """Everything the cluster serves, in the server's order."""
        return list((await self._current()).kinds.values())

    async def unknown(self) -> frozenset[str]:
        """The apiVersions that could not be read."""
        return frozenset((await self._current()).unknown)

    def invalidate(self) -> None:
        """Something changed (a CRD, most likely): the next look-up that finds nothing reads again at once."""
        self._stale = True

    async def until_served(self, kinds: Iterable[Kind], *, within: float = 30.0) -> None:
        """Wait until discovery tells of all these kinds, as it does some moments after their CRD is Established."""
        missing = set(kinds)
        pause = FIRST_LOOK
        try:
            async with asyncio.timeout(within):
                while missing := missing - set((await self.refresh()).kinds):
                    await asyncio.sleep(pause)
                    pause = min(2 * pause, LONGEST_PAUSE)
        except TimeoutError as error:
            names = ", ".join(sorted(f"{kind} of {api_version}" for api_version, kind in missing))
            raise DiscoveryUnknown(f"the cluster does not serve {names} after {within:g} s of waiting") from error

    async def refresh(self) -> _Snapshot:
        """Read discovery now; callers that come meanwhile share the answer."""
        asked = asyncio.get_running_loop().time()
        async with self._reading:
            if self._snapshot is not None and self._read_at > asked:
                return self._snapshot
            begun = asyncio.get_running_loop().time()
            stale, self._stale = self._stale, False  # before reading: what changes meanwhile makes it stale again
            try:
                fresh = await self._read()
            except BaseException:
                self._stale = self._stale or stale
                raise
            self._carry_over(fresh, begun)
            self._snapshot, self._read_at = fresh, begun
            return fresh

    async def _current(self) -> _Snapshot:
        return self._snapshot or await self.refresh()

    def _may_refresh(self) -> bool:
        return self._stale or asyncio.get_running_loop().time() - self._read_at >= REST

    def _carry_over(self, fresh: _Snapshot, now: float) -> None:
        """Keep what the last reading knew of groups that cannot be read now, and note what has left."""
        for wanted, served in (self._snapshot.kinds if self._snapshot else {}).items():
            if wanted in fresh.kinds:
                continue
            if wanted[0] in fresh.unknown:
                fresh.kinds[wanted] = served
            else:
                self._missing_since.setdefault(wanted, now)
        self._missing_since = {
            wanted: since
            for wanted, since in self._missing_since.items()
            if wanted not in fresh.kinds and now - since < GRACE
        }

    async def _read(self) -> _Snapshot:
        snapshot = _Snapshot()
        for path in ("/api", "/apis"):
            document = await self._get(path, AGGREGATED)
            match document.get("kind"):
                case "APIGroupDiscoveryList":
                    with _trusted(path):
                        _read_aggregated(snapshot, document)
                case "APIVersions" | "APIGroupList":
                    with _trusted(path):
                        versions = list(_legacy_versions(document))
                    await self._read_legacy(snapshot, versions)
                case other:
                    raise BadAnswer(f"discovery at {path} answered with the kind {other!r}")
        return snapshot

    async def _read_legacy(self, snapshot: _Snapshot, versions: Iterable[tuple[str, str]]) -> None:
        async def read(group: str, version: str) -> list[Served] | None:
            path = f"/apis/{group}/{version}" if group else f"/api/{version}"
            try:
                document = await self._get(path, None)
                with _trusted(path):
                    return list(_legacy_resources(group, version, document))
            except NotFound:
                return []
            except (ApiError, Unreachable, BadAnswer):
                return None

        ordered = list(versions)
        async with asyncio.TaskGroup() as group:
            reads = [group.create_task(read(*version)) for version in ordered]
        for version, task in zip(ordered, reads, strict=True):
            served = task.result()
            if served is None:
                snapshot.unknown.add(_join(*version))
            snapshot.add(*version, served or ())

    async def _get(self, path: str, accept: str | None) -> Object:
        document = await self._call(Request("GET", path, accept=accept, repeatable=True))
        if not isinstance(document, dict):
            raise BadAnswer(f"discovery at {path} answered with no object")
        return document


@contextmanager
def _trusted(path: str) -> Generator[None]:
    """Reads a document as if it were what it should be; what it is not becomes a BadAnswer."""
    try:
        yield
    except (AttributeError, KeyError, TypeError) as error:
        raise BadAnswer(f"discovery at {path} answered with a document of the wrong shape") from error


def _read_aggregated(snapshot: _Snapshot, document: Object) -> None:
    for item in document.get("items") or ():
        group = (item.get("metadata") or {}).get("name") or ""
        for entry in item.get("versions") or ():
            version = entry["version"]
            if entry.get("freshness") == "Stale":
                snapshot.unknown.add(_join(group, version))
            served = (_aggregated_resource(group, version, one) for one in entry.get("resources") or ())
            snapshot.add(group, version, (kind for kind in served if kind is not None))


def _aggregated_resource(group: str, version: str, entry: Object) -> Served | None:
    told = entry.get("responseKind") or {}
    if not told.get("kind"):
        return None  # a parent that exists only for its subresources
    resource = Resource(group, version, entry["resource"], told["kind"], entry.get("scope") == "Namespaced")
    return Served(
        resource,
        singular=entry.get("singularResource") or "",
        short_names=tuple(entry.get("shortNames") or ()),
        categories=tuple(entry.get("categories") or ()),
        verbs=tuple(entry.get("verbs") or ()),
        subresources=tuple(sub["subresource"] for sub in entry.get("subresources") or ()),
    )


def _legacy_versions(document: Object) -> Iterable[tuple[str, str]]:
    for version in document.get("versions") or ():
        yield "", version
    for group in document.get("groups") or ():
        favourite = (group.get("preferredVersion") or {}).get("version")
        versions = [entry["version"] for entry in group.get("versions") or ()]
        for version in sorted(versions, key=lambda version: version != favourite):
            yield group["name"], version


def _legacy_resources(group: str, version: str, document: Object) -> Iterable[Served]:
    entries = document.get("resources") or ()
    for entry in entries:
        plural = entry["name"]
        if "/" in plural:
            continue
        prefix = f"{plural}/"
        yield Served(
            Resource(group, version, plural, entry["kind"], bool(entry.get("namespaced"))),
            singular=entry.get("singularName") or "",
            short_names=tuple(entry.get("shortNames") or ()),
            categories=tuple(entry.get("categories") or ()),
            verbs=tuple(entry.get("verbs") or ()),
            subresources=tuple(
                other["name"].removeprefix(prefix) for other in entries if other["name"].startswith(prefix)
            ),
        )


def _advice(snapshot: _Snapshot, api_version: str, kind: str) -> str:
    """A hint for the usual mistakes: another version is served, or the CRD is not installed yet."""
    group = group_of(api_version)
    others = [version for version in snapshot.preferred.get(group, ()) if (version, kind) in snapshot.kinds]
    if others:
        return f"; it serves it as {', '.join(others)}"
    return "; is its CustomResourceDefinition installed?" if "." in group else ""


def _join(group: str, version: str) -> str:
    return f"{group}/{version}" if group else version
