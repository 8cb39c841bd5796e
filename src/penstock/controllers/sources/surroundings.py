"""What a source may read besides its own spec: objects of its own namespace, and the artifacts of others there."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING

from penstock.kube.errors import KubeError, NotFound
from penstock.kube.resources import SECRETS
from penstock.sources import SourceError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.kube.client import Client
    from penstock.kube.resources import Object, Resource
    from penstock.sources.store import ArtifactStore


class Surroundings:
    """One namespace as the sources in it see it."""

    def __init__(self, client: Client, namespace: str, store: ArtifactStore) -> None:
        self.client = client
        """For what `get` does not do. Whoever uses it stays in the namespace."""
        self.namespace = namespace
        self.store = store

    async def secret(
        self, name: str, *, reason: str = "AuthenticationFailed", condition: str = "FetchFailed"
    ) -> Mapping[str, bytes]:
        """The values of a Secret; SourceError with this reason and condition when it cannot be read."""
        try:
            found = await self.client.get(SECRETS, name, self.namespace)
        except NotFound:
            told = "there is no such Secret"
        except KubeError as error:
            told = str(error)
        else:
            return _values(found)
        message = f"failed to get secret '{self.namespace}/{name}': {told}"
        raise SourceError(message, reason=reason, condition=condition)

    async def get(self, resource: Resource, name: str) -> Object | None:
        """Another object of the namespace; None when there is none."""
        try:
            return await self.client.get(resource, name, self.namespace)
        except NotFound:
            return None


def _values(secret: Object) -> dict[str, bytes]:
    values: dict[str, bytes] = {}
    for key, text in (secret.get("data") or {}).items():
        try:
            values[key] = base64.b64decode(text or "", validate=True)
        except (binascii.Error, ValueError):  # the API server lets none of these in
            values[key] = b""
    return values
