"""All objects of an installation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.api import KINDS, crd
from penstock.api.kinds import KUSTOMIZE_GROUP, SOURCE_GROUP
from penstock.install.rbac import roles
from penstock.install.workload import deployment, network_policies, service, service_account

if TYPE_CHECKING:
    from penstock.install.options import InstallOptions
    from penstock.kube import Object

_GROUPS = {"source": SOURCE_GROUP, "kustomize": KUSTOMIZE_GROUP}


def manifests(options: InstallOptions) -> list[Object]:
    """The objects in the order of an apply; equal options give equal objects."""
    found = [_namespace(options), *_definitions(options), *roles(options), service_account(options)]
    if "source" in options.components:
        found.append(service(options))
    found.append(deployment(options))
    if options.network_policy:
        found += network_policies(options)
    return found


def _namespace(options: InstallOptions) -> Object:
    labels = {**options.labels(), "pod-security.kubernetes.io/warn": "restricted"}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": options.namespace, "labels": labels}}


def _definitions(options: InstallOptions) -> list[Object]:
    """The CRDs of the components, and those of the sources that Kustomizations name."""
    groups = {_GROUPS[name]: f"{name}-controller" for name in options.components}
    groups.setdefault(SOURCE_GROUP, "source-controller")
    found: list[Object] = []
    for kind in KINDS.values():
        if kind.group in groups:
            definition = crd(kind.kind)
            definition["metadata"]["labels"] = options.labels(groups[kind.group])
            found.append(definition)
    return found
