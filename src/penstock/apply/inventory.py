"""What a Kustomization has applied, and what of it is no longer wanted.

All of it is pure: values in, values out. The API version is not identity: an Ingress that moved from v1beta1 to v1 is
the same object.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from penstock.api.inventory import Identity, InvalidInventoryId, Inventory

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from penstock.api.inventory import InventoryEntry

Pruned = Literal["deleted", "skipped", "unknown"]
"""What became of an object that was to be pruned: gone, left alone on purpose, or nobody knows."""


def identities(inventory: Inventory | None) -> list[Identity]:
    """The objects of an inventory, in its order."""
    return [entry.identity for entry in inventory.entries] if inventory else []


def stale(previous: Inventory | None, applied: Inventory | None) -> list[InventoryEntry]:
    """What the previous inventory has and the new one no longer mentions, in the order of the previous one."""
    kept = set(identities(applied))
    return [entry for entry in (previous.entries if previous else ()) if entry.identity not in kept]


def merged(inventory: Inventory | None, more: Iterable[InventoryEntry] | None) -> Inventory | None:
    """The inventory with what it lacks of `more` at its end; without either, as it was."""
    if inventory is None or more is None:
        return inventory
    known = set(identities(inventory))
    added: dict[Identity, InventoryEntry] = {}
    for entry in more:
        if entry.identity not in known:
            added.setdefault(entry.identity, entry)
    return Inventory(entries=(*inventory.entries, *added.values())) if added else inventory


def survivors(candidates: Iterable[InventoryEntry], outcome: Mapping[Identity, Pruned]) -> list[InventoryEntry]:
    """What was to be pruned and may still be there: it stays in the inventory, so that it is not forgotten.

    An object that was skipped on purpose is nobody's any more. One without an outcome was never reached.
    """
    return [entry for entry in candidates if outcome.get(entry.identity, "unknown") == "unknown"]


def readable(inventory: Inventory | None) -> Inventory | None:
    """The inventory without entries that name no object: they were written by hand, and nothing is deleted for them."""
    if inventory is None:
        return None
    kept = tuple(entry for entry in inventory.entries if _names_object(entry))
    return inventory if len(kept) == len(inventory.entries) else Inventory(entries=kept)


def _names_object(entry: InventoryEntry) -> bool:
    try:
        return bool(entry.identity)
    except InvalidInventoryId:
        return False
