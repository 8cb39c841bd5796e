"""Requests about access, life cycle, definitions and tables whose answers must be the real server's.

Add rows freely, then run `python -m tests.embedded.definitions.record` to ask the real server. `AWAITED` names, for the
scenarios that define resources, what must be served before the comparison begins.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.embedded.server.playing import Request, delete, get, patch, post, put

AS_TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
ROLES = "/apis/rbac.authorization.k8s.io/v1"
GROUP = "rbac.authorization.k8s.io"
MAPS = "/api/v1/namespaces/{ns}/configmaps"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDS = "/apis/wid.test.io/v1/namespaces/{ns}/wids"
TEXT: dict[str, Any] = {"type": "string"}


def acting(request: Request, user: str, **more: str) -> Request:
    """The same request, by somebody else."""
    named = {f"Impersonate-{key.capitalize()}": value for key, value in more.items()}
    return replace(request, headers={"Impersonate-User": user, **named})


def rule(*resources: str, verbs: tuple[str, ...] = ("get",), group: str = "") -> dict[str, Any]:
    return {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}


def role(name: str, *rules: dict[str, Any], **parts: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "rules": list(rules), **parts}


def binding(name: str, to: str, user: str = "bob", kind: str = "ClusterRole") -> dict[str, Any]:
    return {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": GROUP, "kind": kind, "name": to},
        "subjects": [{"apiGroup": GROUP, "kind": "User", "name": user}],
    }


def config(name: str, **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, **metadata}}


SCHEMA = {
    "type": "object",
    "required": ["spec"],
    "properties": {
        "spec": {
            "type": "object",
            "required": ["name"],
            "properties": {
                "name": {**TEXT, "minLength": 2, "maxLength": 5, "pattern": "^a"},
                "mode": {**TEXT, "enum": ["x", "y"], "default": "x"},
                "count": {"type": "integer", "minimum": 0, "maximum": 10},
                "port": {"x-kubernetes-int-or-string": True},
                "when": {**TEXT, "format": "date-time"},
                "maybe": {**TEXT, "nullable": True},
                "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": TEXT, "maxItems": 3},
                "ports": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["port", "protocol"],
                    "items": {
                        "type": "object",
                        "required": ["port"],
                        "properties": {"port": {"type": "integer"}, "protocol": {**TEXT, "default": "TCP"}},
                    },
                },
                "numbers": {"type": "object", "additionalProperties": {"type": "integer"}},
                "deep": {"type": "object", "default": {}, "properties": {"a": {**TEXT, "default": "b"}}},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "one": {"type": "object", "properties": {"a": TEXT}, "oneOf": [{"required": ["a"]}]},
            },
        },
        "status": {"type": "object", "properties": {"replicas": {"type": "integer"}, "note": TEXT}},
    },
}
WID_DEFINITION: dict[str, Any] = {
    "metadata": {"name": "wids.wid.test.io"},
    "spec": {
        "group": "wid.test.io",
        "names": {"plural": "wids", "kind": "Wid", "shortNames": ["wd"], "categories": ["all"]},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": SCHEMA},
                "subresources": {
                    "status": {},
                    "scale": {"specReplicasPath": ".spec.count", "statusReplicasPath": ".status.replicas"},
                },
                "additionalPrinterColumns": [
                    {"name": "Mode", "type": "string", "jsonPath": ".spec.mode"},
                    {"name": "Count", "type": "integer", "jsonPath": ".spec.count", "priority": 1},
                ],
            }
        ],
    },
}


def wid(called: str, /, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "wid.test.io/v1", "kind": "Wid", "metadata": {"name": called}, "spec": spec}


def bad_definition(**spec: Any) -> Request:
    made = {**WID_DEFINITION["spec"], "names": {"plural": "bads", "kind": "Bad"}, "group": "bad.test.io", **spec}
    return post(DEFINITIONS, {"metadata": {"name": "bads.bad.test.io"}, "spec": made})


def bad_schema(schema: dict[str, Any], **version: Any) -> Request:
    made = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, **version}
    return bad_definition(versions=[made])


BROKEN: tuple[dict[str, Any], ...] = (
    {"name": "a"},
    {"name": "abcdef"},
    {"name": "bb"},
    {"name": 5},
    {"name": None},
    {"mode": "z"},
    {"count": 11},
    {"count": "2"},
    {"count": -1},
    {"port": True},
    {"when": "soon"},
    {"tags": ["a", "a"]},
    {"tags": ["a", "b", "c", "d"]},
    {"ports": [{"port": 1}, {"port": 1, "protocol": "TCP"}]},
    {"ports": [{}]},
    {"numbers": {"a": "x"}},
    {"one": {}},
)
"""What is wrong with a spec, each in its own way."""
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}}
SELECTOR = {"matchLabels": {"a": "b"}}

SCENARIOS: dict[str, list[Request]] = {
    "nobody may anything": [
        acting(get(path), "jane")
        for path in (
            "/api/v1/namespaces/x/pods",
            "/api/v1/namespaces/x/pods/p/log",
            "/api/v1/nodes/n",
            "/apis/apps/v1/deployments?watch=1",
            "/apis/no.such.group/v1/namespaces/x/foos",
            "/api/v1/namespaces/kube-system",
            "/foo/bar",
        )
    ],
    "impersonation asks for a user": [
        replace(get("/version"), headers={"Impersonate-Group": "a"}),
        replace(get("/version"), headers={"Impersonate-Uid": "a"}),
        replace(get("/version"), headers={"Impersonate-Extra-Foo": "a"}),
        replace(get("/api/v1/pods"), headers={"Impersonate-User": "x", "Authorization": ""}),
        replace(get("/api"), headers={"Authorization": ""}),
        replace(get("/api"), headers={"Authorization": "Bearer junk"}),
    ],
    "nobody grants more than they hold": [
        post(
            f"{ROLES}/clusterroles",
            role("keeper", rule("*", verbs=("create", "update", "patch"), group=GROUP), rule("pods")),
        ),
        post(f"{ROLES}/clusterrolebindings", binding("keeper", "keeper")),
        acting(post(f"{ROLES}/clusterroles", role("fine", rule("pods"))), "bob"),
        acting(post(f"{ROLES}/clusterroles", role("more", rule("pods", "secrets", verbs=("get", "list")))), "bob"),
        acting(post(f"{ROLES}/namespaces/{{ns}}/roles", role("more", rule("nodes"))), "bob"),
        acting(put(f"{ROLES}/clusterroles/fine", role("fine", rule("secrets"))), "bob"),
        acting(
            post(
                f"{ROLES}/clusterroles",
                role("sum", aggregationRule={"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}),
            ),
            "bob",
        ),
        acting(post(f"{ROLES}/clusterrolebindings", binding("b1", "cluster-admin")), "bob"),
        acting(post(f"{ROLES}/clusterrolebindings", binding("b1", "nowhere")), "bob"),
        acting(post(f"{ROLES}/namespaces/{{ns}}/rolebindings", binding("b1", "nowhere", kind="Role")), "bob"),
        acting(post(f"{ROLES}/clusterrolebindings", binding("b1", "x", kind="Role")), "bob"),
        acting(post(f"{ROLES}/clusterrolebindings", binding("b2", "fine")), "bob"),
    ],
    "reviews that make no sense": [
        post("/apis/authorization.k8s.io/v1/subjectaccessreviews", {"spec": {"user": "bob"}}),
        post("/apis/authorization.k8s.io/v1/subjectaccessreviews", {"spec": {"resourceAttributes": {"verb": "get"}}}),
        post(
            "/apis/authorization.k8s.io/v1/subjectaccessreviews",
            {"spec": {"user": "a", "resourceAttributes": {}, "nonResourceAttributes": {"path": "/a", "verb": "get"}}},
        ),
        post("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", {"spec": {}}),
        post("/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {}}),
    ],
    "namespaces have an end": [
        post("/api/v1/namespaces/nowhere/configmaps", config("a")),
        delete("/api/v1/namespaces/default"),
        post(MAPS, config("held", finalizers=["a.b/c"])),
        delete("/api/v1/namespaces/{ns}"),
        post(MAPS, config("late")),
        delete("/api/v1/namespaces/{ns}"),
    ],
    "how things are deleted": [
        *[post(MAPS, config(f"c{number}", finalizers=["a.b/c"])) for number in range(2)],
        post(MAPS, config("free")),
        delete(f"{MAPS}/free", {"propagationPolicy": "Foreground"}),
        delete(f"{MAPS}/c0"),
        delete(f"{MAPS}/c0", {"propagationPolicy": "Foreground"}),
        delete(f"{MAPS}/c0", {"propagationPolicy": "Orphan"}),
        delete(f"{MAPS}/c1", {"propagationPolicy": "Background"}),
        patch(f"{MAPS}/c1", {"metadata": {"finalizers": None}}),
        get(f"{MAPS}/c1"),
    ],
    "definitions that are refused": [
        bad_definition(scope="Foo"),
        bad_definition(group=""),
        bad_definition(group="nodots"),
        bad_definition(names={}),
        bad_definition(names={"plural": "Bads", "kind": "bad_"}),
        bad_definition(versions=[]),
        bad_definition(conversion={"strategy": "Webhook"}),
        bad_definition(preserveUnknownFields=True),
        bad_schema({"type": "object", "properties": {"a": {"properties": {"b": TEXT}}}}),
        bad_schema({"type": "object", "properties": {"a": {"type": "array"}}}),
        bad_schema({"type": "object", "properties": {"a": {**TEXT, "pattern": "("}}}),
        bad_schema({"type": "object", "additionalProperties": TEXT}),
        bad_schema({"type": "object", "properties": {"metadata": {"type": "object", "properties": {"labels": TEXT}}}}),
        bad_schema({"type": "object", "properties": {"a": {"type": "object", "oneOf": [{"type": "object"}]}}}),
        bad_schema({"type": "string"}),
        bad_schema({"type": "object"}, subresources={"scale": {}}),
        bad_schema({"type": "object"}, additionalPrinterColumns=[{"name": "a", "type": "foo", "jsonPath": "spec"}]),
    ],
    "custom objects": [
        post(WIDS, wid("plain", name="ab")),
        post(WIDS, wid("rich", name="ab", unknown=1, free={"x": [1]}, ports=[{"port": 1}], maybe=None, count=3)),
        *[post(WIDS, wid(f"bad{number}", **{"name": "ab", **spec})) for number, spec in enumerate(BROKEN)],
        post(WIDS, {"apiVersion": "wid.test.io/v1", "kind": "Wid", "metadata": {"name": "empty"}}),
        post(WIDS, wid("Bad_Name", name="ab")),
        post(WIDS, {**wid("labels", name="ab"), "metadata": {"name": "l", "labels": {"a": 1}}}),
        post(WIDS, {**wid("status", name="ab"), "status": {"replicas": 3}}),
        patch(f"{WIDS}/status/status", {"spec": {"name": "zz"}, "status": {"replicas": 2}}),
        patch(f"{WIDS}/status/status", {"status": {"replicas": "x"}}),
        patch(f"{WIDS}/rich", {"spec": {"mode": "y"}}),
        get(f"{WIDS}/rich/scale"),
        get(f"{WIDS}/plain/scale"),
        get(WIDS, AS_TABLE),
        delete(f"{WIDS}/plain"),
    ],
    "tables": [
        post(
            "/apis/apps/v1/namespaces/{ns}/deployments",
            {"metadata": {"name": "d"}, "spec": {"replicas": 2, "selector": SELECTOR, "template": TEMPLATE}},
        ),
        post(
            "/apis/networking.k8s.io/v1/namespaces/{ns}/networkpolicies",
            {"metadata": {"name": "n"}, "spec": {"podSelector": SELECTOR}},
        ),
        post(MAPS, {**config("c"), "data": {"a": "b"}}),
        get("/apis/apps/v1/namespaces/{ns}/deployments", AS_TABLE),
        get("/apis/networking.k8s.io/v1/namespaces/{ns}/networkpolicies", AS_TABLE),
        get(MAPS, AS_TABLE),
        get("/api/v1/namespaces/{ns}/pods", AS_TABLE),
    ],
}
BEFORE: dict[str, list[Request]] = {"custom objects": [post(DEFINITIONS, WID_DEFINITION)]}
AWAITED: dict[str, str] = {"custom objects": WIDS}
