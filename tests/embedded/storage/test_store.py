"""The store by itself: revisions, order, history, subscribers."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.embedded.storage import Change, Compacted, Retention, Stale, Storage

MAPS = "/configmaps"


def made(name: str, value: str = "", **labels: str) -> dict[str, Any]:
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name, "labels": labels}, "value": value}


def put(store: Storage, namespace: str, name: str, value: str = "") -> int:
    return store.put(MAPS, namespace, name, made(name, value)).revision


def keys(store: Storage, namespace: str = "") -> list[str]:
    return [record.key for record in store.list(MAPS, namespace)]


async def test_every_write_has_a_revision_of_its_own() -> None:
    store = Storage()
    first, second = put(store, "a", "x"), put(store, "b", "y")
    deleted = store.delete(MAPS, "a", "x").revision
    assert (second, deleted) == (first + 1, first + 2)
    assert store.revision == deleted


async def test_the_object_carries_its_revision() -> None:
    store = Storage()
    change = store.put(MAPS, "a", "x", made("x"))
    assert change.object()["metadata"]["resourceVersion"] == str(change.revision)
    gone = store.delete(MAPS, "a", "x")
    assert gone.object()["metadata"]["resourceVersion"] == str(gone.revision)


@pytest.mark.parametrize(
    ("namespace", "expected"),
    [
        pytest.param("", ["a-b/x", "a/x", "a/y", "ab/x"], id="all, in the order of their keys as etcd has it"),
        pytest.param("a", ["a/x", "a/y"], id="one namespace, not those that begin alike"),
        pytest.param("nope", [], id="a namespace without objects"),
    ],
)
async def test_lists_are_in_order(namespace: str, expected: list[str]) -> None:
    store = Storage()
    for place, name in (("ab", "x"), ("a", "y"), ("a-b", "x"), ("a", "x")):
        put(store, place, name)
    assert keys(store, namespace) == expected


@pytest.mark.parametrize(
    ("expected", "fits"),
    [
        pytest.param(None, True, id="any revision"),
        pytest.param(0, False, id="not there"),
        pytest.param(-1, True, id="the stored one"),
        pytest.param(1, False, id="an older one"),
    ],
)
async def test_a_writer_can_insist_on_a_revision(expected: int | None, fits: bool) -> None:
    store = Storage()
    stored = put(store, "a", "x")
    wanted = stored if expected == -1 else expected
    if fits:
        store.put(MAPS, "a", "x", made("x"), expected=wanted)
        return
    with pytest.raises(Stale):
        store.put(MAPS, "a", "x", made("x"), expected=wanted)
    assert store.revision == stored


async def test_a_list_can_be_wound_back() -> None:
    store = Storage()
    put(store, "a", "kept", "old")
    put(store, "a", "gone")
    then = store.revision
    put(store, "a", "kept", "new")
    store.delete(MAPS, "a", "gone")
    put(store, "a", "later")
    put(store, "b", "elsewhere")
    assert [(each.key, each.object()["value"]) for each in store.list_at(MAPS, "a", then)] == [
        ("a/gone", ""),
        ("a/kept", "old"),
    ]
    assert keys(store, "a") == ["a/kept", "a/later"]


async def test_history_is_kept_by_number() -> None:
    store = Storage(retention=Retention(changes=3))
    revisions = [put(store, "a", f"n{number}") for number in range(6)]
    assert [change.revision for change in store.since(MAPS, revisions[2])] == revisions[3:]
    with pytest.raises(Compacted, match=f"too old resource version: {revisions[1]} \\({revisions[2]}\\)"):
        store.since(MAPS, revisions[1])
    with pytest.raises(Compacted):
        store.list_at(MAPS, "a", revisions[1])


async def test_history_is_kept_by_age() -> None:
    now = 0.0
    store = Storage(retention=Retention(seconds=300), clock=lambda: now)
    early = put(store, "a", "early")
    now = 200.0
    put(store, "a", "middle")
    assert store.compacted == 0
    now = 301.0
    put(store, "a", "late")
    assert store.compacted == early


async def test_compaction_on_request() -> None:
    store = Storage()
    first, second = put(store, "a", "x"), put(store, "a", "y")
    store.compact(first)
    assert [change.revision for change in store.since(MAPS, first)] == [second]
    with pytest.raises(Compacted):
        store.since(MAPS, first - 1)


async def test_subscribers_hear_of_their_collections() -> None:
    store = Storage()
    maps: list[Change] = []
    everything: list[Change] = []
    end = store.subscribe(maps.append, [MAPS])
    store.subscribe(everything.append)
    put(store, "a", "x")
    store.put("/secrets", "a", "x", made("x"))
    put(store, "a", "x", "new")
    store.delete(MAPS, "a", "x")
    end()
    put(store, "a", "y")
    assert [change.type for change in maps] == ["ADDED", "MODIFIED", "DELETED"]
    assert [change.record.collection for change in everything] == [MAPS, "/secrets", MAPS, MAPS, MAPS]


async def test_an_object_that_leaves_a_selection_is_shown_as_it_was() -> None:
    store = Storage()
    store.put(MAPS, "a", "x", made("x", "old", app="web"))
    change = store.put(MAPS, "a", "x", made("x", "new"))
    seen = change.seen_as("DELETED").object()
    assert (seen["value"], seen["metadata"]["resourceVersion"]) == ("old", str(change.revision))
    assert change.seen_as("MODIFIED").object()["value"] == "new"


async def test_records_do_not_change_with_the_copies_made_of_them() -> None:
    store = Storage()
    record = store.put(MAPS, "a", "x", made("x", app="web")).record
    record.object()["metadata"]["labels"]["app"] = "other"
    assert record.object()["metadata"]["labels"] == record.labels == {"app": "web"}
