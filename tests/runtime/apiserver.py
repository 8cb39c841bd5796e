"""The part of an API server that status and finalizers need: one object, its versions, and a rival on request."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from aiohttp import web

from penstock.kube import Client, Resource, Settings, connect

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from penstock.kube.resources import Object

KUSTOMIZATIONS = Resource("kustomize.toolkit.fluxcd.io", "v1", "kustomizations", "Kustomization")


class OneObject:
    """Serves GET and merge PATCH of one Kustomization, and refuses a version that is not the current one."""

    def __init__(self) -> None:
        self.client: Client = None  # type: ignore[assignment]
        self.object: Object = {
            "apiVersion": KUSTOMIZATIONS.api_version,
            "kind": KUSTOMIZATIONS.kind,
            "metadata": {"name": "apps", "namespace": "team", "uid": "one", "resourceVersion": "1", "generation": 1},
        }
        self.patches: list[tuple[str, Object]] = []
        """Every patch that arrived: where to, and what."""
        self.managers: set[str] = set()
        self.gone = False
        self.rivals: list[Callable[[Object], None]] = []
        """Each changes the object once, just before the next patch is looked at."""
        self.lose_answers = 0
        """So many patches take effect, but their answer never arrives."""
        self.gate = asyncio.Event()
        """Patches are answered while it is open."""
        self.gate.set()

    def change(self, change: Callable[[Object], None]) -> None:
        change(self.object)
        metadata = self.object["metadata"]
        metadata["resourceVersion"] = str(int(metadata["resourceVersion"]) + 1)

    @property
    def bodies(self) -> list[Object]:
        return [body for _, body in self.patches]

    async def get(self, _: web.Request) -> web.Response:
        return _refusal(404, "NotFound") if self.gone else web.json_response(self.object)

    async def patch(self, request: web.Request) -> web.Response:
        part = "status" if request.path.endswith("/status") else "metadata"
        body: Object = await request.json()
        self.patches.append((part, deepcopy(body)))
        self.managers.add(request.query.get("fieldManager", ""))
        await self.gate.wait()
        if self.rivals:
            self.change(self.rivals.pop(0))
        if self.gone:
            return _refusal(404, "NotFound")
        if body.get("metadata", {}).pop("resourceVersion", None) != self.object["metadata"]["resourceVersion"]:
            return _refusal(409, "Conflict")
        self.change(lambda obj: _merge(obj, body))
        if self.lose_answers:
            self.lose_answers -= 1
            assert request.transport is not None
            request.transport.close()
        return web.json_response(self.object)


@asynccontextmanager
async def one_object() -> AsyncGenerator[OneObject]:
    server = OneObject()
    app = web.Application()
    place = "/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/team/kustomizations/apps"
    app.router.add_get(place, server.get)
    app.router.add_patch(place, server.patch)
    app.router.add_patch(place + "/status", server.patch)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        settings = Settings(server=f"http://127.0.0.1:{runner.addresses[0][1]}", origin="test")
        async with connect(settings) as server.client:
            yield server
    finally:
        await runner.cleanup()


def _refusal(code: int, reason: str) -> web.Response:
    status = {"kind": "Status", "code": code, "reason": reason, "message": reason, "details": {"name": "apps"}}
    return web.json_response(status, status=code)


def _merge(target: dict[str, Any], change: dict[str, Any]) -> None:
    for field, value in change.items():
        if value is None:
            target.pop(field, None)
        elif isinstance(value, dict) and isinstance(target.get(field), dict):
            _merge(target[field], value)
        else:
            target[field] = value
