"""What a fresh API server makes by itself: namespaces, RBAC roles and bindings, priority classes and so on."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.embedded.server.ports import Api, ServedResource
    from penstock.kube.resources import Object

FILE = "bootstrap.json"
MOMENT = "@now"
"""Stands in the table where the real server writes the time of its start."""


def bootstrap_objects(now: str) -> list[Object]:
    """All of them, as the real server stores them, in an order in which each finds what it needs."""
    text = Path(__file__).with_name(FILE).read_text(encoding="utf-8")
    objects: list[Object] = orjson.loads(text.replace(f'"{MOMENT}"', f'"{now}"'))
    return objects


async def bootstrap(api: Api, now: str) -> None:
    """Store those that are not there; what somebody changed stays as it is.

    The real server adds missing rules and subjects to its own roles at every start. Here a role is only made anew
    when it is gone.
    """
    await api.store_all(_missing(api, await asyncio.to_thread(bootstrap_objects, now)))


def _missing(api: Api, objects: list[Object]) -> Iterator[tuple[ServedResource, Object]]:
    for obj in objects:
        prefix, _, version = obj["apiVersion"].rpartition("/")
        resource = api.catalog.find_kind(prefix, obj["kind"], version)
        metadata = obj["metadata"]
        if resource is not None and api.get(resource, metadata["name"], metadata.get("namespace", "")) is None:
            yield resource, obj
