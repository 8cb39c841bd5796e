"""Service accounts as decryption sees them: their tokens and annotations, asked for from whatever thread builds."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

from penstock.kube.resources import Resource

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping

    from penstock.kube import Client

T = TypeVar("T")

SERVICE_ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")


class Accounts:
    """Asks the cluster in the controller's own event loop, since its connections live there."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._loop = asyncio.get_running_loop()

    async def token(self, namespace: str, name: str, audience: str) -> str:
        """A fresh token for an audience."""
        body = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"audiences": [audience]},
        }
        answer = await self._ask(
            self._client.create(SERVICE_ACCOUNTS, body, namespace=namespace, name=name, subresource="token")
        )
        return str(answer["status"]["token"])

    async def annotations(self, namespace: str, name: str) -> Mapping[str, str]:
        """The annotations; an error when there is no such service account."""
        obj = await self._ask(self._client.get(SERVICE_ACCOUNTS, name, namespace))
        return dict(obj["metadata"].get("annotations") or {})

    async def _ask(self, request: Coroutine[Any, Any, T]) -> T:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(request, self._loop))
