"""What every namespace has: the service account `default`, and the cluster's certificate in `kube-root-ca.crt`."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from penstock.embedded.status import StatusError

if TYPE_CHECKING:
    from penstock.embedded.server.ports import Api
    from penstock.kube.resources import Object

MANAGER = "kube-controller-manager"
ACCOUNT, AUTHORITY = "default", "kube-root-ca.crt"
_NAMESPACES, _ACCOUNTS, _CONFIG_MAPS = "/namespaces", "/serviceaccounts", "/configmaps"
_DESCRIPTION = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the "
    "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes "
    "clusters."
)

log = logging.getLogger("penstock.embedded")


class Furnisher:
    """Makes them in every namespace, and puts them back when somebody takes them away."""

    def __init__(self, api: Api, authority: bytes) -> None:
        self._api = api
        self._authority = authority.decode()

    async def run(self, api: Api) -> None:
        """Furnish for as long as the server runs."""
        async for change in api.watch(_NAMESPACES, _ACCOUNTS, _CONFIG_MAPS):
            record = change.record
            if record.collection == _NAMESPACES:
                if change.type != "DELETED":
                    await self._furnish(record.name)
            elif record.collection == _ACCOUNTS:
                if record.name == ACCOUNT and change.type == "DELETED":
                    await self._furnish(record.namespace)
            elif record.name == AUTHORITY:
                await self._furnish(record.namespace)

    async def _furnish(self, namespace: str) -> None:
        if not self._is_active(namespace):
            return
        await self._put("serviceaccounts", {"metadata": {"name": ACCOUNT, "namespace": namespace}})
        await self._put(
            "configmaps",
            {
                "metadata": {
                    "name": AUTHORITY,
                    "namespace": namespace,
                    "annotations": {"kubernetes.io/description": _DESCRIPTION},
                },
                "data": {"ca.crt": self._authority},
            },
        )

    async def _put(self, plural: str, wanted: Object) -> None:
        resource = self._api.catalog.find("", "v1", plural)
        if resource is None:
            return
        metadata = wanted["metadata"]
        found = self._api.get(resource, metadata["name"], metadata["namespace"])
        try:
            if found is None:
                await self._api.create(resource, wanted, namespace=metadata["namespace"], manager=MANAGER)
            elif "data" in wanted and found.get("data") != wanted["data"]:
                await self._api.update(resource, {**found, "data": wanted["data"]}, manager=MANAGER)
        except StatusError as error:
            if error.code not in (403, 404, 409):  # the namespace goes, or somebody was quicker
                log.warning("cannot furnish namespace %s: %s", metadata["namespace"], error)

    def _is_active(self, name: str) -> bool:
        resource = self._api.catalog.find("", "v1", "namespaces")
        namespace = self._api.get(resource, name) if resource is not None else None
        return namespace is not None and not namespace["metadata"].get("deletionTimestamp")
