"""What an apply would do is told before it does it, and it then does just that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from penstock.api.inventory import Inventory, InventoryEntry
from penstock.api.references import IgnoreRule
from penstock.apply import Applier, ApplyFailed, Discretion, FieldChange, Preview
from penstock.apply.fieldchanges import HIDDEN, field_changes
from penstock.kube import ObjectRef
from tests.apply.world import (
    OWNER,
    SERVICES,
    actions,
    annotated,
    apply,
    config_map,
    deployment,
    edit,
    exists,
    live,
    namespace_object,
    obj,
    secret,
    widgets,
)

if TYPE_CHECKING:
    from penstock.kube import Object
    from tests.clusters import Cluster


async def preview(cluster: Cluster, objects: list[Object], **options: Any) -> Preview:
    return await Applier(cluster.client).preview(objects, owner=OWNER, **options)


def told(found: Preview) -> dict[str, str]:
    return {f"{one.ref.kind}/{one.ref.name}": one.action for one in found}


def fields(found: Preview, name: str) -> dict[str, tuple[Any, Any]]:
    (one,) = (difference for difference in found if difference.ref.name == name)
    return {str(change): (change.before, change.after) for change in one.fields}


async def test_nothing_is_written(cluster: Cluster) -> None:
    thing = config_map(cluster, key="value")
    found = await preview(cluster, [thing])
    assert told(found) == {"ConfigMap/settings": "created"}
    assert found
    assert not await exists(cluster, thing)


async def test_what_is_as_it_should_be_is_no_difference(cluster: Cluster) -> None:
    things = [config_map(cluster, key="value"), deployment(cluster), secret(cluster, password="x")]
    await apply(cluster, things)
    found = await preview(cluster, things)
    assert not found
    assert found.counts() == {"unchanged": 3}


async def test_fields_are_told_one_by_one(cluster: Cluster) -> None:
    await apply(cluster, [config_map(cluster, kept="1", changed="1", dropped="1"), deployment(cluster)])
    wished = deployment(cluster, replicas=2)
    wished["spec"]["template"]["spec"]["containers"][0]["image"] = "example.com/app:2"
    found = await preview(cluster, [config_map(cluster, kept="1", changed="2", added="1"), wished])
    assert fields(found, "settings") == {
        "data.changed": ("1", "2"),
        "data.dropped": ("1", None),
        "data.added": (None, "1"),
    }
    assert fields(found, "web") == {
        "spec.replicas": (0, 2),
        "spec.template.spec.containers[app].image": ("example.com/app:1", "example.com/app:2"),
    }


async def test_values_of_secrets_are_not_shown_unless_asked_for(cluster: Cluster) -> None:
    await apply(cluster, [secret(cluster, kept="a", changed="old")])
    wished = [secret(cluster, kept="a", changed="new", added="b")]
    hidden = await preview(cluster, wished)
    assert fields(hidden, "keys") == {"data.changed": (HIDDEN, HIDDEN), "data.added": (None, HIDDEN)}
    shown = await preview(cluster, wished, discretion=Discretion(reveal=True))
    assert fields(shown, "keys")["data.changed"] == ("b2xk", "bmV3")


async def test_other_objects_can_be_hidden_too(cluster: Cluster) -> None:
    await apply(cluster, [config_map(cluster, token="old")])
    wished = config_map(cluster, token="new")
    found = await preview(cluster, [wished], discretion=Discretion(hidden={ObjectRef.of(wished)}))
    assert fields(found, "settings") == {"data.token": (HIDDEN, HIDDEN)}


async def test_what_the_set_lacks_is_pruned(cluster: Cluster) -> None:
    kept, gone = config_map(cluster, "kept"), config_map(cluster, "gone")
    guarded = annotated(config_map(cluster, "guarded"), prune="disabled")
    before = (await apply(cluster, [kept, gone, guarded])).inventory()
    found = await preview(cluster, [kept], before=before, prunes=True)
    assert told(found) == {"ConfigMap/gone": "deleted"}
    assert found.counts() == {"unchanged": 1, "deleted": 1, "skipped": 1}
    assert await exists(cluster, gone)
    assert not await preview(cluster, [kept], before=before, prunes=False)


async def test_what_is_gone_already_would_not_be_deleted(cluster: Cluster) -> None:
    gone = config_map(cluster, "gone")
    before = (await apply(cluster, [gone])).inventory()
    resource = await cluster.client.discovery.resource("v1", "ConfigMap")
    await cluster.client.delete(resource, "gone", cluster.namespace)
    assert not await preview(cluster, [], before=before, prunes=True)


async def test_an_inventory_written_by_hand_deletes_nothing(cluster: Cluster) -> None:
    before = Inventory(entries=(InventoryEntry(id="nonsense", v="v1"),))
    assert not await preview(cluster, [], before=before, prunes=True)


async def test_ignored_fields_are_no_difference(cluster: Cluster) -> None:
    await apply(cluster, [deployment(cluster, replicas=0)])
    rules = [IgnoreRule(paths=("/spec/replicas",))]
    wished = deployment(cluster, replicas=3, paused=True)
    assert not await preview(cluster, [deployment(cluster, replicas=3)], ignore=rules)
    assert fields(await preview(cluster, [wished], ignore=rules), "web") == {"spec.paused": (None, True)}


async def test_an_immutable_field_is_refused_or_the_object_made_anew(cluster: Cluster) -> None:
    await apply(cluster, [deployment(cluster)])
    wished = deployment(cluster)
    wished["spec"]["selector"] = {"matchLabels": {"app": "other"}}
    wished["spec"]["template"]["metadata"]["labels"] = {"app": "other"}
    with pytest.raises(ApplyFailed, match=r"Deployment/.*/web dry-run failed"):
        await preview(cluster, [wished])
    found = await preview(cluster, [wished], force=True)
    assert told(found) == {"Deployment/web": "recreated"}
    assert fields(found, "web")["spec.selector.matchLabels.app"] == ("web", "other")


async def test_what_the_set_brings_itself_is_counted_on(cluster: Cluster) -> None:
    group = f"{cluster.namespace}.example.com"
    definition = widgets(group)
    space = f"{cluster.namespace}-b"
    widget = {
        "apiVersion": f"{group}/v1",
        "kind": "Widget",
        "metadata": {"name": "one", "namespace": cluster.namespace},
        "spec": {"size": 1},
    }
    inside = {**config_map(cluster), "metadata": {"name": "settings", "namespace": space}}
    found = await preview(cluster, [definition, widget, namespace_object(space), inside])
    assert set(told(found).values()) == {"created"}
    assert len(found) == 4


async def test_an_object_that_the_server_refuses_ends_it(cluster: Cluster) -> None:
    ports = [{"port": 0, "name": "x"}]
    with pytest.raises(ApplyFailed, match="Service/"):
        await preview(cluster, [obj(SERVICES, "bad", cluster.namespace, spec={"ports": ports})])


async def test_what_kubectl_added_is_dropped_by_the_preview_as_by_the_apply(cluster: Cluster) -> None:
    thing = deployment(cluster)
    await apply(cluster, [thing])
    container = {"name": "app", "env": [{"name": "DEBUG", "value": "1"}]}
    sidecar = {"name": "sidecar", "image": "example.com/sidecar:1"}
    await edit(
        cluster.client,
        thing,
        {
            "metadata": {"annotations": {"who": "me", "kubectl.kubernetes.io/last-applied-configuration": "{}"}},
            "spec": {"paused": True, "template": {"spec": {"nodeSelector": {"a": "b"}}}},
        },
    )
    resource = await cluster.client.discovery.resource("apps/v1", "Deployment")
    patch = {"spec": {"template": {"spec": {"containers": [container, sidecar]}}}}
    await cluster.client.patch(resource, "web", cluster.namespace, patch, kind="strategic", manager="kubectl-patch")
    before = await live(cluster, thing)
    found = await preview(cluster, [thing])
    promised = fields(found, "web")
    assert set(promised) == {
        "metadata.annotations.who",
        "metadata.annotations[kubectl.kubernetes.io/last-applied-configuration]",
        "spec.paused",
        "spec.template.spec.nodeSelector.a",
        "spec.template.spec.containers[app].env",
        "spec.template.spec.containers[sidecar]",
    }
    await apply(cluster, [thing])
    done = field_changes(before, await live(cluster, thing))
    assert {str(change) for change in done if "revision" not in str(change)} == set(promised)


async def test_what_others_apply_stays(cluster: Cluster) -> None:
    thing = config_map(cluster, ours="1")
    await apply(cluster, [thing])
    theirs = {**config_map(cluster, theirs="1"), "metadata": {"name": "settings", "namespace": cluster.namespace}}
    resource = await cluster.client.discovery.resource("v1", "ConfigMap")
    await cluster.client.apply(resource, theirs, manager="somebody")
    await edit(cluster.client, thing, {"data": {"edited": "1"}})
    assert fields(await preview(cluster, [thing]), "settings") == {"data.edited": ("1", None)}
    await apply(cluster, [thing])
    assert (await live(cluster, thing))["data"] == {"ours": "1", "theirs": "1"}


async def test_what_is_promised_is_what_is_done(cluster: Cluster) -> None:
    before = (await apply(cluster, [config_map(cluster, "a", k="1"), config_map(cluster, "gone")])).inventory()
    wished = [config_map(cluster, "a", k="2"), config_map(cluster, "b"), secret(cluster)]
    found = await preview(cluster, wished, before=before, prunes=True)
    done = await apply(cluster, wished)
    assert told(found) == {**actions(done), "ConfigMap/gone": "deleted"}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param({"a": 1}, {"a": 1}, [], id="equal"),
        pytest.param({"a": 1}, {"a": True}, ["a"], id="a number is not a boolean"),
        pytest.param({"a": None}, {"a": {}}, [], id="nothing in whatever form is nothing"),
        pytest.param({}, {"a": {"b": 1, "c": 2}}, ["a.b", "a.c"], id="a map is taken apart"),
        pytest.param({"a": [1, 2]}, {"a": [1, 3, 4]}, ["a[1]", "a[2]"], id="items by their place"),
        pytest.param(
            {"a": [{"name": "x", "v": 1}, {"name": "y", "v": 1}]},
            {"a": [{"name": "y", "v": 1}, {"name": "z", "v": 1}]},
            ["a[x]", "a[z]"],
            id="items by their name",
        ),
        pytest.param(
            {"a": [{"name": "x"}, {"name": "y"}]}, {"a": [{"name": "y"}, {"name": "x"}]}, ["a"], id="only the order"
        ),
        pytest.param(
            {"metadata": {"uid": "1", "labels": {"a/b": "1"}}, "status": {"c": 1}},
            {"metadata": {"uid": "2", "labels": {"a/b": "2"}}, "status": {"c": 2}},
            ["metadata.labels[a/b]"],
            id="of metadata labels and annotations, of status nothing",
        ),
    ],
)
def test_field_changes(before: Object, after: Object, expected: list[str]) -> None:
    assert [str(change) for change in field_changes(before, after)] == expected


def test_a_hidden_change_still_says_what_kind_it_is() -> None:
    assert FieldChange(("a",), "added", after="secret").hidden() == FieldChange(("a",), "added", None, HIDDEN)
    assert FieldChange(("a",), "removed", "secret").hidden() == FieldChange(("a",), "removed", HIDDEN, None)
