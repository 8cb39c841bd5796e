from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from penstock.embedded.server.catalog import Catalog
from penstock.embedded.server.ports import ServedResource
from penstock.embedded.tables import ROWS, KnownTables
from penstock.embedded.tables.columns import COLUMNS, definitions
from penstock.embedded.tables.durations import human
from penstock.embedded.tables.jsonpath import find

if TYPE_CHECKING:
    from penstock.kube.resources import Object

NOW = 1_767_225_600.0  # 2026-01-01T00:00:00Z
BORN = "2025-12-31T23:59:00Z"
TEMPLATE = {"spec": {"containers": [{"name": "c", "image": "i:1"}, {"name": "d", "image": "j:2"}]}}
SELECTOR = {"matchLabels": {"a": "b"}}


def served(group: str, plural: str, version: str = "v1") -> ServedResource:
    found = Catalog().find(group, version, plural)
    assert found is not None
    return found


def cells(path: str, version: str = "v1", **parts: Any) -> list[Any]:
    group, _, plural = path.partition("/")
    resource = served(group, plural, version)
    obj: Object = {"kind": resource.kind, "metadata": {"name": "x", "creationTimestamp": BORN}, **parts}
    obj["metadata"] = {"name": "x", "creationTimestamp": BORN, **parts.get("metadata", {})}
    return list(KnownTables(lambda: NOW).cells(resource, obj))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "<invalid>"),
        (-1, "0s"),
        (0.9, "0s"),
        (119, "119s"),
        (120, "2m"),
        (150, "2m30s"),
        (600, "10m"),
        (179 * 60, "179m"),
        (180 * 60, "3h"),
        (3 * 3600 + 300, "3h5m"),
        (8 * 3600 + 300, "8h"),
        (48 * 3600, "2d"),
        (50 * 3600, "2d2h"),
        (8 * 86400 + 3600, "8d"),
        (730 * 86400, "2y"),
        (735 * 86400, "2y5d"),
        (9 * 365 * 86400, "9y"),
    ],
)
def test_ages(seconds: float, text: str) -> None:
    assert human(seconds) == text


def test_every_table_has_rows_and_every_row_its_columns() -> None:
    assert ROWS.keys() == COLUMNS.keys()


@pytest.mark.parametrize(
    ("path", "names", "wide"),
    [
        ("/pods", "Name Ready Status Restarts Age", "IP|Node|Nominated Node|Readiness Gates"),
        ("apps/deployments", "Name Ready Up-to-date Available Age", "Containers|Images|Selector"),
        ("/services", "Name Type Cluster-IP External-IP Port(s) Age", "Selector"),
        (
            "/nodes",
            "Name Status Roles Age Version",
            "Internal-IP|External-IP|OS-Image|Kernel-Version|Container-Runtime",
        ),
    ],
)
def test_columns(path: str, names: str, wide: str) -> None:
    columns = definitions(path)

    assert [each["name"] for each in columns if not each["priority"]] == names.split(" ")
    assert [each["name"] for each in columns if each["priority"]] == wide.split("|")
    assert columns[0]["format"] == "name"


def test_without_columns_of_its_own_a_resource_shows_its_birth() -> None:
    resource = served("rbac.authorization.k8s.io", "roles")

    assert [each["name"] for each in KnownTables(lambda: NOW).columns(resource)] == ["Name", "Created At"]
    assert cells("rbac.authorization.k8s.io/roles") == ["x", BORN]


def container(name: str, state: Object, *, ready: bool = False, restarts: int = 0, ended: str = "") -> Object:
    last = {"lastState": {"terminated": {"exitCode": 1, "finishedAt": ended}}} if ended else {}
    return {"name": name, "ready": ready, "restartCount": restarts, "state": state, **last}


