"""Creates, updates and patches: who manages what afterwards."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.embedded.fields import scale_managers, scaled_managers, settled
from tests.embedded.fields.objects import LATER, NOON, applied, config, deployment, managers, times, updated, widget


def test_create_owns_what_was_not_there() -> None:
    made = updated(None, deployment({"name": "web", "image": "web:1", "resources": {}}))
    assert managers(made) == {
        "alpha Update": {
            "f:spec": {
                "f:selector": {},
                "f:template": {
                    "f:metadata": {"f:labels": {".": {}, "f:app": {}}},
                    "f:spec": {
                        "f:containers": {
                            'k:{"name":"web"}': {".": {}, "f:image": {}, "f:name": {}, "f:resources": {}},
                        },
                    },
                },
            }
        }
    }


def test_update_owns_what_changed_and_the_others_lose_it() -> None:
    live = updated(None, config(a="1", b="1"))
    made = updated(live, {**live, "data": {"a": "2", "b": "1", "c": "1"}}, "beta", now=LATER)
    assert managers(made) == {
        "alpha Update": {"f:data": {".": {}, "f:b": {}}},
        "beta Update": {"f:data": {"f:a": {}, "f:c": {}}},
    }
    assert times(made) == {"alpha Update": NOON, "beta Update": LATER}


def test_a_field_that_is_gone_has_no_manager() -> None:
    live = updated(None, config(a="1", b="1"))
    made = updated(live, {**live, "data": {"a": "1"}}, "beta")
    assert managers(made) == {"alpha Update": {"f:data": {".": {}, "f:a": {}}}}


def test_an_update_takes_from_an_applier() -> None:
    live = applied(None, config(a="1"))
    made = updated(live, {**live, "data": {"a": "2"}}, "beta")
    assert managers(made) == {"beta Update": {"f:data": {"f:a": {}}}}


def test_status_belongs_to_the_status_subresource() -> None:
    live = updated(None, {**deployment({"name": "web", "image": "web:1"}), "status": {}})
    changed = {**live, "status": {"replicas": 1}}
    assert managers(updated(live, changed, "beta")) == managers(live)
    made = updated(live, changed, "beta", subresource="status")
    assert managers(made)["beta Update/status"] == {"f:status": {"f:replicas": {}}}


@pytest.mark.parametrize("entries", [pytest.param([], id="an empty list"), pytest.param([{}], id="one empty entry")])
def test_managers_are_forgotten_on_request(entries: list[Any]) -> None:
    live = updated(None, config(a="1"))
    asked = {**live, "metadata": {**live["metadata"], "managedFields": entries}}
    made = updated(live, asked)
    assert managers(made) == {}
    assert managers(updated(made, {**made, "data": {"a": "2"}})) == {}, "and nobody is tracked until the next apply"


def test_managers_sent_by_a_client_count() -> None:
    live = updated(None, config(a="1"))
    entry = {**live["metadata"]["managedFields"][0], "manager": "renamed"}
    asked = {**live, "metadata": {**live["metadata"], "managedFields": [entry]}}
    assert list(managers(updated(live, asked))) == ["renamed Update"]
    assert list(managers(updated(live, asked, subresource="status"))) == ["alpha Update"], "but not in a subresource"


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param({"operation": "Guess"}, id="operation"),
        pytest.param({"apiVersion": ""}, id="no version"),
        pytest.param({"fieldsType": "FieldsV2"}, id="fields type"),
    ],
)
def test_managers_that_cannot_be_read_do_not_count(broken: dict[str, str]) -> None:
    live = updated(None, config(a="1"))
    entry = {**live["metadata"]["managedFields"][0], "manager": "renamed", **broken}
    asked = {**live, "metadata": {**live["metadata"], "managedFields": [entry]}}
    assert list(managers(updated(live, asked))) == ["alpha Update"]


def test_the_oldest_of_many_updaters_become_one() -> None:
    live = updated(None, config(first="1"), "m00")
    for number in range(1, 13):
        data = {**live["data"], f"k{number}": "1"}
        live = updated(live, {**live, "data": data}, f"m{number:02}", now=f"2026-01-01T12:00:{number:02}Z")
    found = managers(live)
    assert list(found) == ["ancient-changes Update", *(f"m{number:02} Update" for number in range(4, 13))]
    assert found["ancient-changes Update"] == {"f:data": {".": {}, "f:first": {}, "f:k1": {}, "f:k2": {}, "f:k3": {}}}


def test_entries_are_sorted_by_operation_time_and_name() -> None:
    live = updated(None, config(a="1"), "zeta", now=LATER)
    live = updated(live, {**live, "data": {"a": "1", "b": "1"}}, "eta", now=LATER)
    live = applied(live, config(c="1"), "theta", now=LATER)
    live = updated(live, {**live, "data": {**live["data"], "d": "1"}}, "omega", now=NOON)
    assert list(managers(live)) == ["theta Apply", "omega Update", "eta Update", "zeta Update"]


def test_a_custom_object_that_does_not_fit_has_no_managers() -> None:
    live = updated(None, widget(size=1))
    assert managers(updated(live, {**live, "spec": {"items": "wrong"}})) == {}, "it is refused a moment later"


def test_without_a_name_the_manager_is_unknown() -> None:
    assert list(managers(updated(None, config(a="1"), ""))) == ["unknown Update"]


def test_times_alone_are_no_change() -> None:
    live = updated(None, config(a="1"))
    entry = {**live["metadata"]["managedFields"][0], "time": LATER}
    new = {**live, "metadata": {**live["metadata"], "managedFields": [entry]}}
    assert settled(live, new) == live
    changed = {**new, "data": {"a": "2"}}
    assert settled(live, changed) == changed


REPLICAS = {"apps/v1": ("f:spec", "f:replicas")}


def test_scaling_takes_the_replicas() -> None:
    live = applied(None, deployment({"name": "web", "image": "web:1"}, replicas=1))
    entries = live["metadata"]["managedFields"]
    assert scale_managers(entries, replicas=REPLICAS) == [
        {**entries[0], "apiVersion": "autoscaling/v1", "fieldsV1": {"f:spec": {"f:replicas": {}}}}
    ]
    scaler = {
        "manager": "hpa",
        "operation": "Update",
        "apiVersion": "autoscaling/v1",
        "time": LATER,
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:replicas": {}}},
        "subresource": "scale",
    }
    found = scaled_managers(entries, [scaler], api_version="apps/v1", replicas=REPLICAS)
    assert "f:replicas" not in found[0]["fieldsV1"]["f:spec"]
    expected = {key: value for key, value in scaler.items() if key != "time"}
    assert found[1] == {**expected, "apiVersion": "apps/v1"}
