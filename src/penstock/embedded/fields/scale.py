"""Managers of the replicas field, seen from the object and from its scale subresource."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from penstock.embedded.fields.managers import Managers, read, written
from penstock.embedded.fields.sets import difference, has, of_paths

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.embedded.fields.sets import Path

SCALE_VERSION = "autoscaling/v1"
REPLICAS: Path = ("f:spec", "f:replicas")


def scale_managers(
    entries: Sequence[Mapping[str, Any]] | None, *, replicas: Mapping[str, Path]
) -> list[dict[str, Any]]:
    """The managedFields of a Scale: whoever manages the replicas of the object.

    `replicas` says for every version of the object where its replicas are.
    """
    found: Managers = {}
    for identifier, entry in read(entries).items():
        path = replicas.get(entry.api_version)
        if path is not None and has(entry.fields, path):
            found[identifier] = replace(entry, fields=of_paths(REPLICAS), api_version=SCALE_VERSION)
    return written(found)


def scaled_managers(
    entries: Sequence[Mapping[str, Any]] | None,
    scale_entries: Sequence[Mapping[str, Any]] | None,
    *,
    api_version: str,
    replicas: Mapping[str, Path],
) -> list[dict[str, Any]]:
    """The managedFields of the object after a write to its scale, from those that the Scale has now.

    Who lost the replicas of the Scale loses them in the object, new managers have no time, and managers of
    unknown versions are forgotten.
    """
    parents, scale = read(entries), read(scale_entries)
    result: Managers = {}
    for identifier, entry in parents.items():
        if entry.api_version not in replicas:
            continue
        path = replicas[entry.api_version]
        if not has(entry.fields, path) or scale.pop(identifier, None) is not None:
            result[identifier] = entry
        elif rest := difference(entry.fields, of_paths(path)):
            # The identifier of an updater holds a version, so it always comes here and back as a new entry below.
            result[identifier] = replace(entry, fields=rest)
    for identifier, entry in scale.items():
        if has(entry.fields, REPLICAS):
            mine, time = of_paths(replicas[api_version]), parents[identifier].time if identifier in parents else None
            result[identifier] = replace(entry, fields=mine, api_version=api_version, time=time)
    return written(result)
