"""Secrets for the sources of a test."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from penstock.kube.resources import SECRETS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.clusters import Cluster


async def make_secret(cluster: Cluster, name: str, data: Mapping[str, bytes], kind: str = "Opaque") -> None:
    body = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name},
        "type": kind,
        "data": {key: base64.b64encode(value).decode() for key, value in data.items()},
    }
    await cluster.client.create(SECRETS, body, namespace=cluster.namespace)
