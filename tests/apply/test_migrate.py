"""Objects whose field managers are of an API version that their kind has outgrown."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from penstock.apply import Applier, ApplyFailed
from penstock.apply.managers import Rival, cleanup, migration, rivals, taken_over, united
from penstock.kube.resources import CUSTOM_RESOURCE_DEFINITIONS
from tests.apply.world import MANAGER, OWNER, actions, edit, live
from tests.definitions import define

if TYPE_CHECKING:
    from penstock.kube import Object
    from tests.clusters import Cluster


def definition(group: str, *versions: str, defaulted: bool = False) -> Object:
    """A kind; with `defaulted`, its v1 has a field inside of a list, with a default, that v1beta1 does not know."""

    def properties(version: str) -> Object:
        item: Object = {"name": {"type": "string"}}
        if version == "v1" and defaulted:
            item["mode"] = {"type": "string", "default": "Auto"}
        items = {"type": "array", "items": {"type": "object", "properties": item}}
        return {"size": {"type": "integer"}, "items": items}

    def schema(version: str) -> Object:
        spec = {"type": "object", "properties": properties(version)}
        status = {"type": "object", "properties": {"phase": {"type": "string"}}}
        return {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}}

    names = {"plural": "stores", "singular": "store", "kind": "Store", "listKind": "StoreList"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"stores.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": names,
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": version == versions[-1],
                    "schema": schema(version),
                    "subresources": {"status": {}},
                }
                for version in versions
            ],
        },
    }


def store(cluster: Cluster, group: str, version: str, size: int) -> Object:
    metadata = {"name": "one", "namespace": cluster.namespace, "labels": OWNER.labels()}
    return {
        "apiVersion": f"{group}/{version}",
        "kind": "Store",
        "metadata": metadata,
        "spec": {"size": size, "items": [{"name": "a"}]},
    }


@pytest.mark.real  # the embedded cluster fills in defaults when an object is written, not when an old one is read
@pytest.mark.scenario("22.11 MigrateAPIVersion")
@pytest.mark.parametrize("third_party", [False, True], ids=["our own entry is old", "somebody's status entry is old"])
async def test_old_field_managers_are_moved_to_the_new_version(cluster: Cluster, third_party: bool) -> None:
    group = f"{cluster.namespace}.example.com"
    await define(cluster.client, definition(group, "v1beta1"))
    try:
        old = store(cluster, group, "v1beta1", 1)
        applier = Applier(cluster.client, migrate_api_version=True)
        await applier.apply([old], owner=OWNER)
        if third_party:
            resource = await cluster.client.discovery.resource(f"{group}/v1beta1", "Store")
            await cluster.client.patch(
                resource, "one", cluster.namespace, {"status": {"phase": "x"}}, subresource="status", manager="operator"
            )
        await define(cluster.client, definition(group, "v1beta1", "v1"))
        new = store(cluster, group, "v1", 2)
        await edit(cluster.client, new, {"metadata": {"annotations": {"stored": "as-v1"}}}, manager="migrator")
        await define(cluster.client, definition(group, "v1beta1", "v1", defaulted=True))
        await _until_defaulted(cluster, new)
        with pytest.raises(ApplyFailed, match="field not declared in schema"):
            await Applier(cluster.client).apply([new], owner=OWNER)
        assert actions(await applier.apply([new], owner=OWNER)) == {"Store/one": "configured"}
        found = await live(cluster, new)
        assert found["spec"] == {"size": 2, "items": [{"name": "a", "mode": "Auto"}]}
        assert {entry["apiVersion"] for entry in found["metadata"]["managedFields"]} == {f"{group}/v1"}
        assert actions(await applier.apply([new], owner=OWNER)) == {"Store/one": "unchanged"}
    finally:
        await cluster.client.delete(CUSTOM_RESOURCE_DEFINITIONS, f"stores.{group}")


async def _until_defaulted(cluster: Cluster, thing: Object) -> None:
    async with asyncio.timeout(20):
        while True:
            if "mode" in (await live(cluster, thing))["spec"]["items"][0]:
                return
            await asyncio.sleep(0.02)


async def test_entries_of_another_version_are_moved_and_nothing_else_happens(cluster: Cluster) -> None:
    """With an object that would have been unchanged: the patch is a change, the next run finds none."""
    group = f"{cluster.namespace}.example.com"
    await define(cluster.client, definition(group, "v1beta1", "v1"))
    try:
        applier = Applier(cluster.client, migrate_api_version=True)
        await applier.apply([store(cluster, group, "v1beta1", 1)], owner=OWNER)
        new = store(cluster, group, "v1", 1)
        assert actions(await Applier(cluster.client).apply([new], owner=OWNER)) == {"Store/one": "unchanged"}
        assert actions(await applier.apply([new], owner=OWNER)) == {"Store/one": "configured"}
        found = await live(cluster, new)
        assert {one["apiVersion"] for one in found["metadata"]["managedFields"]} == {f"{group}/v1"}
        assert actions(await applier.apply([new], owner=OWNER)) == {"Store/one": "unchanged"}
    finally:
        await cluster.client.delete(CUSTOM_RESOURCE_DEFINITIONS, f"stores.{group}")


def entry(manager: str, operation: str, fields: Object | None = None, **more: Any) -> Object:
    return {"manager": manager, "operation": operation, "fieldsV1": fields or {}, "apiVersion": "v1", **more}


DATA_A: Object = {"f:data": {"f:a": {}}}
DATA_B: Object = {"f:data": {"f:b": {}}}
DATA_AB: Object = {"f:data": {"f:a": {}, "f:b": {}}}


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        pytest.param([entry(MANAGER, "Apply", DATA_A)], None, id="only ours: nothing to do"),
        pytest.param(
            [entry(MANAGER, "Apply", DATA_A), entry("kubectl-edit", "Update", DATA_B)],
            [entry(MANAGER, "Apply", DATA_AB)],
            id="united with ours",
        ),
        pytest.param(
            [entry("kubectl-edit", "Update", DATA_B), entry(MANAGER, "Apply", DATA_A), entry("x", "Update")],
            [entry("x", "Update"), entry(MANAGER, "Apply", DATA_AB)],
            id="ours goes to the end, whatever the order",
        ),
        pytest.param(
            [entry("kubectl", "Apply", DATA_A), entry("before-first-apply", "Update", DATA_B)],
            [entry(MANAGER, "Apply", DATA_AB)],
            id="without ours the first one becomes ours",
        ),
        pytest.param([entry("kubectl", "Update", DATA_A, subresource="scale")], None, id="subresources do not count"),
        pytest.param([entry("before-first-apply", "Apply", DATA_A)], None, id="only the operation that is meant"),
        pytest.param([entry("flux-client-side-apply", "Update", DATA_A)], None, id="the peers' client is never meant"),
        pytest.param(
            [entry(MANAGER, "Update", DATA_A)], [entry(MANAGER, "Apply", DATA_A)], id="what we once wrote ourselves"
        ),
    ],
)
def test_taking_over(entries: list[Object], expected: list[Object] | None) -> None:
    assert taken_over(entries, MANAGER, rivals(MANAGER)) == expected


@pytest.mark.scenario("22.11 Cleanup")
@pytest.mark.parametrize(("exact", "expected"), [(False, True), (True, False)])
def test_an_exact_name_is_no_prefix(exact: bool, expected: bool) -> None:
    against = rivals(MANAGER, [Rival("tool", "Update", exact=exact)])
    assert (taken_over([entry("tool-2", "Update", DATA_A)], MANAGER, against) is not None) is expected
    assert taken_over([entry("tool", "Update", DATA_A)], MANAGER, against) is not None


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ({"f:a": {}}, {"f:b": {}}, {"f:a": {}, "f:b": {}}),
        ({"f:a": {}}, {"f:a": {"f:x": {}}}, {"f:a": {".": {}, "f:x": {}}}),
        ({"f:a": {"f:x": {}}}, {"f:a": {}}, {"f:a": {".": {}, "f:x": {}}}),
        ({"f:a": {".": {}, "f:x": {}}}, {"f:a": {"f:y": {}}}, {"f:a": {".": {}, "f:x": {}, "f:y": {}}}),
        (None, {"f:a": {}}, {"f:a": {}}),
        ({"f:a": {}}, None, {"f:a": {}}),
        (None, None, {}),
    ],
)
def test_union(one: Object | None, other: Object | None, expected: Object) -> None:
    assert united(one, other) == expected


def test_patches_are_for_the_version_that_was_read() -> None:
    metadata: Object = {"resourceVersion": "7", "managedFields": [entry("kubectl", "Update", DATA_A)]}
    metadata["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": "{}"}
    patch = cleanup({"metadata": metadata}, MANAGER, rivals(MANAGER))
    assert [(one["op"], one["path"]) for one in patch] == [
        ("remove", "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration"),
        ("replace", "/metadata/managedFields"),
        ("replace", "/metadata/resourceVersion"),
    ]
    assert migration({"metadata": metadata}, "v1") == []
    assert [one["path"] for one in migration({"metadata": metadata}, "v2")] == [
        "/metadata/managedFields",
        "/metadata/resourceVersion",
    ]
    assert cleanup({"metadata": {"resourceVersion": "7"}}, MANAGER, rivals(MANAGER)) == []
