"""Keeps discovery current: a CRD that comes, changes or goes changes what the cluster serves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.kube.cache import Change, WatchCache
from penstock.kube.resources import CUSTOM_RESOURCE_DEFINITIONS

if TYPE_CHECKING:
    from penstock.kube.client import Client


def watch_definitions(client: Client) -> WatchCache[str]:
    """A cache of the CRDs' names, to be run by the caller; every change makes discovery read again."""
    cache = WatchCache(
        client,
        CUSTOM_RESOURCE_DEFINITIONS,
        transform=lambda obj: str(obj["metadata"]["name"]),
        metadata_only=True,
    )

    async def changed(_change: Change[str]) -> None:
        client.discovery.invalidate()

    cache.subscribe(changed)
    return cache
