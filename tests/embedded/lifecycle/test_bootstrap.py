from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from penstock.embedded import lifecycle
from penstock.embedded.lifecycle.aggregation import gathered
from penstock.embedded.lifecycle.bootstrap import bootstrap, bootstrap_objects
from tests.embedded.lifecycle.running import create, get, resource, running, until

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from penstock.embedded.server.api import Engine
    from penstock.kube.resources import Object


@pytest_asyncio.fixture
async def engine() -> AsyncGenerator[Engine]:
    async with running(lifecycle.install) as made:
        yield made


@pytest.mark.parametrize(
    ("kind", "name", "namespace"),
    [
        ("Namespace", "kube-system", ""),
        ("ClusterRole", "cluster-admin", ""),
        ("ClusterRole", "system:basic-user", ""),
        ("ClusterRoleBinding", "system:public-info-viewer", ""),
        ("Role", "extension-apiserver-authentication-reader", "kube-system"),
        ("PriorityClass", "system-node-critical", ""),
        ("Service", "kubernetes", "default"),
    ],
)
async def test_what_a_fresh_server_has(engine: Engine, kind: str, name: str, namespace: str) -> None:
    found = get(engine, kind, name, namespace)

    assert found is not None
    assert found["metadata"]["uid"]
    assert "@now" not in str(found)


async def test_what_somebody_changed_stays_and_what_is_gone_comes_back(engine: Engine) -> None:
    roles = resource(engine, "ClusterRole")
    await engine.merge(roles, "system:discovery", "", {"rules": []})
    await engine.delete(roles, "system:basic-user")

    await bootstrap(engine, "2026-01-01T00:00:00Z")

    changed, made = engine.get(roles, "system:discovery"), engine.get(roles, "system:basic-user")
    assert changed is not None
    assert made is not None
    assert not changed.get("rules")


def test_the_table_is_of_a_server_and_nothing_else() -> None:
    names = {(obj["kind"], obj["metadata"]["name"]) for obj in bootstrap_objects("now")}

    assert len(names) > 150
    assert all("uid" not in obj["metadata"] for obj in bootstrap_objects("now"))


def role(
    name: str, *resources: str, labels: dict[str, str] | None = None, selects: dict[str, str] | None = None
) -> Object:
    made: Object = {
        "metadata": {"name": name, "labels": labels or {}},
        "rules": [{"apiGroups": [""], "resources": [each], "verbs": ["get"]} for each in resources],
    }
    if selects:
        made["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": selects}]}
    return made


def test_an_aggregated_role_gathers_each_rule_once() -> None:
    whole = role("whole", selects={"to": "whole"})
    parts = [
        role("b", "pods", "nodes", labels={"to": "whole"}),
        role("a", "secrets", "pods", labels={"to": "whole"}),
        role("c", "events"),
    ]

    found = [rule["resources"] for rule in gathered(whole, [*parts, whole])]

    assert found == [["secrets"], ["pods"], ["nodes"]]


async def test_admin_has_what_edit_and_view_have(engine: Engine) -> None:
    def verbs(name: str, plural: str) -> set[str]:
        found = get(engine, "ClusterRole", name) or {}
        return {verb for rule in found.get("rules") or () if plural in rule["resources"] for verb in rule["verbs"]}

    await until(engine, lambda: {"get", "create"} <= verbs("admin", "configmaps"))
    assert "create" not in verbs("view", "configmaps")
    assert "get" in verbs("edit", "secrets")
    assert not verbs("view", "secrets")


async def test_a_new_part_reaches_the_whole(engine: Engine) -> None:
    rule = {"apiGroups": ["example.com"], "resources": ["things"], "verbs": ["get"]}
    labels = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}

    await create(engine, "ClusterRole", "things-viewer", metadata={"labels": labels}, rules=[rule])

    def reached() -> set[str]:
        roles = {name: get(engine, "ClusterRole", name) or {} for name in ("view", "edit", "admin")}
        return {name for name, found in roles.items() if rule in (found.get("rules") or ())}

    await until(engine, lambda: reached() == {"view", "edit", "admin"})
