"""A real API server to ask: creates and updates as dry runs, answers in the form that can be compared."""

from __future__ import annotations

import ssl
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import aiohttp

from penstock.embedded.schema import builtin_resources
from penstock.kube.connector import Connector
from tests.controlplane.plane import controlplane
from tests.embedded.kinds.answers import Answer, real

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from penstock.kube.resources import Object

_PLACES = {
    (f"{one.group}/{one.version}" if one.group else one.version, one.kind): (one.plural, one.namespaced)
    for one in builtin_resources()
}


class Plane:
    """A control plane without controllers, so that nobody else touches what is created."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def create(self, obj: Object, *, dry_run: bool = True) -> Answer | None:
        """The answer to a POST; None where the server breaks down over the object."""
        return await self._ask("POST", _path(obj), obj, dry_run=dry_run)

    async def replace(self, obj: Object, name: str, subresource: str) -> Answer | None:
        place = f"{_path(obj)}/{name}/{subresource}".rstrip("/")
        return await self._ask("PUT", place, obj, dry_run=True)

    async def store(self, obj: Object) -> Object:
        """Create an object for good; as it is stored, without managed fields."""
        async with self._session.post(_path(obj), json=obj) as response:
            body: Object = await response.json()
            assert response.status == 201, body
        return body

    async def _ask(self, method: str, path: str, obj: Object, *, dry_run: bool) -> Answer | None:
        parameters = {"dryRun": "All"} if dry_run else {}
        try:
            async with self._session.request(method, path, json=obj, params=parameters) as response:
                return real(response.status, await response.json())
        except aiohttp.ServerDisconnectedError:
            return None


def _path(obj: Object) -> str:
    plural, namespaced = _PLACES[obj["apiVersion"], obj["kind"]]
    root = "/api/v1" if obj["apiVersion"] == "v1" else f"/apis/{obj['apiVersion']}"
    return f"{root}/namespaces/default/{plural}" if namespaced else f"{root}/{plural}"


@asynccontextmanager
async def plane() -> AsyncGenerator[Plane]:
    """A fresh control plane with the service account that pods need."""
    async with controlplane(controllers=False) as started:
        trust: Any = ssl.create_default_context(cafile=str(started.ca))
        session = aiohttp.ClientSession(
            started.server,
            headers={"Authorization": f"Bearer {started.token}"},
            connector=Connector(ssl=trust, limit=8),
        )
        async with session:
            asked = Plane(session)
            await asked.store({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}})
            yield asked
