"""Fields in which the cluster may differ: what is compared, and what is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from penstock.api.references import IgnoreRule, Selector
from penstock.apply import ApplyFailed, BadIgnoreRule
from penstock.apply.ignore import IgnoreRules, owns, parse, resolved, without
from penstock.kube.resources import CONFIG_MAPS, DEPLOYMENTS
from tests.apply.world import MANAGER, actions, apply, config_map, deployment, edit, live, managers

if TYPE_CHECKING:
    from penstock.kube import Object
    from tests.clusters import Cluster

pytestmark = pytest.mark.scenario("22.11 Drift ignore")


def rule(*paths: str, **target: str) -> IgnoreRule:
    return IgnoreRule(paths=paths, target=Selector(**target) if target else None)


async def test_rules_mean_nothing_when_the_object_is_created(cluster: Cluster) -> None:
    wanted = config_map(cluster, managed="1", free="1")
    await apply(cluster, [wanted], ignore=[rule("/data/free")])
    assert (await live(cluster, wanted))["data"] == {"managed": "1", "free": "1"}


async def test_a_difference_in_ignored_fields_is_none(cluster: Cluster) -> None:
    wanted = config_map(cluster, managed="1", free="1")
    await apply(cluster, [wanted])
    await edit(cluster.client, wanted, {"data": {"free": "2"}}, manager="somebody")
    assert actions(await apply(cluster, [wanted], ignore=[rule("/data/free")])) == {"ConfigMap/settings": "unchanged"}
    assert actions(await apply(cluster, [wanted])) == {"ConfigMap/settings": "configured"}


async def test_an_edited_value_is_adopted_when_the_object_is_applied_anyway(cluster: Cluster) -> None:
    await apply(cluster, [config_map(cluster, managed="1", free="1")])
    await edit(cluster.client, config_map(cluster), {"data": {"free": "2"}}, manager="somebody")
    changes = await apply(cluster, [config_map(cluster, managed="2", free="1")], ignore=[rule("/data/free")])
    assert actions(changes) == {"ConfigMap/settings": "configured"}
    found = await live(cluster, config_map(cluster))
    assert found["data"] == {"managed": "2", "free": "2"}


async def test_clean_up_and_ignored_field_together_keep_the_edited_value(cluster: Cluster) -> None:
    """Kubectl edited the field: its ownership becomes ours, its value stays."""
    await apply(cluster, [config_map(cluster, managed="1", free="1")])
    await edit(cluster.client, config_map(cluster), {"data": {"free": "2"}}, manager="kubectl-edit")
    changes = await apply(cluster, [config_map(cluster, managed="1", free="1")], ignore=[rule("/data/free")])
    assert actions(changes) == {"ConfigMap/settings": "configured"}
    found = await live(cluster, config_map(cluster))
    assert found["data"] == {"managed": "1", "free": "2"}
    assert managers(found) == {(MANAGER, "Apply")}


async def test_a_field_that_another_applies_is_given_up(cluster: Cluster) -> None:
    await apply(cluster, [deployment(cluster, replicas=1)])
    scaled = {**deployment(cluster), "spec": {"replicas": 3}}
    await cluster.client.apply(DEPLOYMENTS, scaled, manager="autoscaler", force=True)
    ignore = [rule("/spec/replicas", kind="Deployment")]
    assert actions(await apply(cluster, [deployment(cluster, replicas=1)], ignore=ignore)) == {
        "Deployment/web": "unchanged"
    }
    changes = await apply(cluster, [deployment(cluster, replicas=1, minReadySeconds=5)], ignore=ignore)
    assert actions(changes) == {"Deployment/web": "configured"}
    found = await live(cluster, deployment(cluster))
    assert (found["spec"]["replicas"], found["spec"]["minReadySeconds"]) == (3, 5)
    ours = next(entry for entry in found["metadata"]["managedFields"] if entry["manager"] == MANAGER)
    assert "f:replicas" not in ours["fieldsV1"]["f:spec"]


async def test_resources_of_a_container_are_found_by_index(cluster: Cluster) -> None:
    def sized(memory: str, image: str) -> Object:
        wanted = deployment(cluster)
        (container,) = wanted["spec"]["template"]["spec"]["containers"]
        container |= {"image": image, "resources": {"requests": {"memory": memory}}}
        return wanted

    await apply(cluster, [sized("64Mi", "example.com/app:1")])
    container = {"name": "app", "resources": {"requests": {"memory": "128Mi"}}}
    resized = {**deployment(cluster), "spec": {"template": {"spec": {"containers": [container]}}}}
    await cluster.client.apply(DEPLOYMENTS, resized, manager="sizer", force=True)
    path = "/spec/template/spec/containers/0/resources/requests/memory"
    await apply(cluster, [sized("64Mi", "example.com/app:2")], ignore=[rule(path)])
    (found,) = (await live(cluster, deployment(cluster)))["spec"]["template"]["spec"]["containers"]
    assert (found["image"], found["resources"]["requests"]) == ("example.com/app:2", {"memory": "128Mi"})


async def test_a_value_that_nobody_owns_any_more_is_adopted(cluster: Cluster) -> None:
    """The other manager leaves the field behind: ours keeps the value, and owns it again."""
    await apply(cluster, [config_map(cluster, managed="1", free="1")])
    theirs = {**config_map(cluster), "data": {"free": "2"}}
    theirs["metadata"] = {"name": "settings", "namespace": cluster.namespace}
    await cluster.client.apply(CONFIG_MAPS, theirs, manager="other", force=True)
    ignore = [rule("/data/free")]
    await apply(cluster, [config_map(cluster, managed="2", free="1")], ignore=ignore)
    await edit(cluster.client, config_map(cluster), {"data": {"free": "3"}}, manager="somebody")
    await apply(cluster, [config_map(cluster, managed="3", free="1")], ignore=ignore)
    found = await live(cluster, config_map(cluster))
    assert found["data"] == {"managed": "3", "free": "3"}
    ours = next(entry for entry in found["metadata"]["managedFields"] if entry["manager"] == MANAGER)
    assert "f:free" in ours["fieldsV1"]["f:data"]


@pytest.mark.parametrize(
    "wrong",
    [
        rule("/data/x", name="(unclosed"),
        rule("/data/x", label_selector="a in b"),
        rule("/data/x", annotation_selector="=x"),
    ],
)
async def test_a_selector_that_makes_no_sense(cluster: Cluster, wrong: IgnoreRule) -> None:
    with pytest.raises(BadIgnoreRule, match=r"^spec\.ignore: "):
        await apply(cluster, [config_map(cluster)], ignore=[wrong])


async def test_an_immutable_field_that_does_not_differ_is_still_sent(cluster: Cluster) -> None:
    await apply(cluster, [deployment(cluster)])
    changes = await apply(cluster, [deployment(cluster, replicas=2)], ignore=[rule("/spec/selector", "/spec/template")])
    assert actions(changes) == {"Deployment/web": "configured"}
    moved = deployment(cluster, selector={"matchLabels": {"app": "other"}})
    moved["spec"]["template"]["metadata"]["labels"] = {"app": "other"}
    with pytest.raises(ApplyFailed, match="immutable"):
        await apply(cluster, [moved])


THING: Object = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "apps", "labels": {"tier": "front"}, "annotations": {"a": "b"}},
    "spec": {"replicas": 1},
}


@pytest.mark.parametrize(
    ("target", "matches"),
    [
        ({}, True),
        ({"kind": "Deploy.*"}, True),
        ({"kind": "Deploy"}, False),
        ({"group": "apps", "version": "v1", "name": "w.b", "namespace": "apps"}, True),
        ({"group": ""}, True),
        ({"group": "batch"}, False),
        ({"label_selector": "tier in (front, back)"}, True),
        ({"label_selector": "!tier"}, False),
        ({"annotation_selector": "a=b"}, True),
        ({"annotation_selector": "a!=b"}, False),
    ],
)
def test_whom_a_rule_is_for(target: dict[str, str], matches: bool) -> None:
    assert bool(IgnoreRules([IgnoreRule(paths=("/spec",), target=Selector(**target))]).pointers(THING)) is matches


def test_rules_add_up() -> None:
    """Several rules without a target are one rule with all their paths."""
    rules = IgnoreRules([rule("/a"), rule("/b", "/a"), rule("/c", kind="Job")])
    assert rules.pointers(THING) == [("a",), ("b",)]


def test_a_hostile_pattern_takes_no_time() -> None:
    """A9."""
    thing = {**THING, "metadata": {"name": "a" * 200 + "b"}}
    assert IgnoreRules([rule("/a", name="(a+)+$")]).pointers(thing) == []


@pytest.mark.parametrize(
    ("path", "expected"),
    [("/a/b", ("a", "b")), ("/a~1b/~0", ("a/b", "~")), ("a/b", ()), ("", ()), ("/", ("",))],
)
def test_pointers(path: str, expected: tuple[str, ...]) -> None:
    assert parse(path) == expected


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        pytest.param(["/m/x"], {"m": {"y": 2}, "l": [1, 2, 3]}, id="a field"),
        pytest.param(["/m/z", "/n/x", "/l/9", "/l/x", "/m/x/y"], None, id="what is not there is no matter"),
        pytest.param(["/l/0", "/l/1"], {"m": {"x": 1, "y": 2}, "l": [3]}, id="items keep their numbers"),
        pytest.param(["no pointer"], None, id="no pointer"),
    ],
)
def test_without(paths: list[str], expected: Object | None) -> None:
    thing: Object = {"m": {"x": 1, "y": 2}, "l": [1, 2, 3]}
    pointers = [pointer for path in paths if (pointer := parse(path))]
    assert without(thing, pointers) == (expected or {"m": {"x": 1, "y": 2}, "l": [1, 2, 3]})
    assert thing == {"m": {"x": 1, "y": 2}, "l": [1, 2, 3]}


def entry(manager: str, fields: Object, **more: str) -> Object:
    return {"manager": manager, "operation": "Apply", "fieldsV1": fields, **more}


@pytest.mark.parametrize(
    ("live_data", "planned_data", "others", "expected"),
    [
        pytest.param({"x": 2, "y": 1}, {"x": 1, "y": 1}, [], {"x": 2, "y": 1}, id="adopted"),
        pytest.param(
            {"x": 2, "y": 1},
            {"x": 1, "y": 1},
            [entry("other", {"f:data": {"f:x": {}}})],
            {"y": 1},
            id="given up: another applies it",
        ),
        pytest.param(
            {"x": 2, "y": 1},
            {"x": 1, "y": 1},
            [entry("other", {"f:data": {"f:x": {}}}, subresource="scale"), entry(MANAGER, {"f:data": {"f:x": {}}})],
            {"x": 2, "y": 1},
            id="ourselves and subresources do not count",
        ),
        pytest.param({"y": 1}, {"x": 1, "y": 1}, [], {"y": 1}, id="deleted in the cluster"),
        pytest.param({"x": 1, "y": 1}, {"x": 1, "y": 2}, [], {"x": 1, "y": 1}, id="only what differs"),
    ],
)
def test_what_is_sent(live_data: Object, planned_data: Object, others: list[Object], expected: Object) -> None:
    live_object = {"metadata": {"managedFields": others}, "data": live_data}
    payload: Object = {"data": {"x": 1, "y": 1}}
    sent = resolved(payload, live_object, {"data": planned_data}, [("data", "x"), ("data", "q")], manager=MANAGER)
    assert sent == {"data": expected}
    assert payload == {"data": {"x": 1, "y": 1}}


@pytest.mark.parametrize(
    ("fields", "path", "expected"),
    [
        ({"f:spec": {"f:replicas": {}}}, "/spec/replicas", True),
        ({"f:spec": {"f:replicas": {}}}, "/spec/other", False),
        ({"f:spec": {}}, "/spec/replicas", True),
        ({"f:spec": {".": {}}}, "/spec/replicas", False),
        ({"f:spec": {"f:list": {'k:{"name":"b"}': {"f:size": {}}}}}, "/spec/list/1/size", True),
        ({"f:spec": {"f:list": {'k:{"name":"b"}': {"f:size": {}}}}}, "/spec/list/0/size", False),
        ({"f:spec": {"f:set": {'v:"x"': {}}}}, "/spec/set/0", True),
        ({"f:spec": {"f:list": {"i:0": {}}}}, "/spec/list/0", True),
        ({}, "/spec", False),
    ],
)
def test_who_owns_a_path(fields: Object, path: str, expected: bool) -> None:
    thing: dict[str, Any] = {
        "spec": {"replicas": 1, "list": [{"name": "a", "size": 1}, {"name": "b", "size": 2}], "set": ["x"]}
    }
    assert owns(fields, thing, parse(path)) is expected
