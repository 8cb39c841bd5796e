"""Takes an installation out of a cluster. What it applied stays and keeps running."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.api import KINDS
from penstock.apply.gone import until_gone
from penstock.install.options import MANAGED_BY, NAME
from penstock.kube import ObjectRef, Resource
from penstock.kube.errors import NotFound
from penstock.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, DEPLOYMENTS, NAMESPACES

if TYPE_CHECKING:
    from penstock.kube import Client

_RBAC = "rbac.authorization.k8s.io"
_INSIDE = (
    Resource("", "v1", "services", "Service"),
    Resource("networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy"),
    Resource("", "v1", "serviceaccounts", "ServiceAccount"),
)
_OUTSIDE = (
    Resource(_RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False),
    Resource(_RBAC, "v1", "clusterroles", "ClusterRole", namespaced=False),
)
_FINALIZER = "finalizers.fluxcd.io"
PATIENCE = 60.0
"""Seconds for the controllers to stop: they must not act on what is taken away next."""


@dataclass(frozen=True, slots=True)
class Removal:
    """What is taken out."""

    deleted: tuple[str, ...]
    released: tuple[str, ...] = ()
    """Objects whose finalizer was taken off, so that they can go without their controller."""


async def uninstall(
    client: Client, namespace: str, *, crds: bool = False, keep_namespace: bool = False, dry_run: bool = False
) -> Removal:
    """Delete what `install` put there. With `crds` also the definitions and all objects of their kinds.

    Nothing that these objects had applied is deleted: their finalizers are taken off first.
    """
    remover = _Remover(client, namespace, dry_run=dry_run)
    await remover.stop()
    for resource in _INSIDE:
        await remover.delete(resource, namespace)
    if crds:
        await remover.definitions()
    for resource in _OUTSIDE:
        await remover.delete(resource)
    if crds and not keep_namespace:
        await remover.delete(NAMESPACES, name=namespace)
    return Removal(tuple(remover.deleted), tuple(remover.released))


class _Remover:
    def __init__(self, client: Client, namespace: str, *, dry_run: bool) -> None:
        self._client, self._namespace, self._dry_run = client, namespace, dry_run
        self._labels = f"{MANAGED_BY}={NAME},app.kubernetes.io/instance={namespace}"
        self.deleted: list[str] = []
        self.released: list[str] = []

    async def stop(self) -> None:
        """Delete the Deployment and wait until it is gone."""
        found = (await self._client.list(DEPLOYMENTS, self._namespace, labels=self._labels)).items
        await self.delete(DEPLOYMENTS, self._namespace)
        if not self._dry_run:
            gone = {
                ObjectRef("apps", "Deployment", self._namespace, one["metadata"]["name"]): one["metadata"]["uid"]
                for one in found
            }
            await until_gone(self._client, gone, timeout=PATIENCE)

    async def definitions(self) -> None:
        """The definitions that we brought, with the objects of their kinds."""
        ours = await self._client.list(CUSTOM_RESOURCE_DEFINITIONS, labels=self._labels, metadata_only=True)
        names = {one["metadata"]["name"] for one in ours.items}
        for kind in KINDS.values():
            if kind.crd_name in names:
                await self._release(Resource(kind.group, kind.version, kind.plural, kind.kind))
        await self.delete(CUSTOM_RESOURCE_DEFINITIONS)

    async def delete(self, resource: Resource, namespace: str | None = None, name: str = "") -> None:
        fields = f"metadata.name={name}" if name else None
        for obj in (await self._client.list(resource, namespace, labels=self._labels, fields=fields)).items:
            metadata = obj["metadata"]
            ref = ObjectRef(resource.group, resource.kind, namespace or "", metadata["name"])
            try:
                await self._client.delete(
                    resource,
                    metadata["name"],
                    namespace,
                    propagation="Foreground" if resource == DEPLOYMENTS else "Background",
                    uid=metadata["uid"],
                    dry_run=self._dry_run,
                )
            except NotFound:
                continue
            self.deleted.append(str(ref))

    async def _release(self, resource: Resource) -> None:
        for obj in (await self._client.list(resource)).items:
            metadata = obj["metadata"]
            if _FINALIZER not in (metadata.get("finalizers") or ()):
                continue
            rest = [one for one in metadata["finalizers"] if one != _FINALIZER]
            body = {"metadata": {"finalizers": rest, "resourceVersion": metadata["resourceVersion"]}}
            try:
                await self._client.patch(resource, metadata["name"], metadata["namespace"], body, dry_run=self._dry_run)
            except NotFound:
                continue
            self.released.append(str(ObjectRef(resource.group, resource.kind, metadata["namespace"], metadata["name"])))