@pytest.mark.parametrize(
    ("pod", "ready", "status", "restarts"),
    [
        pytest.param({}, "0/2", "", "0", id="new"),
        pytest.param({"status": {"phase": "Pending"}}, "0/2", "Pending", "0", id="pending"),
        pytest.param(
            {
                "status": {
                    "phase": "Running",
                    "containerStatuses": [
                        container("c", {"running": {}}, ready=True, restarts=2, ended="2025-12-31T23:55:00Z"),
                        container("d", {"waiting": {"reason": "CrashLoopBackOff"}}, restarts=3),
                    ],
                }
            },
            "1/2",
            "CrashLoopBackOff",
            "5 (5m ago)",
            id="one crashes",
        ),
        pytest.param(
            {
                "status": {
                    "phase": "Pending",
                    "initContainerStatuses": [container("i", {"waiting": {"reason": "PodInitializing"}})],
                },
                "init": [{"name": "i"}, {"name": "s", "restartPolicy": "Always"}],
            },
            "0/3",
            "Init:0/2",
            "0",
            id="initialising, with a sidecar",
        ),
        pytest.param(
            {"status": {"phase": "Failed", "containerStatuses": [container("c", {"terminated": {"exitCode": 3}})]}},
            "0/2",
            "ExitCode:3",
            "0",
            id="an exit code",
        ),
        pytest.param(
            {"status": {"phase": "Running"}, "metadata": {"deletionTimestamp": BORN}},
            "0/2",
            "Terminating",
            "0",
            id="going",
        ),
        pytest.param({"status": {"phase": "Failed", "reason": "Evicted"}}, "0/2", "Evicted", "0", id="a reason"),
    ],
)
def test_pods(pod: Object, ready: str, status: str, restarts: str) -> None:
    spec = {**TEMPLATE["spec"], "initContainers": pod.pop("init", [])}

    assert cells("/pods", spec=spec, **pod) == ["x", ready, status, restarts, "60s", *["<none>"] * 4]


def test_a_completed_pod_says_so() -> None:
    tables, pods = KnownTables(lambda: NOW), served("", "pods")

    assert tables.conditions(pods, {"status": {"phase": "Running"}}) == []
    assert tables.conditions(pods, {"status": {"phase": "Succeeded"}}) == [
        {
            "type": "Completed",
            "status": "True",
            "reason": "Succeeded",
            "message": "The pod has completed successfully.",
        }
    ]


@pytest.mark.parametrize(
    ("path", "parts", "expected"),
    [
        pytest.param("/configmaps", {"data": {"a": "b"}, "binaryData": {"c": ""}}, [2], id="config map"),
        pytest.param("/secrets", {"type": "Opaque", "data": {"a": ""}}, ["Opaque", 1], id="secret"),
        pytest.param("/namespaces", {"status": {"phase": "Active"}}, ["Active"], id="namespace"),
        pytest.param("coordination.k8s.io/leases", {"spec": {"holderIdentity": "me"}}, ["me"], id="lease"),
        pytest.param(
            "networking.k8s.io/ingresses",
            {"spec": {"tls": [{}], "rules": [{"host": host} for host in ("a", "b", "c", "d")]}},
            ["<none>", "a,b,c + 1 more...", "", "80, 443"],
            id="ingress",
        ),
        pytest.param(
            "policy/poddisruptionbudgets",
            {"spec": {"minAvailable": "50%"}, "status": {"disruptionsAllowed": 1}},
            ["50%", "N/A", 1],
            id="disruption budget",
        ),
        pytest.param(
            "apps/statefulsets",
            {"spec": {"replicas": 2, "template": TEMPLATE}, "status": {"readyReplicas": 1}},
            ["1/2"],
            id="stateful set",
        ),
    ],
)
def test_rows(path: str, parts: Object, expected: list[Any]) -> None:
    found = cells(path, **parts)

    assert found[: len(expected) + 2] == ["x", *expected, "60s"]


def test_a_deployment() -> None:
    spec = {"replicas": 3, "template": TEMPLATE, "selector": SELECTOR}
    status = {"readyReplicas": 1, "updatedReplicas": 2, "availableReplicas": 1}

    assert cells("apps/deployments", spec=spec, status=status) == ["x", "1/3", 2, 1, "60s", "c,d", "i:1,j:2", "a=b"]


