"""Generations, statuses and scales: what a write can change, and what it counts as."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from penstock.embedded.kinds import rules

DEPLOYMENT: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "default", "uid": "u", "resourceVersion": "1"},
    "spec": {
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "nginx:1"}]},
        },
    },
}


@pytest.fixture
def stored() -> dict[str, Any]:
    obj = copy.deepcopy(DEPLOYMENT)
    rules("apps", "Deployment").default(obj)
    rules("apps", "Deployment").prepare_create(obj)
    return obj


@pytest.mark.parametrize(
    ("path", "value", "generation"),
    [
        pytest.param(("spec", "replicas"), 2, 2, id="a new spec is a new generation"),
        pytest.param(("metadata", "annotations"), {"a": "b"}, 2, id="so are annotations of a Deployment"),
        pytest.param(("metadata", "labels"), {"a": "b"}, 1, id="labels are not"),
        pytest.param(("metadata", "generation"), 9, 1, id="nobody sets it"),
        pytest.param(("status", "replicas"), 3, 1, id="nor does a status"),
    ],
)
def test_generation(stored: dict[str, Any], path: tuple[str, str], value: Any, generation: int) -> None:
    new = copy.deepcopy(stored)
    new[path[0]][path[1]] = value
    rules("apps", "Deployment").prepare_update(new, stored, "")
    assert new["metadata"]["generation"] == generation
    assert new["status"] == {}


def test_a_write_to_the_status_changes_nothing_else(stored: dict[str, Any]) -> None:
    new = copy.deepcopy(stored)
    new["spec"]["replicas"] = 5
    new["metadata"]["labels"] = {"a": "b"}
    new["status"] = {"replicas": 1}
    rules("apps", "Deployment").prepare_update(new, stored, "status")
    assert new == {**stored, "status": {"replicas": 1}}


def test_a_selector_is_immutable(stored: dict[str, Any]) -> None:
    new = copy.deepcopy(stored)
    new["spec"]["selector"]["matchLabels"]["tier"] = "front"
    new["spec"]["template"]["metadata"]["labels"]["tier"] = "front"
    found = rules("apps", "Deployment").validate_update(new, stored, "")
    assert [(one.reason, one.field, one.message) for one in found] == [
        (
            "FieldValueInvalid",
            "spec.selector",
            'Invalid value: {"matchLabels":{"app":"web","tier":"front"}}: field is immutable',
        )
    ]


def test_scale_and_back(stored: dict[str, Any]) -> None:
    deployment = rules("apps", "Deployment")
    scale = deployment.to_scale(stored)
    assert (scale["kind"], scale["spec"], scale["status"]) == (
        "Scale",
        {"replicas": 1},
        {"replicas": 0, "selector": "app=web"},
    )
    scaled = deployment.from_scale(stored, {**scale, "spec": {"replicas": 4}})
    assert (scaled["spec"]["replicas"], stored["spec"]["replicas"]) == (4, 1)


def test_kinds_without_rules_have_those_of_all() -> None:
    thing = rules("example.com", "Thing")
    obj: dict[str, Any] = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "A", "namespace": "b"}}
    assert [one.field for one in thing.validate_create(obj)] == ["metadata.name"]
