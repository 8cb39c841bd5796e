from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from penstock.embedded.server.ports import User
from penstock.embedded.status import StatusError
from tests.embedded.access.asking import RBAC, grant
from tests.embedded.lifecycle.running import create, get, resource

if TYPE_CHECKING:
    from penstock.embedded.server.api import Engine
    from penstock.kube.resources import Object

BOB = User("bob", ("system:authenticated",))
PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
SECRETS = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}
WHO = 'user "bob" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:'


@pytest_asyncio.fixture(autouse=True)
async def bob_keeps_roles(engine: Engine) -> None:
    """Bob may write roles and bindings, and read pods."""
    verbs = ["create", "update", "patch", "delete"]
    await grant(engine, "keeper", "bob", {"apiGroups": [RBAC], "resources": ["*"], "verbs": verbs}, PODS)


async def write(engine: Engine, kind: str, **parts: Any) -> Object:
    served = resource(engine, kind)
    metadata = {"name": "new", **({"namespace": "default"} if served.namespaced else {})}
    return await engine.create(served, {"metadata": metadata, **parts}, user=BOB)


def reference(name: str, kind: str = "ClusterRole") -> Object:
    return {"apiGroup": RBAC, "kind": kind, "name": name}


@pytest.mark.parametrize("kind", ["Role", "ClusterRole"])
async def test_what_one_holds_can_be_granted(engine: Engine, kind: str) -> None:
    assert (await write(engine, kind, rules=[PODS]))["rules"] == [PODS]


@pytest.mark.parametrize("kind", ["Role", "ClusterRole"])
async def test_what_one_lacks_cannot(engine: Engine, kind: str) -> None:
    with pytest.raises(StatusError) as refused:
        await write(engine, kind, rules=[PODS, SECRETS])

    assert refused.value.code == 403
    assert refused.value.message == (
        f'{kind.lower()}s.{RBAC} "new" is forbidden: {WHO}\n{{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}}'
    )
    assert get(engine, kind, "new") is None


async def test_a_change_is_checked_too(engine: Engine) -> None:
    role = await write(engine, "ClusterRole", rules=[PODS])

    with pytest.raises(StatusError, match="not currently held"):
        await engine.update(resource(engine, "ClusterRole"), {**role, "rules": [SECRETS]}, user=BOB)


async def test_finalizers_of_a_stronger_role_may_change(engine: Engine) -> None:
    role = await create(engine, "ClusterRole", "strong", rules=[SECRETS])
    role["metadata"]["finalizers"] = ["example.com/a"]

    changed = await engine.update(resource(engine, "ClusterRole"), role, user=BOB)

    assert changed["metadata"]["finalizers"] == ["example.com/a"]


async def test_the_right_to_escalate(engine: Engine) -> None:
    await grant(engine, "escalator", "bob", {"apiGroups": [RBAC], "resources": ["clusterroles"], "verbs": ["escalate"]})

    assert await write(engine, "ClusterRole", rules=[SECRETS])
    with pytest.raises(StatusError, match="not currently held"):
        await write(engine, "Role", rules=[SECRETS])


async def test_aggregation_needs_everything(engine: Engine) -> None:
    rule = {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}

    with pytest.raises(StatusError, match="must have cluster-admin privileges to use the aggregationRule"):
        await write(engine, "ClusterRole", aggregationRule=rule)


@pytest.mark.parametrize("kind", ["RoleBinding", "ClusterRoleBinding"])
async def test_binding_a_role_grants_it(engine: Engine, kind: str) -> None:
    await create(engine, "ClusterRole", "weak", rules=[PODS])
    await create(engine, "ClusterRole", "strong", rules=[SECRETS])

    with pytest.raises(StatusError, match="not currently held"):
        await write(engine, kind, roleRef=reference("strong"))
    assert await write(engine, kind, roleRef=reference("weak"))


async def test_the_right_to_bind(engine: Engine) -> None:
    await create(engine, "ClusterRole", "strong", rules=[SECRETS])
    rule = {"apiGroups": [RBAC], "resources": ["clusterroles"], "resourceNames": ["strong"], "verbs": ["bind"]}
    await grant(engine, "binder", "bob", rule)

    assert await write(engine, "ClusterRoleBinding", roleRef=reference("strong"))


async def test_a_role_that_is_not_there_is_named_as_the_binding(engine: Engine) -> None:
    with pytest.raises(StatusError) as refused:
        await write(engine, "RoleBinding", roleRef=reference("nope", "Role"))

    assert (refused.value.code, refused.value.message) == (404, f'rolebindings.{RBAC} "nope" not found')


async def test_a_binding_of_the_cluster_to_a_role_of_a_namespace(engine: Engine) -> None:
    with pytest.raises(StatusError, match="Namespace parameter required"):
        await write(engine, "ClusterRoleBinding", roleRef=reference("x", "Role"))


async def test_masters_may_grant_anything(engine: Engine) -> None:
    assert await create(engine, "ClusterRole", "any", rules=[SECRETS])
