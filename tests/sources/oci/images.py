"""A registry with an image in it, for whoever signs or verifies."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from penstock.sources.oci.reference import parse_repository
from penstock.sources.oci.registry import Registry
from penstock.sources.oci.transport import Connection
from tests.sources.oci.stand_in import StandIn, running

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

PLAIN = Connection(insecure=True)


@asynccontextmanager
async def image() -> AsyncGenerator[tuple[StandIn, Registry, str]]:
    async with running() as server, Registry(parse_repository(server.url()), PLAIN) as registry:
        yield server, registry, server.image({"a": "1"}, "latest")
