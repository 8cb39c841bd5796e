"""What lies below a pod: its resources to be changed, and containers to look inside with."""

from __future__ import annotations

from typing import Any

from tests.embedded.server.playing import PATCH, STRATEGIC, Request, apply, get, patch, post, put

PODS = "/api/v1/namespaces/{ns}/pods"
_ACCOUNT = post("/api/v1/namespaces/{ns}/serviceaccounts", {"metadata": {"name": "default"}})


def _pod(name: str, **fields: Any) -> dict[str, Any]:
    metadata = {"name": name, **fields.pop("metadata", {})}
    spec = {"automountServiceAccountToken": False, "containers": [_container("main")], **fields}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _container(name: str, **fields: Any) -> dict[str, Any]:
    resources = {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"cpu": "1", "memory": "128Mi"}}
    return {"name": name, "image": "nginx", "resources": resources, **fields}


def _resources(request: str, **limits: str) -> dict[str, Any]:
    return {"requests": {"cpu": request}, **({"limits": limits} if limits else {})}


def _resized(*containers: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {"spec": {"containers": list(containers), **spec}}


def _debugger(name: str = "debug", **fields: Any) -> dict[str, Any]:
    return {"spec": {"ephemeralContainers": [{"name": name, "image": "busybox", **fields}]}}


_STARTED = {"name": "main", "ready": True, "restartCount": 0, "image": "nginx", "imageID": "", "state": {"running": {}}}
_RUNNING = {"status": {"containerStatuses": [_STARTED]}}

BELOW_PODS: dict[str, list[Request]] = {
    "resizing a pod": [
        _ACCOUNT,
        post(PODS, _pod("a")),
        get(f"{PODS}/a/resize"),
        patch(f"{PODS}/a/resize", _resized({"name": "main", "resources": _resources("200m")}), STRATEGIC),
        patch(f"{PODS}/a/resize", _resized({"name": "main", "resources": _resources("200m")}), STRATEGIC),
        patch(
            f"{PODS}/a/resize",
            [{"op": "replace", "path": "/spec/containers/0/resources/limits/memory", "value": "256Mi"}],
            PATCH,
        ),
        put(f"{PODS}/a/resize", _pod("a", containers=[_container("main")])),
        put(f"{PODS}/a/resize", _pod("a", metadata={"labels": {"x": "y"}}, hostNetwork=True)),
        patch(f"{PODS}/a/resize?dryRun=All", _resized({"name": "main", "resources": _resources("300m")}), STRATEGIC),
        apply(
            f"{PODS}/a/resize?fieldManager=m",
            {**_pod("a"), **_resized({"name": "main", "resources": _resources("300m")})},
        ),
        apply(
            f"{PODS}/a/resize?fieldManager=m&force=true",
            {**_pod("a"), **_resized({"name": "main", "resources": _resources("300m")})},
        ),
        get(f"{PODS}/a"),
    ],
    "resizes that are refused": [
        _ACCOUNT,
        post(PODS, _pod("a", initContainers=[_container("init"), _container("side", restartPolicy="Always")])),
        *(
            patch(f"{PODS}/a/resize", body, STRATEGIC)
            for body in (
                _resized({"name": "main", "resources": {"requests": {"cpu": None}}}),
                _resized({"name": "main", "resources": {"limits": None}}),
                _resized({"name": "main", "resources": {"limits": {"ephemeral-storage": "1Gi"}}}),
                _resized({"name": "main", "resources": _resources("2")}),
                _resized({"name": "main", "resources": _resources("-1")}),
                _resized({"name": "main", "resources": {"requests": {"cpu": "1", "memory": "128Mi"}}}),
                _resized({"name": "main", "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "NotRequired"}]}),
                _resized({"name": "other", "image": "nginx"}),
                _resized({"name": "main", "image": "other"}),
                {"spec": {"initContainers": [{"name": "init", "resources": _resources("200m")}]}},
                {"spec": {"initContainers": [{"name": "side", "resources": _resources("200m")}]}},
                {"spec": {"initContainers": [{"name": "side", "resources": {"limits": {"example.com/x": "1"}}}]}},
                {"spec": {"initContainers": [{"name": "new", "image": "x"}]}},
                {"spec": {"resources": {"limits": {"cpu": "2", "memory": "1Gi"}}}},
                {"metadata": {"labels": {"a": "b"}, "finalizers": ["x"]}},
                {"metadata": {"name": "b"}},
            )
        ),
        put(f"{PODS}/a/resize", _pod("a", containers=[_container("renamed")])),
        put(f"{PODS}/a/resize", _pod("b")),
        put(f"{PODS}/nope/resize", _pod("nope")),
        patch(f"{PODS}/nope/resize", {}, STRATEGIC),
        post(f"{PODS}/a/resize", _pod("a")),
        patch(f"{PODS}/a/status", _RUNNING),
        patch(f"{PODS}/a/resize", _resized({"name": "main", "resources": _resources("200m")}), STRATEGIC),
        post(PODS, _pod("win", os={"name": "windows"})),
        patch(f"{PODS}/win/resize", _resized({"name": "main", "resources": _resources("200m")}), STRATEGIC),
        post(PODS, _pod("bound", nodeName="nowhere")),
        patch(f"{PODS}/bound/resize", _resized({"name": "main", "resources": _resources("200m")}), STRATEGIC),
        patch(f"{PODS}/bound/resize", _resized({"name": "main", "resources": _resources("100m")}), STRATEGIC),
    ],
    "resizing a pod on a node": [
        _ACCOUNT,
        post("/api/v1/nodes", {"metadata": {"name": "{ns}"}}),
        patch("/api/v1/nodes/{ns}/status", {"status": {"allocatable": {"cpu": "1", "memory": "1Gi"}}}),
        post(PODS, _pod("a", nodeName="{ns}", initContainers=[_container("init")])),
        patch(f"{PODS}/a/resize", _resized({"name": "main", "resources": _resources("500m")}), STRATEGIC, heard="500m"),
        *(
            patch(f"{PODS}/a/resize", body, STRATEGIC)
            for body in (
                _resized({"name": "main", "resources": _resources("1500m", cpu="2")}),
                _resized({"name": "main", "resources": {"limits": {"memory": "2Gi"}, "requests": {"memory": "2Gi"}}}),
                _resized({"name": "main", "resources": _resources("1500m", cpu="2", memory="2Gi")}),
                {"spec": {"initContainers": [{"name": "init", "resources": _resources("200m")}]}},
                {"spec": {"resources": {"limits": {"cpu": "2", "memory": "1Gi"}}}},
            )
        ),
        patch("/api/v1/nodes/{ns}", {"metadata": {"labels": {"kubernetes.io/os": "windows"}}}),
        patch(
            f"{PODS}/a/resize",
            _resized({"name": "main", "resources": _resources("600m")}),
            STRATEGIC,
            heard="UnsupportedPlatform",
        ),
    ],
    "resizing what a pod has as a whole": [
        _ACCOUNT,
        post(PODS, _pod("a", resources={"requests": {"cpu": "1"}, "limits": {"cpu": "2", "memory": "1Gi"}})),
        *(
            patch(f"{PODS}/a/resize", {"spec": {"resources": body}}, STRATEGIC)
            for body in (
                {"requests": {"cpu": "1500m"}},
                {"limits": {"cpu": "3"}},
                {"limits": {"cpu": None}},
                {"requests": {"hugepages-2Mi": "2Mi"}, "limits": {"hugepages-2Mi": "2Mi"}},
                None,
            )
        ),
        *(
            post(f"{PODS}?dryRun=All", _pod("b", resources=resources, **fields))
            for resources, fields in (
                ({"limits": {"cpu": "2"}}, {}),
                ({"limits": {"memory": "32Mi"}}, {}),
                ({"requests": {"cpu": "50m"}}, {}),
                ({"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}, {}),
                ({"limits": {"ephemeral-storage": "1Gi"}}, {}),
                ({"limits": {"odd": "1"}}, {}),
                ({"limits": {"hugepages-2Mi": "4Mi"}}, {}),
                ({"limits": {"cpu": "1"}, "claims": [{"name": "x"}]}, {}),
                ({"limits": {"cpu": "1"}}, {"os": {"name": "windows"}}),
                ({}, {}),
                ({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Gi"}}, {}),
                (
                    {"limits": {"cpu": "4"}},
                    {"initContainers": [_container("i"), _container("s", restartPolicy="Always"), _container("j")]},
                ),
            )
        ),
    ],
    "containers to look inside with": [
        _ACCOUNT,
        post(PODS, _pod("a")),
        get(f"{PODS}/a/ephemeralcontainers"),
        patch(f"{PODS}/a/ephemeralcontainers", _debugger(), STRATEGIC),
        patch(f"{PODS}/a/ephemeralcontainers", _debugger(), STRATEGIC),
        patch(f"{PODS}/a/ephemeralcontainers", _debugger("second", targetContainerName="main"), STRATEGIC),
        patch(f"{PODS}/a/ephemeralcontainers", {"metadata": {"labels": {"a": "b"}}}, STRATEGIC),
        apply(f"{PODS}/a/ephemeralcontainers?fieldManager=m", {**_pod("a"), **_debugger("third")}),
        put(f"{PODS}/a/ephemeralcontainers", {**_pod("a"), **_debugger()}),
        get(f"{PODS}/a"),
    ],
    "containers to look inside with that are refused": [
        _ACCOUNT,
        post(PODS, _pod("a")),
        patch(f"{PODS}/a/ephemeralcontainers", _debugger(), STRATEGIC),
        *(
            patch(f"{PODS}/a/ephemeralcontainers", body, STRATEGIC)
            for body in (
                _debugger(image="other"),
                _debugger("main"),
                _debugger("Bad_Name"),
                _debugger("new", image=""),
                _debugger("new", image=" busybox"),
                _debugger("new", targetContainerName="nobody"),
                _debugger("new", targetContainerName="debug"),
                _debugger("new", ports=[{"containerPort": 80}]),
                _debugger("new", resources={"limits": {"cpu": "1"}}),
                _debugger("new", readinessProbe={"exec": {"command": ["true"]}}),
                _debugger("new", volumeMounts=[{"name": "x", "mountPath": "/x", "subPath": "y"}]),
            )
        ),
        patch(f"{PODS}/a/ephemeralcontainers", {"spec": {"ephemeralContainers": None}}),
        put(f"{PODS}/a/ephemeralcontainers", _pod("a")),
        put(f"{PODS}/nope/ephemeralcontainers", _pod("nope")),
        patch(f"{PODS}/a", _debugger("new"), STRATEGIC),
        post(PODS, _pod("mirror", metadata={"annotations": {"kubernetes.io/config.mirror": "x"}}, nodeName="n")),
        patch(f"{PODS}/mirror/ephemeralcontainers", _debugger(), STRATEGIC),
    ],
}
