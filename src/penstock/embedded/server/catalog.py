"""What the server serves at this moment: built-in resources, and those that definitions bring and take away."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from penstock.embedded.schema import Subresource, builtin_resources
from penstock.embedded.server.ports import ServedResource

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.embedded.schema import ResourceType, Schema

_VERSION = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")
_STABILITY = {"": 2, "beta": 1, "alpha": 0}
_SHARED = {"events.k8s.io/events": "/events"}
"""Resources of two groups that are the same objects."""


class Catalog:
    """The resources served, found by path and by kind; `version` counts its changes."""

    def __init__(self) -> None:
        self._by_path: dict[tuple[str, str, str], ServedResource] = {}
        self._by_kind: dict[tuple[str, str], list[ServedResource]] = {}
        self.version = 0
        self.add([_served(resource) for resource in builtin_resources()])

    def find(self, group: str, version: str, plural: str) -> ServedResource | None:
        return self._by_path.get((group, version, plural))

    def find_kind(self, group: str, kind: str, version: str = "") -> ServedResource | None:
        known = self._by_kind.get((group, kind), ())
        return next((resource for resource in known if not version or resource.version == version), None)

    def resources(self) -> Sequence[ServedResource]:
        return tuple(self._by_path.values())

    def versions(self, group: str) -> list[str]:
        """The versions of a group, the preferred one first."""
        found = {resource.version for resource in self._by_path.values() if resource.group == group}
        return sorted(found, key=version_priority, reverse=True)

    def groups(self) -> list[str]:
        """Built-in groups in the server's order, then the others by name."""
        custom: dict[str, bool] = {}
        for resource in self._by_path.values():
            custom[resource.group] = custom.get(resource.group, True) and resource.custom
        builtin = [group for group, is_custom in custom.items() if not is_custom]
        return builtin + sorted(group for group, is_custom in custom.items() if is_custom)

    def has_builtin(self, group: str) -> bool:
        return any(resource.group == group and not resource.custom for resource in self._by_path.values())

    def add(self, resources: Sequence[ServedResource]) -> None:
        for resource in resources:
            self._by_path[resource.group, resource.version, resource.plural] = resource
        self._changed()

    def remove(self, group: str, plural: str) -> None:
        for key in [key for key in self._by_path if key[0] == group and key[2] == plural]:
            del self._by_path[key]
        self._changed()

    def _changed(self) -> None:
        self.version += 1
        kinds: dict[tuple[str, str], list[ServedResource]] = {}
        for resource in self._by_path.values():
            kinds.setdefault((resource.group, resource.kind), []).append(resource)
        for known in kinds.values():
            known.sort(key=lambda resource: version_priority(resource.version), reverse=True)
        self._by_kind = kinds


def version_priority(version: str) -> tuple[int, int, int, str]:
    """Orders versions as Kubernetes does: stable before beta before alpha, newer before older, the rest last."""
    match = _VERSION.fullmatch(version)
    if match is None:
        return (-1, 0, 0, "".join(chr(0x10FFFF - ord(char)) for char in version))
    major, stability, minor = match.groups()
    return (_STABILITY[stability or ""], int(major), int(minor or 0), "")


def subresources_of(resource: ServedResource) -> tuple[Subresource, ...]:
    """What discovery says about the paths below an object."""
    if resource.subresource_types or not resource.custom:
        return resource.subresource_types
    verbs = ("get", "patch", "update")
    known = {
        "status": Subresource("status", resource.kind, verbs),
        "scale": Subresource("scale", "Scale", verbs, group="autoscaling", version="v1"),
    }
    return tuple(known[name] for name in resource.subresources if name in known)


def _served(resource: ResourceType) -> ServedResource:
    key = f"{resource.group}/{resource.plural}"
    return ServedResource(
        group=resource.group,
        version=resource.version,
        plural=resource.plural,
        singular=resource.singular,
        kind=resource.kind,
        namespaced=resource.namespaced,
        verbs=resource.verbs,
        short_names=resource.short_names,
        categories=resource.categories,
        subresources=resource.subresources,
        subresource_types=resource.subresource_types,
        schema=_schema(resource),
        collection=_SHARED.get(key, key),
        storage_hash=resource.storage_version_hash,
    )


def _schema(resource: ResourceType) -> Callable[[], Schema | None]:
    return lambda: resource.schema
