"""A door through which a test sends anything at all, however wrong."""

from __future__ import annotations

import asyncio
import io
import ssl
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import aiohttp
import orjson
from yarl import URL

from penstock.embedded import Cluster, cluster
from tests.embedded.server.playing import connector

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

MAPS = "/api/v1/namespaces/default/configmaps"


@dataclass(frozen=True, slots=True)
class Answer:
    code: int
    content_type: str
    text: str

    @property
    def status(self) -> dict[str, Any]:
        body: dict[str, Any] = orjson.loads(self.text)
        assert (body["kind"], body["code"]) == ("Status", self.code)
        return body


@dataclass(frozen=True, slots=True)
class Door:
    """A way to send anything at all."""

    running: Cluster
    session: aiohttp.ClientSession

    async def send(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Answer:
        told = {"Authorization": f"Bearer {self.running.token}"} | (headers or {})
        url = URL(self.running.server + path, encoded=True)  # as it is: no client tidies up
        data = io.BytesIO(body) if isinstance(body, bytes) else body
        async with self.session.request(
            method, url, data=data, headers=told, skip_auto_headers=["Content-Type"]
        ) as answer:
            return Answer(
                answer.status, answer.headers.get("Content-Type", ""), (await answer.read()).decode(errors="replace")
            )

    async def raw(self, data: bytes) -> bytes:
        """Bytes on a connection of their own; whatever comes back until it is closed or quiet."""
        tls = ssl.create_default_context(cadata=self.running.authority.decode())
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", int(self.running.server.rpartition(":")[2]), ssl=tls
        )
        try:
            writer.write(data)
            async with asyncio.timeout(20):
                return await reader.read(65536)
        finally:
            writer.transport.abort()

    async def alive(self) -> bool:
        return (await self.send("GET", "/readyz")).text == "ok"


@asynccontextmanager
async def opened() -> AsyncGenerator[Door]:
    """A door to a cluster of its own, in which nothing else happens."""
    async with (
        cluster(controllers=False) as running,
        aiohttp.ClientSession(connector=connector(running.authority.decode())) as session,
    ):
        yield Door(running, session)
