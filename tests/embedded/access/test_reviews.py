from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from penstock.embedded.server.ports import User
from penstock.embedded.status import StatusError
from tests.embedded.access.asking import RBAC, answer, bind, grant

if TYPE_CHECKING:
    from penstock.embedded.server.api import Engine

BOB = User("bob", ("system:authenticated",))
READ_PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}


def may(engine: Engine, kind: str = "SubjectAccessReview", **spec: Any) -> Any:
    return answer(engine, kind, BOB, spec=spec)["status"]


async def test_a_yes_says_why(engine: Engine) -> None:
    await grant(engine, "reader", "bob", READ_PODS)

    status = may(engine, user="bob", resourceAttributes={"verb": "get", "resource": "pods"})

    assert status == {
        "allowed": True,
        "reason": 'RBAC: allowed by ClusterRoleBinding "reader" of ClusterRole "reader" to User "bob"',
    }


async def test_a_no_is_plain(engine: Engine) -> None:
    assert may(engine, user="bob", resourceAttributes={"verb": "get", "resource": "pods"}) == {"allowed": False}


async def test_groups_count(engine: Engine) -> None:
    asked = {"verb": "delete", "resource": "nodes"}

    assert may(engine, groups=["system:masters"], resourceAttributes=asked) == {"allowed": True}


async def test_paths(engine: Engine) -> None:
    status = may(
        engine, user="x", groups=["system:authenticated"], nonResourceAttributes={"path": "/apis", "verb": "get"}
    )

    assert status["allowed"]
    assert 'ClusterRoleBinding "system:discovery"' in status["reason"]


async def test_oneself(engine: Engine) -> None:
    await grant(engine, "reader", "bob", READ_PODS)
    asked = {"verb": "get", "resource": "pods", "subresource": "log", "name": "x"}

    assert not may(engine, "SelfSubjectAccessReview", resourceAttributes=asked)["allowed"]
    assert may(engine, "SelfSubjectAccessReview", resourceAttributes={**asked, "subresource": ""})["allowed"]


@pytest.mark.parametrize(
    ("kind", "spec", "field"),
    [
        pytest.param("SubjectAccessReview", {"user": "bob"}, "spec.resourceAttributes", id="about nothing"),
        pytest.param("SubjectAccessReview", {"resourceAttributes": {"verb": "get"}}, "spec.user", id="about nobody"),
        pytest.param(
            "SubjectAccessReview",
            {"user": "bob", "resourceAttributes": {}, "nonResourceAttributes": {"path": "/a"}},
            "spec.nonResourceAttributes",
            id="about two things",
        ),
        pytest.param(
            "LocalSubjectAccessReview",
            {"user": "bob", "resourceAttributes": {"namespace": "other"}},
            "spec.resourceAttributes.namespace",
            id="about another namespace",
        ),
        pytest.param(
            "LocalSubjectAccessReview",
            {"user": "bob", "nonResourceAttributes": {"path": "/a"}},
            "spec.nonResourceAttributes",
            id="about a path in a namespace",
        ),
    ],
)
async def test_questions_that_make_no_sense(engine: Engine, kind: str, spec: Any, field: str) -> None:
    with pytest.raises(StatusError) as refused:
        may(engine, kind, **spec)

    assert refused.value.code == 422
    assert [cause.field for cause in refused.value.causes] == [field]


async def test_a_review_has_no_name(engine: Engine) -> None:
    with pytest.raises(StatusError, match="must be empty"):
        answer(engine, "SelfSubjectAccessReview", BOB, metadata={"name": "x"}, spec={"resourceAttributes": {}})


async def test_rules_review(engine: Engine) -> None:
    await grant(engine, "reader", "bob", READ_PODS)
    await bind(engine, "nowhere", {"apiGroup": RBAC, "kind": "User", "name": "bob"})

    status = answer(engine, "SelfSubjectRulesReview", BOB, spec={"namespace": "default"})["status"]

    assert {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]} in status["resourceRules"]
    assert any("/version" in rule["nonResourceURLs"] for rule in status["nonResourceRules"])
    assert status["evaluationError"] == 'clusterrole.rbac.authorization.k8s.io "nowhere" not found'
    with pytest.raises(StatusError, match="no namespace on request"):
        answer(engine, "SelfSubjectRulesReview", BOB, spec={})


async def test_who_am_i(engine: Engine) -> None:
    status = answer(engine, "SelfSubjectReview", BOB)["status"]

    assert status == {"userInfo": {"username": "bob", "groups": ["system:authenticated"]}}
