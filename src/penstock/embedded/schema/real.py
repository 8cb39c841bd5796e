"""A real API server to read facts from, for those who write the tables that are shipped."""

from __future__ import annotations

import asyncio
import ssl
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import aiohttp

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator


@asynccontextmanager
async def real_server() -> AsyncGenerator[aiohttp.ClientSession]:
    """A session with a fresh control plane, without controllers, started from the tests of the checkout."""
    sys.path.insert(0, str(Path.cwd()))
    from tests.controlplane.plane import controlplane

    async with controlplane(controllers=False) as plane:
        context = await asyncio.to_thread(ssl.create_default_context, cafile=str(plane.ca))
        async with aiohttp.ClientSession(
            plane.server,
            headers={"Authorization": f"Bearer {plane.token}"},
            connector=aiohttp.TCPConnector(ssl=context),
        ) as session:
            yield session
