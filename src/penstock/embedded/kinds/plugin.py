"""How the kinds join the embedded server: admission, taken addresses, and the two priority classes of the system."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.embedded.kinds.admission import KindAdmission
from penstock.embedded.kinds.pods.resizing import ResizeValidation

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.embedded.server.ports import Api, Context, Plugins
    from penstock.kube.resources import Object

_SYSTEM = (
    (
        "system-cluster-critical",
        2000000000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
    (
        "system-node-critical",
        2000001000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
)


class ApiLookup:
    """Other objects, as the server's own API has them."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def get(self, group: str, kind: str, name: str, namespace: str = "") -> Object | None:
        resource = self._api.catalog.find_kind(group, kind)
        return None if resource is None else self._api.get(resource, name, namespace)

    def list(self, group: str, kind: str) -> Iterable[Object]:
        resource = self._api.catalog.find_kind(group, kind)
        return () if resource is None else self._api.list(resource)


def install(plugins: Plugins, context: Context) -> None:
    """Add what the kinds need of the server to its plugins."""
    lookup = ApiLookup(context.api)
    admission = KindAdmission(lookup)
    plugins.admission.append(admission)
    plugins.validation += [admission, ResizeValidation(lookup)]
    plugins.observers.append(admission)
    plugins.startup.append(make_priority_classes)


async def make_priority_classes(api: Api) -> None:
    """The classes that the API server itself creates at its first start."""
    resource = api.catalog.find_kind("scheduling.k8s.io", "PriorityClass")
    if resource is None:
        return
    for name, value, description in _SYSTEM:
        if api.get(resource, name) is None:
            obj = {
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": name, "generation": 1},
                "value": value,
                "description": description,
                "preemptionPolicy": "PreemptLowerPriority",
            }
            await api.store(resource, obj)
