"""Service accounts as decryption sees them: their tokens and annotations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.kube.resources import Resource

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.kube import Client

SERVICE_ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")


class Accounts:
    """Asks the cluster with the controller's rights."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def token(self, namespace: str, name: str, audience: str) -> str:
        """A fresh token for an audience."""
        body = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"audiences": [audience]},
        }
        answer = await self._client.create(SERVICE_ACCOUNTS, body, namespace=namespace, name=name, subresource="token")
        return str(answer["status"]["token"])

    async def annotations(self, namespace: str, name: str) -> Mapping[str, str]:
        """The annotations; an error when there is no such service account."""
        obj = await self._client.get(SERVICE_ACCOUNTS, name, namespace)
        return dict(obj["metadata"].get("annotations") or {})
