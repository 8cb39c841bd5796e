from __future__ import annotations

import pytest

from penstock.embedded.access.rules import Question, allows, describe, missing

PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}


@pytest.mark.parametrize(
    ("rule", "asked", "expected"),
    [
        pytest.param(PODS, Question("get", "", "pods", "a", "x"), True, id="named exactly"),
        pytest.param(PODS, Question("list", "", "pods"), False, id="another verb"),
        pytest.param(PODS, Question("get", "apps", "pods"), False, id="another group"),
        pytest.param(PODS, Question("get", "", "pods/log"), False, id="a resource is not its subresources"),
        pytest.param(
            {**PODS, "resources": ["*/log"]}, Question("get", "", "pods/log"), True, id="a subresource of all"
        ),
        pytest.param({**PODS, "resources": ["*/log"]}, Question("get", "", "pods"), False, id="and only of all"),
        pytest.param({**PODS, "resources": ["*"]}, Question("get", "", "pods/log"), True, id="a star has subresources"),
        pytest.param({**PODS, "verbs": ["*"], "apiGroups": ["*"]}, Question("x", "y", "pods"), True, id="stars"),
        pytest.param({**PODS, "resourceNames": ["a"]}, Question("get", "", "pods", "a"), True, id="its own name"),
        pytest.param({**PODS, "resourceNames": ["a"]}, Question("get", "", "pods", "b"), False, id="another name"),
        pytest.param({**PODS, "resourceNames": ["a"]}, Question("get", "", "pods"), False, id="no name"),
        pytest.param({"nonResourceURLs": ["/a/*"], "verbs": ["get"]}, Question("get", path="/a/b"), True, id="a path"),
        pytest.param(
            {"nonResourceURLs": ["/a/*"], "verbs": ["get"]}, Question("get", path="/b"), False, id="not below"
        ),
        pytest.param({"nonResourceURLs": ["*"], "verbs": ["get"]}, Question("get", "", "pods"), False, id="not a path"),
    ],
)
def test_a_rule_allows(rule: dict[str, list[str]], asked: Question, expected: bool) -> None:
    assert allows(rule, asked) is expected


@pytest.mark.parametrize(
    ("held", "wanted", "expected"),
    [
        pytest.param([PODS], [PODS], [], id="what one holds"),
        pytest.param([{**PODS, "verbs": ["*"]}], [PODS], [], id="part of what one holds"),
        pytest.param(
            [PODS],
            [{"apiGroups": [""], "resources": ["pods", "secrets"], "verbs": ["get", "list"]}],
            [
                '{APIGroups:[""], Resources:["pods"], Verbs:["list"]}',
                '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list"]}',
            ],
            id="verbs of one resource are told together",
        ),
        pytest.param(
            [{**PODS, "resourceNames": ["a"]}],
            [{**PODS, "resourceNames": ["a", "b"]}],
            ['{APIGroups:[""], Resources:["pods"], ResourceNames:["b"], Verbs:["get"]}'],
            id="names are told one by one",
        ),
        pytest.param(
            [{"nonResourceURLs": ["/foo"], "verbs": ["get"]}],
            [{"nonResourceURLs": ["/foo", "/bar/*"], "verbs": ["get"]}],
            ['{NonResourceURLs:["/bar/*"], Verbs:["get"]}'],
            id="URLs",
        ),
        pytest.param(
            [{**PODS, "resourceNames": ["a"]}],
            [PODS],
            ['{APIGroups:[""], Resources:["pods"], Verbs:["get"]}'],
            id="one name is not all",
        ),
    ],
)
def test_what_is_missing(
    held: list[dict[str, list[str]]], wanted: list[dict[str, list[str]]], expected: list[str]
) -> None:
    assert describe(missing(held, wanted)) == expected
