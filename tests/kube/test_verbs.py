"""Every verb of the client on a cluster."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any

import pytest

from penstock.errors import UsageError
from penstock.kube import Resource
from penstock.kube.errors import (
    AlreadyExists,
    Conflict,
    Invalid,
    Malformed,
    NoMatch,
    NotFound,
    NotServed,
)
from penstock.kube.resources import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, DEPLOYMENTS, NAMESPACES, SECRETS
from tests.kube.caches import WITHIN

if TYPE_CHECKING:
    from penstock.kube import Object
    from tests.clusters import Cluster

MINE = "metadata.name!=kube-root-ca.crt"


def config_map(cluster: Cluster, name: str = "x", **data: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": cluster.namespace},
        "data": data,
    }


def deployment(cluster: Cluster, **spec: Any) -> Object:
    pod = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "web", "image": "web:1", "ports": [{"containerPort": 80}]}]},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": cluster.namespace},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": pod, "replicas": 0} | spec,
    }


class TestReading:
    async def test_get(self, cluster: Cluster) -> None:
        await cluster.client.create(CONFIG_MAPS, config_map(cluster, a="1"))
        found = await cluster.client.get(CONFIG_MAPS, "x", cluster.namespace)
        assert (found["kind"], found["data"]) == ("ConfigMap", {"a": "1"})

    async def test_get_of_metadata_only(self, cluster: Cluster) -> None:
        await cluster.client.create(CONFIG_MAPS, config_map(cluster, a="1"))
        found = await cluster.client.get(CONFIG_MAPS, "x", cluster.namespace, metadata_only=True)
        assert found["kind"] == "PartialObjectMetadata"
        assert found["metadata"]["name"] == "x"
        assert "data" not in found

    async def test_a_list_page_by_page(self, cluster: Cluster) -> None:
        wanted = [f"n{number:02}" for number in range(7)]
        for name in wanted:
            await cluster.client.create(CONFIG_MAPS, config_map(cluster, name))
        pages = [page.items async for page in cluster.client.pages(CONFIG_MAPS, cluster.namespace, fields=MINE, page=3)]
        assert [len(page) for page in pages] == [3, 3, 1]
        assert [obj["metadata"]["name"] for page in pages for obj in page] == wanted
        whole = await cluster.client.list(CONFIG_MAPS, cluster.namespace, fields=MINE)
        assert len(whole.items) == 7
        assert int(whole.resource_version) > 0

    async def test_a_list_by_labels(self, cluster: Cluster) -> None:
        for name, team in (("a", "x"), ("b", "y")):
            labelled = config_map(cluster, name)
            labelled["metadata"]["labels"] = {"team": team}
            await cluster.client.create(CONFIG_MAPS, labelled)
        found = await cluster.client.list(CONFIG_MAPS, cluster.namespace, labels="team=y")
        assert [obj["metadata"]["name"] for obj in found.items] == ["b"]

    @pytest.mark.parametrize(
        ("resource", "name", "expected"),
        [
            pytest.param(CONFIG_MAPS, "gone", NotFound, id="an object"),
            pytest.param(Resource("nobody.example.com", "v1", "things", "Thing"), "x", NotServed, id="a group"),
            pytest.param(Resource("apps", "v1", "things", "Thing"), "x", NotServed, id="a built-in group's kind"),
            pytest.param(Resource("apps", "v9", "deployments", "Deployment"), "x", NotServed, id="a version"),
        ],
    )
    async def test_what_is_not_there(
        self, resource: Resource, name: str, expected: type[NotFound], cluster: Cluster
    ) -> None:
        with pytest.raises(NotFound) as caught:
            await cluster.client.get(resource, name, cluster.namespace)
        assert type(caught.value) is expected

    @pytest.mark.parametrize("name", ["", ".", ".."])
    async def test_a_name_that_is_none_reaches_nothing(self, name: str, cluster: Cluster) -> None:
        await cluster.client.create(CONFIG_MAPS, config_map(cluster))
        with pytest.raises(UsageError, match="cannot be the name"):
            await cluster.client.delete(CONFIG_MAPS, name, cluster.namespace)
        assert await cluster.client.get(CONFIG_MAPS, "x", cluster.namespace)

    async def test_a_name_with_a_slash_does_not_reach_another_path(self, cluster: Cluster) -> None:
        with pytest.raises(NotFound):
            await cluster.client.get(CONFIG_MAPS, "../secrets", cluster.namespace)


class TestCreating:
    async def test_twice_is_a_conflict(self, cluster: Cluster) -> None:
        await cluster.client.create(CONFIG_MAPS, config_map(cluster), manager="me")
        with pytest.raises(AlreadyExists):
            await cluster.client.create(CONFIG_MAPS, config_map(cluster))

    async def test_dry(self, cluster: Cluster) -> None:
        made = await cluster.client.create(CONFIG_MAPS, config_map(cluster), dry_run=True)
        assert made["metadata"]["name"] == "x"
        with pytest.raises(NotFound):
            await cluster.client.get(CONFIG_MAPS, "x", cluster.namespace)

    async def test_into_a_namespace_that_is_missing(self, cluster: Cluster) -> None:
        with pytest.raises(NotFound) as caught:
            await cluster.client.create(CONFIG_MAPS, {"metadata": {"name": "x"}}, namespace="nowhere-at-all")
        assert type(caught.value) is NotFound
        assert caught.value.status.kind == "namespaces"

    async def test_a_token_of_a_service_account(self, cluster: Cluster) -> None:
        accounts = Resource("", "v1", "serviceaccounts", "ServiceAccount")
        answer = await cluster.client.create(
            accounts, {"spec": {}}, namespace=cluster.namespace, name="default", subresource="token"
        )
        assert answer["status"]["token"]


class TestReplacing:
    async def test_with_a_version_that_is_old_is_a_conflict(self, cluster: Cluster) -> None:
        made = await cluster.client.create(CONFIG_MAPS, config_map(cluster, a="1"))
        replaced = await cluster.client.replace(CONFIG_MAPS, made | {"data": {"a": "2"}})
        assert replaced["data"] == {"a": "2"}
        with pytest.raises(Conflict):
            await cluster.client.replace(CONFIG_MAPS, made | {"data": {"a": "3"}})


class TestApplying:
    async def test_the_fields_are_the_whole_wish(self, cluster: Cluster) -> None:
        await cluster.client.apply(CONFIG_MAPS, config_map(cluster, a="1", b="2"), manager="me")
        after = await cluster.client.apply(CONFIG_MAPS, config_map(cluster, a="1"), manager="me")
        assert after["data"] == {"a": "1"}
        assert after["metadata"]["managedFields"][0]["manager"] == "me"

    async def test_what_another_manager_owns_needs_force(self, cluster: Cluster) -> None:
        await cluster.client.apply(CONFIG_MAPS, config_map(cluster, a="1"), manager="one")
        with pytest.raises(Conflict) as caught:
            await cluster.client.apply(CONFIG_MAPS, config_map(cluster, a="2"), manager="two")
        assert caught.value.causes[0].field == ".data.a"
        forced = await cluster.client.apply(CONFIG_MAPS, config_map(cluster, a="2"), manager="two", force=True)
        assert forced["data"] == {"a": "2"}

    async def test_dry(self, cluster: Cluster) -> None:
        await cluster.client.apply(CONFIG_MAPS, config_map(cluster, a="1"), manager="me")
        dry = await cluster.client.apply(CONFIG_MAPS, config_map(cluster, a="2"), manager="me", dry_run=True)
        assert dry["data"] == {"a": "2"}
        assert (await cluster.client.get(CONFIG_MAPS, "x", cluster.namespace))["data"] == {"a": "1"}

    @pytest.mark.parametrize("validation", ["Strict", "Warn", "Ignore", None])
    async def test_a_field_that_does_not_exist_is_the_users_mistake(self, validation: Any, cluster: Cluster) -> None:
        """Whatever validation is asked for, the server says 500; it is neither repeated nor overload."""
        before = cluster.client.transport.limiter.limit
        with pytest.raises(Malformed, match="field not declared in schema"):
            await cluster.client.apply(DEPLOYMENTS, deployment(cluster, foo=1), manager="me", validation=validation)
        assert cluster.client.transport.limiter.limit == before

    async def test_a_field_that_breaks_a_rule_is_named(self, cluster: Cluster) -> None:
        with pytest.raises(Invalid) as caught:
            await cluster.client.apply(DEPLOYMENTS, deployment(cluster, replicas=-1), manager="me")
        assert type(caught.value) is Invalid
        assert [cause.field for cause in caught.value.causes] == ["spec.replicas"]
        assert not caught.value.immutable

    async def test_a_field_that_may_not_change_is_told_apart(self, cluster: Cluster) -> None:
        await cluster.client.apply(DEPLOYMENTS, deployment(cluster), manager="me")
        changed = deployment(cluster)
        changed["spec"]["selector"]["matchLabels"] = {"app": "other"}
        changed["spec"]["template"]["metadata"]["labels"] = {"app": "other"}
        with pytest.raises(Invalid) as caught:
            await cluster.client.apply(DEPLOYMENTS, changed, manager="me", force=True)
        assert caught.value.immutable

    async def test_a_wrong_uid_is_not_a_field_that_may_not_change(self, cluster: Cluster) -> None:
        await cluster.client.apply(CONFIG_MAPS, config_map(cluster, a="1"), manager="me")
        wrong = config_map(cluster, a="2")
        wrong["metadata"]["uid"] = "11111111-2222-3333-4444-555555555555"
        with pytest.raises((Invalid, Conflict)) as caught:
            await cluster.client.apply(CONFIG_MAPS, wrong, manager="me")
        assert not getattr(caught.value, "immutable", False)

    async def test_a_version_that_is_old_is_a_conflict(self, cluster: Cluster) -> None:
        first = await cluster.client.apply(CONFIG_MAPS, config_map(cluster, a="1"), manager="me")
        await cluster.client.apply(CONFIG_MAPS, config_map(cluster, a="2"), manager="me")
        stale = config_map(cluster, a="3")
        stale["metadata"]["resourceVersion"] = first["metadata"]["resourceVersion"]
        with pytest.raises(Conflict):
            await cluster.client.apply(CONFIG_MAPS, stale, manager="me")


class TestPatching:
    async def test_a_merge_patch(self, cluster: Cluster) -> None:
        await cluster.client.create(CONFIG_MAPS, config_map(cluster, a="1", b="2"))
        after = await cluster.client.patch(CONFIG_MAPS, "x", cluster.namespace, {"data": {"a": None, "c": "3"}})
        assert after["data"] == {"b": "2", "c": "3"}

    async def test_a_json_patch(self, cluster: Cluster) -> None:
        await cluster.client.create(CONFIG_MAPS, config_map(cluster, a="1"))
        steps = [{"op": "test", "path": "/data/a", "value": "1"}, {"op": "replace", "path": "/data/a", "value": "2"}]
        after = await cluster.client.patch(CONFIG_MAPS, "x", cluster.namespace, steps, kind="json", manager="me")
        assert after["data"] == {"a": "2"}

    async def test_a_strategic_merge_patch(self, cluster: Cluster) -> None:
        """Lists are merged by key: the other port stays."""
        await cluster.client.create(DEPLOYMENTS, deployment(cluster))
        body = {"spec": {"template": {"spec": {"containers": [{"name": "web", "ports": [{"containerPort": 81}]}]}}}}
        after = await cluster.client.patch(DEPLOYMENTS, "web", cluster.namespace, body, kind="strategic")
        (container,) = after["spec"]["template"]["spec"]["containers"]
        assert {port["containerPort"] for port in container["ports"]} == {80, 81}
        assert container["image"] == "web:1"

    async def test_dry(self, cluster: Cluster) -> None:
        await cluster.client.create(CONFIG_MAPS, config_map(cluster, a="1"))
        await cluster.client.patch(CONFIG_MAPS, "x", cluster.namespace, {"data": {"a": "2"}}, dry_run=True)
        assert (await cluster.client.get(CONFIG_MAPS, "x", cluster.namespace))["data"] == {"a": "1"}


class TestSubresources:
    async def test_status(self, cluster: Cluster) -> None:
        made = await cluster.client.create(DEPLOYMENTS, deployment(cluster))
        condition = {"type": "Tested", "status": "True", "reason": "Test", "message": "by us"}
        body = {"status": {"conditions": [condition]}, "spec": {"replicas": 7}}
        await cluster.client.patch(DEPLOYMENTS, "web", cluster.namespace, body, subresource="status")
        after = await cluster.client.get(DEPLOYMENTS, "web", cluster.namespace)
        assert "Tested" in {one["type"] for one in after["status"]["conditions"]}
        assert after["spec"]["replicas"] == 0, "the rest of the object is not touched that way"
        assert after["metadata"]["uid"] == made["metadata"]["uid"]

    async def test_scale(self, cluster: Cluster) -> None:
        await cluster.client.create(DEPLOYMENTS, deployment(cluster))
        scale = await cluster.client.scale(DEPLOYMENTS, "web", cluster.namespace, 3)
        assert scale["kind"] == "Scale"
        assert (await cluster.client.get(DEPLOYMENTS, "web", cluster.namespace))["spec"]["replicas"] == 3
        read = await cluster.client.get(DEPLOYMENTS, "web", cluster.namespace, subresource="scale")
        assert read["spec"]["replicas"] == 3


class TestDeleting:
    async def test_what_is_there(self, cluster: Cluster) -> None:
        await cluster.client.create(CONFIG_MAPS, config_map(cluster))
        await cluster.client.delete(CONFIG_MAPS, "x", cluster.namespace)
        with pytest.raises(NotFound):
            await cluster.client.delete(CONFIG_MAPS, "x", cluster.namespace)

    async def test_only_if_it_is_the_one_that_is_meant(self, cluster: Cluster) -> None:
        first = await cluster.client.create(CONFIG_MAPS, config_map(cluster))
        await cluster.client.delete(CONFIG_MAPS, "x", cluster.namespace, uid=first["metadata"]["uid"])
        second = await cluster.client.create(CONFIG_MAPS, config_map(cluster))
        with pytest.raises(Conflict):
            await cluster.client.delete(CONFIG_MAPS, "x", cluster.namespace, uid=first["metadata"]["uid"])
        old, new = first["metadata"]["resourceVersion"], second["metadata"]["resourceVersion"]
        with pytest.raises(Conflict):
            await cluster.client.delete(CONFIG_MAPS, "x", cluster.namespace, resource_version=old)
        await cluster.client.delete(CONFIG_MAPS, "x", cluster.namespace, resource_version=new)

    async def test_dry(self, cluster: Cluster) -> None:
        await cluster.client.create(CONFIG_MAPS, config_map(cluster))
        await cluster.client.delete(CONFIG_MAPS, "x", cluster.namespace, dry_run=True)
        assert await cluster.client.get(CONFIG_MAPS, "x", cluster.namespace)

    @pytest.mark.parametrize(
        ("propagation", "finalizer"), [("Foreground", "foregroundDeletion"), ("Orphan", "orphan"), ("Background", None)]
    )
    async def test_with_a_propagation(self, propagation: Any, finalizer: str | None, cluster: Cluster) -> None:
        """A finalizer of our own holds the object, so that those of the propagation can be seen."""
        held = config_map(cluster)
        held["metadata"]["finalizers"] = ["test.penstock.dev/hold"]
        await cluster.client.create(CONFIG_MAPS, held)
        answer = await cluster.client.delete(CONFIG_MAPS, "x", cluster.namespace, propagation=propagation)
        expected = {"test.penstock.dev/hold"} | ({finalizer} if finalizer else set())
        assert set(answer["metadata"]["finalizers"]) == expected
        await cluster.client.patch(CONFIG_MAPS, "x", cluster.namespace, {"metadata": {"finalizers": None}})


class TestWatching:
    async def test_what_happens_from_a_version_on(self, cluster: Cluster) -> None:
        listing = await cluster.client.list(CONFIG_MAPS, cluster.namespace)
        await cluster.client.create(CONFIG_MAPS, config_map(cluster, a="1"))
        await cluster.client.patch(CONFIG_MAPS, "x", cluster.namespace, {"data": {"a": "2"}})
        await cluster.client.delete(CONFIG_MAPS, "x", cluster.namespace)
        seen: list[str] = []
        async with asyncio.timeout(WITHIN):
            watching = cluster.client.watch(
                CONFIG_MAPS, cluster.namespace, fields="metadata.name=x", resource_version=listing.resource_version
            )
            async with aclosing(watching) as events:
                async for event in events:
                    seen.append(event.type)
                    if event.type == "DELETED":
                        break
        assert seen == ["ADDED", "MODIFIED", "DELETED"]

    async def test_it_ends_when_its_time_is_over(self, cluster: Cluster) -> None:
        async with asyncio.timeout(WITHIN):
            seen = [event.type async for event in cluster.client.watch(SECRETS, cluster.namespace, seconds=1)]
        assert set(seen) <= {"BOOKMARK"}


async def _served(cluster: Cluster, api_version: str, kind: str) -> Resource:
    """The resource, once the cluster serves it; a definition takes a moment."""
    while True:
        cluster.client.discovery.invalidate()
        with suppress(NoMatch, NotServed):
            resource = await cluster.client.discovery.resource(api_version, kind)
            await cluster.client.list(resource, cluster.namespace)
            return resource
        await asyncio.sleep(0.05)


async def test_a_kind_is_found_as_soon_as_it_is_defined(cluster: Cluster) -> None:
    group = f"{cluster.namespace}.example.com"
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"widgets.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
                }
            ],
        },
    }
    assert (await cluster.client.discovery.resource("v1", "Namespace")) == NAMESPACES
    await cluster.client.create(CUSTOM_RESOURCE_DEFINITIONS, definition)
    try:
        async with asyncio.timeout(WITHIN):
            widgets = await _served(cluster, f"{group}/v1", "Widget")
        assert widgets == Resource(group, "v1", "widgets", "Widget")
        assert (await cluster.client.list(widgets, cluster.namespace)).items == []
    finally:
        await cluster.client.delete(CUSTOM_RESOURCE_DEFINITIONS, f"widgets.{group}")
