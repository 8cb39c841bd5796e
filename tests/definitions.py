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


async def define(client: Client, *definitions: Object) -> None:
    """Put these CRDs on the cluster, where another test may have done so, and wait until their kinds are served."""
    cache: WatchCache[Object] = WatchCache(client, CUSTOM_RESOURCE_DEFINITIONS)
    async with following(cache) as until:
        for definition in definitions:
            await client.apply(
                CUSTOM_RESOURCE_DEFINITIONS, definition, manager="tests", force=True, validation="Strict"
            )
        await until(lambda: all(_established(cache.get(one["metadata"]["name"])) for one in definitions))
    # An established CRD is in discovery only some moments later.
    await client.discovery.until_served(kind for definition in definitions for kind in _kinds(definition))


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
