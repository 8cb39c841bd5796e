"""The inventory as a value; the ids are those of the scenarios in the specification of Kustomizations."""

from __future__ import annotations

import pytest

from penstock.api.inventory import Identity, Inventory, InventoryEntry
from penstock.apply.inventory import Pruned, identities, merged, readable, stale, survivors


def _entries(names: str) -> tuple[InventoryEntry, ...]:
    return tuple(InventoryEntry(id=_identity(name).id, v="v1") for name in names.split())


def _identity(name: str) -> Identity:
    return Identity("", "ConfigMap", "default", name)


def _names(entries: list[InventoryEntry]) -> str:
    return " ".join(entry.identity.name for entry in entries)


@pytest.mark.parametrize(
    ("candidates", "outcome", "left"),
    [
        pytest.param("a b c", {}, "a b c", id="PruneSurvivors/no change set: all survive"),
        pytest.param("a b c", {"a": "deleted", "b": "skipped"}, "c", id="PruneSurvivors/deleted and skipped are gone"),
        pytest.param(
            "a b c", {"a": "deleted", "b": "unknown", "c": "unknown"}, "b c", id="PruneSurvivors/unknown ones survive"
        ),
        pytest.param("", {"a": "deleted"}, "", id="PruneSurvivors/empty input: empty output"),
    ],
)
def test_survivors(candidates: str, outcome: dict[str, Pruned], left: str) -> None:
    known: dict[Identity, Pruned] = {_identity(name): what for name, what in outcome.items()}
    assert _names(survivors(_entries(candidates), known)) == left


def test_every_entry_is_listed() -> None:
    """Inventory/list and metadata list have as many elements as entries."""
    assert [one.name for one in identities(Inventory(entries=_entries("test1 test2")))] == ["test1", "test2"]
    assert identities(None) == []


@pytest.mark.parametrize(
    ("previous", "applied", "expected"),
    [
        pytest.param("test1 test2", "test1", "test2", id="Inventory/diff of the larger against the smaller"),
        pytest.param("test1", "test1 test2", "", id="what is new is not stale"),
        pytest.param("b a", "", "b a", id="nothing applied: all of it, in the old order"),
    ],
)
def test_stale(previous: str, applied: str, expected: str) -> None:
    found = stale(Inventory(entries=_entries(previous)), Inventory(entries=_entries(applied)))
    assert _names(found) == expected


def test_a_version_bump_is_the_same_object() -> None:
    old = Inventory(entries=(InventoryEntry(id="shop_web_networking.k8s.io_Ingress", v="v1beta1"),))
    new = Inventory(entries=(InventoryEntry(id="shop_web_networking.k8s.io_Ingress", v="v1"),))
    assert stale(old, new) == []


def test_merge_adds_a_stale_object_once() -> None:
    """Inventory/merge adds one entry, a second merge adds none."""
    once = merged(Inventory(entries=_entries("test1")), _entries("test2"))
    assert once == Inventory(entries=_entries("test1 test2"))
    assert merged(once, _entries("test2")) == once


def test_merge_of_nothing_does_nothing() -> None:
    """Inventory/merge with nil inventory or nil objects does nothing."""
    inventory = Inventory(entries=_entries("test1"))
    assert merged(None, _entries("test2")) is None
    assert merged(inventory, None) is inventory


def test_entries_that_name_no_object_are_left_out() -> None:
    good = _entries("a b")
    assert readable(Inventory(entries=(good[0], InventoryEntry(id="nonsense", v="v1"), good[1]))) == Inventory(
        entries=good
    )
    assert readable(None) is None
