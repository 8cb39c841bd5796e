"""Applying with the rights of a tenant: what it may not do is told, and what a stage brings is waited for."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from penstock.apply import Applier, ApplyFailed, parse_kinds
from penstock.kube import GroupKind, Identity
from penstock.kube.errors import Forbidden
from penstock.kube.resources import NAMESPACES
from tests.apply.world import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    OWNER,
    ROLE_BINDINGS,
    ROLES,
    SERVICE_ACCOUNTS,
    STORAGE_CLASSES,
    actions,
    config_map,
    exists,
    namespace_object,
    obj,
)

if TYPE_CHECKING:
    from penstock.kube import Client, Object
    from tests.clusters import Cluster

RBAC = "rbac.authorization.k8s.io"


async def tenant(cluster: Cluster, *rules: Object, everywhere: bool = False) -> Client:
    """A service account with these rights, once they are in force."""
    name = f"deployer-{cluster.namespace}"
    role, binding = (CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS) if everywhere else (ROLES, ROLE_BINDINGS)
    place = "" if everywhere else cluster.namespace
    subject = {"kind": "ServiceAccount", "name": name, "namespace": cluster.namespace}
    reference = {"apiGroup": RBAC, "kind": role.kind, "name": name}
    await cluster.client.create(SERVICE_ACCOUNTS, obj(SERVICE_ACCOUNTS, name, cluster.namespace))
    await cluster.client.create(role, obj(role, name, place, rules=list(rules)))
    await cluster.client.create(binding, obj(binding, name, place, roleRef=reference, subjects=[subject]))
    view = cluster.client.impersonate(Identity.service_account(cluster.namespace, name))
    async with asyncio.timeout(20):
        while True:
            try:
                await view.list(ROLES, cluster.namespace)
            except Forbidden:
                await asyncio.sleep(0.02)
            else:
                return view


def rule(*resources: str, group: str = RBAC, verbs: str = "get list watch create patch") -> Object:
    """Without the verbs `bind` and `escalate`: nobody gives away more than he has."""
    return {"apiGroups": [group], "resources": list(resources), "verbs": verbs.split()}


async def test_a_missing_right_is_told_and_nothing_is_written(cluster: Cluster) -> None:
    view = await tenant(cluster, rule("roles"))
    role = obj(ROLES, "reader", cluster.namespace, rules=[])
    with pytest.raises(
        ApplyFailed, match=rf"^ConfigMap/.*dry-run failed \(Forbidden\): .*{cluster.namespace}:deployer"
    ):
        await Applier(view).apply([role, config_map(cluster)], owner=OWNER)
    assert not await exists(cluster, role)


def bound(cluster: Cluster) -> list[Object]:
    reference = {"apiGroup": RBAC, "kind": "Role", "name": "late"}
    return [
        obj(ROLES, "late", cluster.namespace, rules=[]),
        obj(ROLE_BINDINGS, "late-binding", cluster.namespace, roleRef=reference, subjects=[]),
    ]


async def test_a_binding_to_a_role_of_the_same_stage(cluster: Cluster) -> None:
    view = await tenant(cluster, rule("roles", "rolebindings"))
    with pytest.raises(ApplyFailed) as failure:
        await Applier(view).apply(bound(cluster), owner=OWNER)
    expected = f'RoleBinding/{cluster.namespace}/late-binding not found: rolebindings.{RBAC} "late" not found'
    assert str(failure.value).startswith(expected)


async def test_a_binding_to_a_role_of_a_stage_before(cluster: Cluster) -> None:
    view = await tenant(cluster, rule("roles", "rolebindings"))
    applier = Applier(view, stage_kinds=parse_kinds(f"{RBAC}/Role, ConfigMap"))
    assert actions(await applier.apply(bound(cluster), owner=OWNER)) == {
        "Role/late": "created",
        "RoleBinding/late-binding": "created",
    }


def test_kinds_of_a_stage() -> None:
    assert parse_kinds(f"{RBAC}/Role, ConfigMap,") == {GroupKind(RBAC, "Role"), GroupKind("", "ConfigMap")}


@pytest.mark.scenario("22.11 Staged partial failure")
async def test_definitions_and_classes_come_first_and_stay_when_the_rest_fails(cluster: Cluster) -> None:
    view = await tenant(
        cluster,
        rule("namespaces", group=""),
        rule("clusterroles", "clusterrolebindings", "roles"),
        rule("storageclasses", group="storage.k8s.io"),
        everywhere=True,
    )
    name = f"staged-{cluster.namespace}"

    def staged(role: str) -> list[Object]:
        reference = {"apiGroup": RBAC, "kind": "ClusterRole", "name": role}
        return [
            obj(CLUSTER_ROLE_BINDINGS, name, roleRef=reference, subjects=[]),
            obj(STORAGE_CLASSES, name, provisioner="example.com/none"),
            obj(CLUSTER_ROLES, name, rules=[]),
            namespace_object(name),
        ]

    applier = Applier(view)
    try:
        changes = await applier.apply(staged(name), owner=OWNER)
        assert changes.lines() == [
            f"Namespace/{name} created",
            f"ClusterRole/{name} created",
            f"StorageClass/{name} created",
            f"ClusterRoleBinding/{name} created",
        ]
        with pytest.raises(ApplyFailed, match=rf'^ClusterRoleBinding/{name} not found: .* "nobody" not found'):
            await applier.apply(staged("nobody"), owner=OWNER)
        await cluster.client.create(CLUSTER_ROLES, obj(CLUSTER_ROLES, f"{name}-other", rules=[]))
        with pytest.raises(ApplyFailed, match="cannot change roleRef") as failure:
            await applier.apply(staged(f"{name}-other"), owner=OWNER)
        assert failure.value.changes.lines() == [
            f"Namespace/{name} unchanged",
            f"ClusterRole/{name} unchanged",
            f"StorageClass/{name} unchanged",
        ]
    finally:
        for resource in (CLUSTER_ROLE_BINDINGS, STORAGE_CLASSES, CLUSTER_ROLES):
            await cluster.client.delete(resource, name)
        await cluster.client.delete(CLUSTER_ROLES, f"{name}-other")
        await cluster.client.delete(NAMESPACES, name)
        for resource in (CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES):
            await cluster.client.delete(resource, f"deployer-{cluster.namespace}")