@pytest.mark.parametrize(
    ("selector", "text"),
    [
        ({}, "<none>"),
        ({"matchLabels": {"b": "2", "a": "1"}}, "a=1,b=2"),
        (
            {
                "matchExpressions": [
                    {"key": "z", "operator": "DoesNotExist"},
                    {"key": "a", "operator": "In", "values": ["c", "b"]},
                ]
            },
            "a in (b,c),!z",
        ),
    ],
)
def test_selectors(selector: Object, text: str) -> None:
    assert cells("networking.k8s.io/networkpolicies", spec={"podSelector": selector}) == ["x", text, "60s"]


@pytest.mark.parametrize(
    ("spec", "outside", "ports"),
    [
        pytest.param({"type": "ClusterIP", "ports": [{"port": 80}]}, "<none>", "80/TCP", id="inside"),
        pytest.param(
            {"type": "NodePort", "ports": [{"port": 53, "protocol": "UDP", "nodePort": 30053}]},
            "<none>",
            "53:30053/UDP",
            id="on the nodes",
        ),
        pytest.param({"type": "LoadBalancer"}, "<pending>", "<none>", id="nobody gave an address"),
        pytest.param({"type": "ExternalName", "externalName": "x.y"}, "x.y", "<none>", id="elsewhere"),
    ],
)
def test_services(spec: Object, outside: str, ports: str) -> None:
    assert cells("/services", spec=spec) == ["x", spec["type"], "<none>", outside, ports, "60s", "<none>"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (".a.b", [1]),
        (".a['b']", [1]),
        (".a.nope", []),
        (".l[1]", ["y"]),
        (".l[*]", ["x", "y"]),
        (".l[-1]", ["y"]),
        ('.c[?(@.type=="Ready")].status', ["True"]),
        (".c[?(@.type=='Nope')].status", []),
        (".c[?(@.type!='Ready')].status", ["False"]),
        (r".m.a\.b/c", [2]),
        ("nonsense", []),
    ],
)
def test_paths(path: str, expected: list[Any]) -> None:
    obj = {
        "a": {"b": 1},
        "l": ["x", "y"],
        "c": [{"type": "Ready", "status": "True"}, {"type": "Other", "status": "False"}],
        "m": {"a.b/c": 2},
    }

    assert find(obj, path) == expected


def test_columns_of_a_definition() -> None:
    asked: tuple[Object, ...] = (
        {"name": "Mode", "type": "string", "jsonPath": ".spec.mode", "description": "how"},
        {"name": "Count", "type": "integer", "jsonPath": ".spec.count", "priority": 1},
        {"name": "Made", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
        {"name": "On", "type": "boolean", "jsonPath": ".spec.on"},
        {"name": "All", "type": "string", "jsonPath": ".spec.all"},
        {"name": "Wrong", "type": "integer", "jsonPath": ".spec.mode"},
    )
    resource = ServedResource(
        "test.io", "v1", "wids", "wid", "Wid", namespaced=True, verbs=("get",), custom=True, columns=asked
    )
    tables = KnownTables(lambda: NOW)
    obj = {
        "metadata": {"name": "w", "creationTimestamp": BORN},
        "spec": {"mode": "x", "count": 3.0, "on": True, "all": {"b": 1, "a": [2]}},
    }

    columns = [(each["name"], each["type"], each["priority"], each["description"]) for each in tables.columns(resource)]
    assert columns[:3] == [("Name", "string", 0, ""), ("Mode", "string", 0, "how"), ("Count", "integer", 1, "")]
    assert tables.cells(resource, obj) == ["w", "x", 3, "60s", True, '{"a":[2],"b":1}', None]


def test_without_columns_a_definition_shows_ages() -> None:
    resource = ServedResource("test.io", "v1", "wids", "wid", "Wid", namespaced=True, verbs=("get",), custom=True)

    assert [each["name"] for each in KnownTables(lambda: NOW).columns(resource)] == ["Name", "Age"]
    obj = {"metadata": {"name": "w", "creationTimestamp": BORN}}
    assert KnownTables(lambda: NOW).cells(resource, obj) == ["w", "60s"]
