"""Is a kind really gone, and its objects with it? Asked before anything is forgotten.

A server that is just starting leaves out groups that it will serve a moment later, and a fresh client has nothing to
compare with. So what discovery does not have is looked for once more where kinds come from.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from penstock.kube.errors import DiscoveryUnknown, Forbidden, NoMatch, NotFound
from penstock.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, GroupKind

if TYPE_CHECKING:
    from penstock.kube import Client, Resource

ALWAYS_SERVED = frozenset(
    {
        *("", "apiextensions.k8s.io", "apps", "autoscaling", "batch", "coordination.k8s.io", "networking.k8s.io"),
        *("policy", "rbac.authorization.k8s.io", "scheduling.k8s.io", "storage.k8s.io"),
    }
)
"""Groups without which there is no cluster: if one is missing as a whole, discovery is not complete."""


class Kinds:
    """The kinds of a cluster, as one prune sees them."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._reading = asyncio.Lock()
        self._is_fresh = False
        self._definitions: list[str] | None = None

    async def find(self, kind: GroupKind, api_version: str) -> Resource | None:
        """The resource in this version, or in any; None when the kind is gone, DiscoveryUnknown when nobody knows."""
        try:
            return await self._client.discovery.resource(api_version, kind.kind)
        except NoMatch:
            await self._refresh()
        try:
            return await self._client.discovery.find(*kind)
        except NoMatch:
            if await self._may_come_back(kind):
                raise DiscoveryUnknown(
                    f"whether the cluster serves {kind} is not known: discovery is not complete"
                ) from None
            return None

    async def _refresh(self) -> None:
        """Read discovery once for all that need it: that a kind is gone is believed only of a reading begun since."""
        async with self._reading:
            if not self._is_fresh:
                await self._client.discovery.refresh()
                self._is_fresh = True

    async def _may_come_back(self, kind: GroupKind) -> bool:
        if kind.group in ALWAYS_SERVED:
            return all(one.resource.group != kind.group for one in await self._client.discovery.kinds())
        try:
            for name in await self._names():
                if name.endswith(f".{kind.group}") and await self._defines(name, kind):
                    return True
        except Forbidden:
            return False  # who may not see definitions has discovery's word, which is the server's own
        return False

    async def _names(self) -> list[str]:
        async with self._reading:
            if self._definitions is None:
                listing = await self._client.list(CUSTOM_RESOURCE_DEFINITIONS, metadata_only=True)
                self._definitions = [str(one["metadata"]["name"]) for one in listing.items]
        return self._definitions

    async def _defines(self, name: str, kind: GroupKind) -> bool:
        try:
            spec = (await self._client.get(CUSTOM_RESOURCE_DEFINITIONS, name)).get("spec") or {}
        except NotFound:
            return False
        return (spec.get("names") or {}).get("kind") == kind.kind and any(
            one.get("served") for one in spec.get("versions") or ()
        )
