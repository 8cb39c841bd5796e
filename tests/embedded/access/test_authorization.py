from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from penstock.embedded.status import StatusError
from tests.embedded.access.asking import RBAC, ask, bind, grant, headers, token
from tests.embedded.lifecycle.running import create

if TYPE_CHECKING:
    from penstock.embedded.server.api import Engine

JANE = headers(user="jane")


@pytest.mark.parametrize(
    ("method", "path", "message"),
    [
        pytest.param(
            "GET",
            "/api/v1/namespaces/x/pods",
            'pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "x"',
            id="a namespace",
        ),
        pytest.param(
            "GET",
            "/api/v1/namespaces/x/pods/p/log",
            'pods "p" is forbidden: User "jane" cannot get resource "pods/log" in API group "" in the namespace "x"',
            id="a subresource",
        ),
        pytest.param(
            "GET",
            "/apis/apps/v1/deployments",
            'deployments.apps is forbidden: User "jane" cannot list resource "deployments" in API group "apps" '
            "at the cluster scope",
            id="the cluster",
        ),
        pytest.param(
            "GET",
            "/api/v1/namespaces/kube-system",
            'namespaces "kube-system" is forbidden: User "jane" cannot get resource "namespaces" in API group "" '
            'in the namespace "kube-system"',
            id="a namespace is in itself",
        ),
        pytest.param(
            "POST",
            "/apis/example.com/v1/namespaces/x/foos",
            'foos.example.com is forbidden: User "jane" cannot create resource "foos" in API group "example.com" '
            'in the namespace "x"',
            id="what is not served is forbidden, not missing",
        ),
        pytest.param("GET", "/metrics", 'forbidden: User "jane" cannot get path "/metrics"', id="a path"),
    ],
)
async def test_a_refusal_is_worded_as_the_real_one(engine: Engine, method: str, path: str, message: str) -> None:
    with pytest.raises(StatusError) as refused:
        ask(engine, path, JANE, method)

    assert (refused.value.code, refused.value.reason, refused.value.message) == (403, "Forbidden", message)


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz", "/version"])
async def test_anybody_may_look_at_the_door(engine: Engine, path: str) -> None:
    assert ask(engine, path, headers(None)).name == "system:anonymous"


@pytest.mark.parametrize("path", ["/api", "/apis", "/apis/apps/v1", "/openapi/v3"])
async def test_discovery_is_for_those_who_are_known(engine: Engine, path: str) -> None:
    assert ask(engine, path, JANE).name == "jane"
    with pytest.raises(StatusError, match=f'cannot get path "{path}"'):
        ask(engine, path, headers(None))


async def test_a_grant_holds_at_once_and_ends_at_once(engine: Engine) -> None:
    await grant(engine, "reader", "jane", {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]})
    assert ask(engine, "/api/v1/pods", JANE).name == "jane"

    binding = engine.catalog.find(RBAC, "v1", "clusterrolebindings")
    assert binding is not None
    await engine.delete(binding, "reader")
    with pytest.raises(StatusError, match="pods is forbidden"):
        ask(engine, "/api/v1/pods", JANE)


async def test_a_role_binding_reaches_its_namespace_only(engine: Engine) -> None:
    role = {"apiGroup": RBAC, "kind": "ClusterRole", "name": "system:discovery-of-pods"}
    await create(
        engine,
        "ClusterRole",
        role["name"],
        rules=[{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}],
    )
    subject = {"kind": "ServiceAccount", "name": "robot"}  # of the binding's own namespace
    await create(engine, "RoleBinding", "local", roleRef=role, subjects=[subject])
    robot = headers(await token(engine, "robot"))

    assert ask(engine, "/api/v1/namespaces/default/pods", robot).name == "system:serviceaccount:default:robot"
    with pytest.raises(StatusError, match='in the namespace "other"'):
        ask(engine, "/api/v1/namespaces/other/pods", robot)


async def test_a_binding_to_a_role_that_is_not_there_is_told(engine: Engine) -> None:
    await bind(engine, "nowhere", {"apiGroup": RBAC, "kind": "User", "name": "jane"})

    with pytest.raises(StatusError) as refused:
        ask(engine, "/api/v1/pods", JANE)

    assert refused.value.message.endswith(': RBAC: clusterrole.rbac.authorization.k8s.io "nowhere" not found')
