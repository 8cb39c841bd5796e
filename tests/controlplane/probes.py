"""How we learn that a program of the control plane does its work."""

from __future__ import annotations

import ssl
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import aiohttp

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from tests.controlplane.credentials import Credentials

SERVICE_ACCOUNT = "/api/v1/namespaces/default/serviceaccounts/default"
ANSWER_WITHIN = aiohttp.ClientTimeout(total=5)


class Probes:
    """Asks each program in the plainest way there is; no answer is 'not ready'."""

    def __init__(self, session: aiohttp.ClientSession, *, etcd: str, server: str) -> None:
        self._session = session
        self._etcd = etcd
        self._server = server

    async def etcd(self) -> bool:
        return await self._status("GET", f"{self._etcd}/health") == 200

    async def apiserver(self) -> bool:
        return await self._status("GET", f"{self._server}/readyz") == 200

    async def controllers(self) -> bool:
        """True once the default service account is there, the first thing that controllers make."""
        return await self._status("GET", self._server + SERVICE_ACCOUNT) == 200

    async def forget_controllers(self) -> None:
        """Take away what the last run of the controllers made, so that only a new run can bring it back."""
        await self._status("DELETE", self._server + SERVICE_ACCOUNT)

    async def _status(self, method: str, url: str) -> int | None:
        try:
            async with self._session.request(method, url) as response:
                return response.status
        except (aiohttp.ClientError, TimeoutError):
            return None


@asynccontextmanager
async def probes(made: Credentials, *, etcd: str, server: str) -> AsyncGenerator[Probes]:
    """Probes as admin; every question has a connection of its own, because programs come and go."""
    trust = ssl.create_default_context(cadata=made.authority.cert_pem.bytes().decode())
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(ssl=trust, force_close=True),
        headers={"Authorization": f"Bearer {made.token}"},
        timeout=ANSWER_WITHIN,
    ) as session:
        yield Probes(session, etcd=etcd, server=server)
