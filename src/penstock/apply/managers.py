"""Taking over what others left on an object: field managers, annotations, outdated API versions.

The next apply then drops every field that is not wished for. This is how edits by kubectl are undone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from penstock.kube import Object

Operation = Literal["Apply", "Update"]
JSONPatch = list[dict[str, Any]]

ANNOTATIONS = (
    "kubectl.kubernetes.io/last-applied-configuration",
    "kustomize.toolkit.fluxcd.io/checksum",
    "fluxcd.io/sync-checksum",
)
LABELS = ("fluxcd.io/sync-gc-mark",)


@dataclass(frozen=True, slots=True)
class Rival:
    """A field manager whose fields become ours."""

    name: str
    operation: Operation
    exact: bool = False
    """By default every manager matches whose name begins so: kubectl is `kubectl-edit`, `kubectl-patch` and more."""

    def matches(self, entry: Object) -> bool:
        if entry.get("operation") != self.operation or entry.get("subresource"):
            return False
        name = str(entry.get("manager") or "")
        return name == self.name if self.exact else name.startswith(self.name)


def rivals(manager: str, others: Iterable[str | Rival] = ()) -> tuple[Rival, ...]:
    """Kubectl, our own past, and the managers that the operator names."""
    found = [
        Rival("kubectl", "Apply"),
        Rival("kubectl", "Update"),
        Rival("before-first-apply", "Update"),
        Rival(manager, "Update"),
    ]
    for other in others:
        found += [other] if isinstance(other, Rival) else [Rival(other, "Apply"), Rival(other, "Update")]
    return tuple(found)


def cleanup(live: Object, manager: str, against: Sequence[Rival]) -> JSONPatch:
    """The patch that takes over; empty when there is nothing to take."""
    metadata: Object = live.get("metadata") or {}
    patch: JSONPatch = []
    for place, keys in (("annotations", ANNOTATIONS), ("labels", LABELS)):
        present = metadata.get(place) or {}
        patch += [_remove(place, key) for key in keys if key in present]
    if (entries := taken_over(metadata.get("managedFields") or [], manager, against)) is not None:
        patch.append({"op": "replace", "path": "/metadata/managedFields", "value": entries})
    return _guarded(patch, metadata)


def migration(live: Object, api_version: str) -> JSONPatch:
    """The patch that says of every field manager that it used this API version; empty when all did."""
    metadata: Object = live.get("metadata") or {}
    entries = metadata.get("managedFields") or []
    if all(entry.get("apiVersion") == api_version for entry in entries):
        return []
    moved = [{**entry, "apiVersion": api_version} for entry in entries]
    return _guarded([{"op": "replace", "path": "/metadata/managedFields", "value": moved}], metadata)


def taken_over(entries: Sequence[Object], manager: str, against: Sequence[Rival]) -> list[Object] | None:
    """The managed fields with those of the rivals added to ours, which stand at the end; None when nothing changes."""
    own = next((one for one in reversed(entries) if _is_ours(one, manager)), None)
    ours: Object | None = own
    rest: list[Object] = []
    edited = False
    for entry in entries:
        if entry is own:
            continue
        if not any(rival.matches(entry) for rival in against):
            rest.append(entry)
            continue
        edited = True
        if ours is None:
            ours = {**entry, "manager": manager, "operation": "Apply"}
        else:
            fields: Object = united(ours.get("fieldsV1") or None, entry.get("fieldsV1") or None)
            ours = {**ours, "fieldsV1": fields}
    if not edited or ours is None:
        return None
    return [*rest, ours]


def united(one: Object | None, other: Object | None) -> Object:
    """The union of two field sets in their wire form, where an empty node is the field itself."""
    if not one or not other:
        # A leaf that meets a node is that node and the field itself.
        found = one or other
        return {".": {}, **found} if found and one is not None and other is not None else (found or {})
    merged = dict(one)
    for key, node in other.items():
        merged[key] = united(merged[key], node) if key in merged else node
    return merged


def _is_ours(entry: Object, manager: str) -> bool:
    return entry.get("manager") == manager and entry.get("operation") == "Apply" and not entry.get("subresource")


def _remove(place: str, key: str) -> dict[str, Any]:
    return {"op": "remove", "path": f"/metadata/{place}/{key.replace('~', '~0').replace('/', '~1')}"}


def _guarded(patch: JSONPatch, metadata: Object) -> JSONPatch:
    """The patch for just this version of the object: managed fields that changed since must not be overwritten."""
    version = metadata.get("resourceVersion")
    if not patch or not version:
        return patch
    return [*patch, {"op": "replace", "path": "/metadata/resourceVersion", "value": version}]
