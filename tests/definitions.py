"""Custom kinds for a test's cluster."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from penstock.kube import Object, WatchCache
from penstock.kube.errors import NotFound
from penstock.kube.resources import CUSTOM_RESOURCE_DEFINITIONS
from tests.waiting import following

if TYPE_CHECKING:
    from penstock.kube import Client, Resource


_DONE: dict[tuple[str, int], Object] = {}
"""What this process has defined, by identity and generation of the CRD on its cluster."""


async def define(client: Client, *definitions: Object) -> None:
    """Put these CRDs on the cluster, where another test may have done so, and wait until their kinds are served."""
    if await _are_defined(client, definitions):
        return
    cache: WatchCache[Object] = WatchCache(client, CUSTOM_RESOURCE_DEFINITIONS)
    async with following(cache) as until:
        for definition in definitions:
            await client.apply(
                CUSTOM_RESOURCE_DEFINITIONS, definition, manager="tests", force=True, validation="Strict"
            )
        await until(lambda: all(_established(cache.get(one["metadata"]["name"])) for one in definitions))
        there = {one["metadata"]["name"]: one for one in cache.values()}
    # An established CRD is in discovery only some moments later.
    await client.discovery.until_served(kind for definition in definitions for kind in _kinds(definition))
    _DONE.update({_version(there[one["metadata"]["name"]]): one for one in definitions})


async def _are_defined(client: Client, definitions: tuple[Object, ...]) -> bool:
    """Whether this process has put the very same on this cluster before: a CRD is dear to apply, and cheap to see."""
    if not _DONE:
        return False
    listed = await client.list(CUSTOM_RESOURCE_DEFINITIONS, metadata_only=True, resource_version="0")
    there = {one["metadata"]["name"]: _DONE.get(_version(one)) for one in listed.items}
    return all(there.get(one["metadata"]["name"]) == one for one in definitions)


def _version(definition: Object) -> tuple[str, int]:
    metadata = definition["metadata"]
    return metadata["uid"], metadata["generation"]


async def release(client: Client, namespace: str, *resources: Resource) -> None:
    """Take the finalizers off what a stopped controller has left behind: nobody else would, and a namespace with such
    objects in it keeps the control plane busy for as long as it runs."""
    for resource in resources:
        for obj in (await client.list(resource, namespace)).items:
            if obj["metadata"].get("finalizers"):
                with suppress(NotFound):
                    await client.patch(resource, obj["metadata"]["name"], namespace, {"metadata": {"finalizers": None}})


def _established(definition: Object | None) -> bool:
    conditions = ((definition or {}).get("status") or {}).get("conditions") or ()
    return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)


def _kinds(definition: Object) -> list[tuple[str, str]]:
    spec = definition["spec"]
    return [
        (f"{spec['group']}/{version['name']}", spec["names"]["kind"])
        for version in spec["versions"]
        if version["served"]
    ]
