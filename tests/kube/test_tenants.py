"""Tenants on a cluster: the same connections, other rights."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING

import pytest

from penstock.kube import Client, Identity, Resource
from penstock.kube.errors import Forbidden, NamespaceTerminating, NotFound
from penstock.kube.identity import BadIdentity
from penstock.kube.resources import CONFIG_MAPS, NAMESPACES, SECRETS
from tests.kube.caches import WITHIN

if TYPE_CHECKING:
    from penstock.kube import Object
    from tests.clusters import Cluster

ROLES = Resource("rbac.authorization.k8s.io", "v1", "roles", "Role")
ROLE_BINDINGS = Resource("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding")
SERVICE_ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")
REVIEWS = Resource("authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", namespaced=False)


def config_map(cluster: Cluster, name: str = "x") -> Object:
    return {"metadata": {"name": name, "namespace": cluster.namespace}}


async def whoami(client: Client) -> str:
    review = await client.create(REVIEWS, {"apiVersion": REVIEWS.api_version, "kind": REVIEWS.kind})
    return str(review["status"]["userInfo"]["username"])


async def tenant(cluster: Cluster, name: str) -> Client:
    """A service account that may do everything with ConfigMaps of its namespace."""
    await cluster.client.create(SERVICE_ACCOUNTS, config_map(cluster, name))
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}
    await cluster.client.create(ROLES, config_map(cluster, name) | {"rules": [rule]})
    reference = {"apiGroup": ROLES.group, "kind": "Role", "name": name}
    subject = {"kind": "ServiceAccount", "name": name, "namespace": cluster.namespace}
    await cluster.client.create(
        ROLE_BINDINGS, config_map(cluster, name) | {"roleRef": reference, "subjects": [subject]}
    )
    return cluster.client.impersonate(Identity.service_account(cluster.namespace, name))


async def allowed(client: Client, cluster: Cluster) -> None:
    """Wait until the authorizer has seen the new rights."""
    async with asyncio.timeout(WITHIN):
        while True:
            try:
                await client.list(CONFIG_MAPS, cluster.namespace)
            except Forbidden:
                await asyncio.sleep(0.02)
            else:
                return


async def test_a_view_is_somebody_else_over_the_same_connections(cluster: Cluster) -> None:
    view = cluster.client.impersonate(Identity("jane", ("testers",)))
    assert await whoami(view) == "jane"
    assert await whoami(cluster.client) != "jane"
    assert view.transport is cluster.client.transport


async def test_a_tenant_may_what_it_may_and_nothing_else(cluster: Cluster) -> None:
    view = await tenant(cluster, "deployer")
    await allowed(view, cluster)
    await view.create(CONFIG_MAPS, config_map(cluster))
    await view.apply(CONFIG_MAPS, config_map(cluster) | {"apiVersion": "v1", "kind": "ConfigMap"}, manager="me")
    with pytest.raises(Forbidden, match="cannot list resource"):
        await view.list(SECRETS, cluster.namespace)
    with pytest.raises(Forbidden):
        await view.get(CONFIG_MAPS, "x", "kube-system")
    with pytest.raises(Forbidden):
        await view.delete(NAMESPACES, cluster.namespace)


async def test_a_watch_of_a_tenant_has_the_tenants_rights(cluster: Cluster) -> None:
    view = await tenant(cluster, "deployer")
    await allowed(view, cluster)
    async with asyncio.timeout(WITHIN):
        async with aclosing(view.watch(CONFIG_MAPS, cluster.namespace)) as events:
            assert (await anext(events)).type == "ADDED"
        with pytest.raises(Forbidden):
            await anext(view.watch(SECRETS, cluster.namespace))


async def test_to_a_tenant_everything_that_is_missing_looks_alike(cluster: Cluster) -> None:
    view = await tenant(cluster, "deployer")
    await allowed(view, cluster)
    with pytest.raises(Forbidden):
        await view.create(CONFIG_MAPS, {"metadata": {"name": "x"}}, namespace="nowhere-at-all")
    with pytest.raises(Forbidden):
        await view.get(Resource("nobody.example.com", "v1", "things", "Thing"), "x", cluster.namespace)


async def test_a_service_account_that_is_made_anew_has_no_rights_of_the_old_one(cluster: Cluster) -> None:
    """A24: the view holds a name and nothing else; rights are the server's to judge, at every request."""
    view = await tenant(cluster, "deployer")
    await allowed(view, cluster)
    for resource in (ROLE_BINDINGS, SERVICE_ACCOUNTS):
        await cluster.client.delete(resource, "deployer", cluster.namespace)
    await cluster.client.create(SERVICE_ACCOUNTS, config_map(cluster, "deployer"))
    async with asyncio.timeout(WITHIN):
        while True:
            try:
                await view.list(CONFIG_MAPS, cluster.namespace)
            except Forbidden:
                break
            await asyncio.sleep(0.02)


async def test_a_role_binding_to_a_role_that_is_not_there_yet(cluster: Cluster) -> None:
    """Told to a tenant as a 404 with the kind of the binding and the name of the role: no missing kind."""
    view = await tenant(cluster, "deployer")
    rule = {"apiGroups": [ROLES.group], "resources": ["rolebindings"], "verbs": ["create"]}
    await cluster.client.patch(ROLES, "deployer", cluster.namespace, {"rules": [rule]})
    binding = config_map(cluster, "mine") | {"roleRef": {"apiGroup": ROLES.group, "kind": "Role", "name": "missing"}}
    async with asyncio.timeout(WITHIN):
        while True:
            with pytest.raises((Forbidden, NotFound)) as caught:
                await view.create(ROLE_BINDINGS, binding)
            if isinstance(caught.value, NotFound):
                break
            await asyncio.sleep(0.02)
    assert type(caught.value) is NotFound
    assert caught.value.status.name == "missing"


async def test_an_identity_that_is_empty_never_reaches_the_server(cluster: Cluster) -> None:
    with pytest.raises(BadIdentity):
        cluster.client.impersonate(Identity(""))
    with pytest.raises(BadIdentity):
        cluster.client.impersonate(Identity.service_account(cluster.namespace, ""))


async def test_a_namespace_on_its_way_out_is_told_apart(cluster: Cluster) -> None:
    held = config_map(cluster, "held")
    held["metadata"]["finalizers"] = ["test.penstock.dev/hold"]
    await cluster.client.create(CONFIG_MAPS, held)
    await cluster.client.delete(NAMESPACES, cluster.namespace)
    with pytest.raises(NamespaceTerminating):
        await cluster.client.create(CONFIG_MAPS, config_map(cluster, "late"))
    await cluster.client.patch(CONFIG_MAPS, "held", cluster.namespace, {"metadata": {"finalizers": None}})
