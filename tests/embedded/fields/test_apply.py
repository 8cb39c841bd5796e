"""Server-side apply: what becomes of the object and of those who manage its fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from penstock.embedded.fields import ApplyError, FieldConflict, TypedError, apply, unreadable
from tests.embedded.fields.objects import (
    LATER,
    NOON,
    applied,
    config,
    deployment,
    managers,
    schema_of,
    stored,
    times,
    updated,
    widget,
)

if TYPE_CHECKING:
    from penstock.kube.resources import Object

WEB = {"name": "web", "image": "web:1"}


def test_create() -> None:
    made = applied(None, config(a="1"))
    assert made["data"] == {"a": "1"}
    assert made["metadata"]["managedFields"] == [
        {
            "manager": "alpha",
            "operation": "Apply",
            "apiVersion": "v1",
            "time": NOON,
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {"f:a": {}}},
        }
    ]


def test_what_is_no_longer_applied_goes() -> None:
    live = applied(None, config(a="1", b="2"))
    assert applied(live, config(a="1"))["data"] == {"a": "1"}


def test_what_somebody_else_applies_too_stays() -> None:
    live = applied(applied(None, config(a="1", b="2")), config(b="2"), "beta")
    made = applied(live, config(a="1"))
    assert made["data"] == {"a": "1", "b": "2"}
    assert managers(made) == {"alpha Apply": {"f:data": {"f:a": {}}}, "beta Apply": {"f:data": {"f:b": {}}}}


def test_the_same_value_is_shared() -> None:
    live = applied(None, config(a="1"))
    made = applied(live, config(a="1"), "beta", now=LATER)
    assert managers(made) == {"alpha Apply": {"f:data": {"f:a": {}}}, "beta Apply": {"f:data": {"f:a": {}}}}
    assert times(made) == {"alpha Apply": NOON, "beta Apply": None}, "nothing changed, so there is no time to tell"


def test_another_value_is_a_conflict() -> None:
    live = applied(None, config(a="1", b="1"))
    with pytest.raises(FieldConflict) as caught:
        applied(live, config(a="2"), "beta")
    assert str(caught.value) == 'Apply failed with 1 conflict: conflict with "alpha": .data.a'
    assert caught.value.causes == (('conflict with "alpha"', ".data.a"),)


def test_conflicts_with_several_managers_are_grouped() -> None:
    live = updated(
        applied(None, config(a="1", b="1")), {**config(a="1", b="1", c="1"), "metadata": {"uid": "1"}}, "beta"
    )
    with pytest.raises(FieldConflict) as caught:
        applied(live, config(b="2", a="2", c="2"), "gamma")
    assert str(caught.value) == (
        "Apply failed with 3 conflicts: "
        'conflicts with "alpha":\n- .data.a\n- .data.b\n'
        'conflicts with "beta" using v1:\n- .data.c'
    )


def test_force_takes_the_field() -> None:
    live = applied(None, config(a="1", b="1"))
    made = applied(live, config(a="2"), "beta", force=True, now=LATER)
    assert made["data"] == {"a": "2", "b": "1"}
    assert managers(made) == {"alpha Apply": {"f:data": {"f:b": {}}}, "beta Apply": {"f:data": {"f:a": {}}}}
    assert times(made) == {"alpha Apply": NOON, "beta Apply": LATER}


def test_a_manager_who_lost_everything_is_gone() -> None:
    live = applied(None, config(a="1"))
    assert list(managers(applied(live, config(a="2"), "beta", force=True))) == ["beta Apply"]


def test_the_same_again_changes_nothing() -> None:
    live = applied(None, config(a="1"))
    assert applied(live, config(a="1"), now=LATER) == live


def test_fields_that_were_there_before_anybody_applied() -> None:
    live = stored({**config(a="1"), "metadata": {"name": "web", "labels": {"x": "y"}}})
    made = applied(live, config(a="1"))
    assert managers(made) == {
        "alpha Apply": {"f:data": {"f:a": {}}},
        "before-first-apply Update": {
            "f:data": {".": {}, "f:a": {}},
            "f:metadata": {"f:labels": {".": {}, "f:x": {}}},
        },
    }


def test_status_is_managed_apart() -> None:
    live = applied(None, deployment(WEB))
    status: Object = {**deployment(WEB), "status": {"replicas": 1}}
    made = apply(live, status, schema=schema_of(live), manager="alpha", subresource="status", now=LATER)
    assert managers(made)["alpha Apply/status"] == {"f:status": {"f:replicas": {}}}
    assert "f:status" not in managers(applied(None, status))["alpha Apply"]


@pytest.mark.parametrize(
    ("live", "wanted", "expected"),
    [
        pytest.param([("a", "1")], [("b", "1")], ["b"], id="an item that is no longer applied goes"),
        pytest.param([("a", "1"), ("b", "1")], [("b", "2"), ("a", "1")], ["b", "a"], id="in the order of the applier"),
    ],
)
def test_items_of_a_map_list(live: Any, wanted: Any, expected: list[str]) -> None:
    def containers(items: Any) -> list[Object]:
        return [{"name": name, "image": image} for name, image in items]

    made = applied(applied(None, deployment(*containers(live))), deployment(*containers(wanted)))
    assert [each["name"] for each in made["spec"]["template"]["spec"]["containers"]] == expected


def test_items_of_others_keep_their_place() -> None:
    live = applied(None, deployment({"name": "a", "image": "1"}, {"name": "b", "image": "1"}))
    made = applied(live, deployment({"name": "c", "image": "1"}, {"name": "b", "image": "1"}), "beta")
    assert [each["name"] for each in made["spec"]["template"]["spec"]["containers"]] == ["a", "c", "b"]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        pytest.param({"tags": ["a"]}, {"tags": ["b"]}, {"tags": ["a", "b"]}, id="sets are united"),
        pytest.param(
            {"labels": {"a": "1"}}, {"labels": {"b": "1"}}, {"labels": {"a": "1", "b": "1"}}, id="maps are merged"
        ),
        pytest.param(
            {"free": {"a": {"b": 1}}},
            {"free": {"a": {"c": 1}}},
            {"free": {"a": {"b": 1, "c": 1}}},
            id="so is the unknown",
        ),
    ],
)
def test_two_appliers_of_one_field(first: Object, second: Object, expected: Object) -> None:
    assert applied(applied(None, widget(**first)), widget(**second), "beta")["spec"] == expected


@pytest.mark.parametrize(
    ("first", "second", "field"),
    [
        pytest.param({"plain": ["a"]}, {"plain": ["b"]}, ".spec.plain", id="a list with one owner"),
        pytest.param({"whole": {"x": 1}}, {"whole": {"y": 1}}, ".spec.whole", id="a map with one owner"),
        pytest.param({"free": {"a": [1]}}, {"free": {"a": [2]}}, ".spec.free.a", id="an unknown list"),
        pytest.param({"free": {"a": True}}, {"free": {"a": 1}}, ".spec.free.a", id="true is not 1"),
    ],
)
def test_what_has_one_owner(first: Object, second: Object, field: str) -> None:
    with pytest.raises(FieldConflict) as caught:
        applied(applied(None, widget(**first)), widget(**second), "beta")
    assert [path for _, path in caught.value.causes] == [field]


def test_null_takes_nothing_away_from_a_map() -> None:
    live = applied(None, widget(labels={"a": "1"}, size=1))
    made = applied(live, {**widget(labels=None), "spec": {"labels": None, "size": 1}}, "beta")
    assert made["spec"]["labels"] == {"a": "1"}


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        pytest.param(deployment(WEB, foo=1), ".spec.foo: field not declared in schema", id="unknown field"),
        pytest.param(
            deployment(WEB, replicas="x"), ".spec.replicas: expected numeric (int or float), got string", id="no number"
        ),
        pytest.param(deployment(WEB, paused="x"), ".spec.paused: expected boolean, got &{x}", id="no boolean"),
        pytest.param(
            deployment({"name": "web", "image": 7}),
            '.spec.template.spec.containers[name="web"].image: expected string, got &value.valueUnstructured{Value:7}',
            id="no string",
        ),
        pytest.param(
            deployment(WEB, WEB), '.spec.template.spec.containers: duplicate entries for key [name="web"]', id="twice"
        ),
        pytest.param(deployment(WEB, selector=[]), ".spec.selector: expected map, got &{[]}", id="no map"),
        pytest.param(
            deployment(WEB, replicas="x", paused="y"),
            "errors:\n  .spec.replicas: expected numeric (int or float), got string\n"
            "  .spec.paused: expected boolean, got &{y}",
            id="several",
        ),
    ],
)
def test_what_does_not_fit_its_type(wanted: Object, sentence: str) -> None:
    with pytest.raises(TypedError) as caught:
        applied(None, wanted)
    prefix = "failed to create typed patch object (/web; apps/v1, Kind=Deployment): "
    assert str(caught.value) == prefix + sentence


def test_what_its_schema_takes_and_its_type_refuses() -> None:
    quota: Object = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "web"},
        "spec": {"hard": {"pods": "x"}},
    }
    error = unreadable(quota, applied(None, quota), schema_of(quota), "not told: the first mistake is")
    assert (error.code, error.reason) == (500, "")
    assert str(error) == (
        "failed to convert new object (/web; /v1, Kind=ResourceQuota) to proper version: "
        "unable to convert unstructured object to /v1, Kind=ResourceQuota: "
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    )


def test_managed_fields_cannot_be_applied() -> None:
    wanted = {**config(), "metadata": {"name": "web", "managedFields": []}}
    with pytest.raises(ApplyError, match=r"^metadata\.managedFields must be nil$"):
        applied(None, wanted)


def test_managers_of_a_version_that_is_gone_are_forgotten() -> None:
    live = applied(None, config(a="1"))
    live["metadata"]["managedFields"][0]["apiVersion"] = "v0"
    assert list(managers(applied(live, config(b="1"), "beta"))) == ["beta Apply"]


def test_managers_of_another_version_are_compared_in_it() -> None:
    live = applied(None, config(a="1"))
    live["metadata"]["managedFields"][0]["apiVersion"] = "v0"

    def convert(obj: Object, version: str) -> Any:
        return ({**obj, "apiVersion": version}, schema_of(obj)) if version == "v0" else None

    with pytest.raises(FieldConflict):
        apply(live, config(a="2"), schema=schema_of(live), manager="beta", now=NOON, convert=convert)


def test_kubectl_takes_over_what_it_applied_on_the_client_side() -> None:
    last = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"web"},"data":{"a":"1"}}'
    annotated: Object = {"name": "web", "annotations": {"kubectl.kubernetes.io/last-applied-configuration": last}}
    live = updated(None, {**config(a="1"), "metadata": annotated}, "kubectl-client-side-apply")
    made = applied(live, config(a="<2>"), "kubectl")
    assert made["data"] == {"a": "<2>"}
    assert made["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] == (
        '{"apiVersion":"v1","data":{"a":"\\u003c2\\u003e"},"kind":"ConfigMap","metadata":{"name":"web"}}\n'
    )
    with pytest.raises(FieldConflict):
        applied(live, config(a="2"), "somebody")
