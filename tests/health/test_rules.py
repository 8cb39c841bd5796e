"""The rules for each kind, one line a case."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from penstock.health import HealthStatus, status_of
from penstock.health.rules import unschedulable

if TYPE_CHECKING:
    from penstock.kube import Object

CURRENT, IN_PROGRESS, FAILED = HealthStatus.CURRENT, HealthStatus.IN_PROGRESS, HealthStatus.FAILED
TERMINATING, UNKNOWN = HealthStatus.TERMINATING, HealthStatus.UNKNOWN

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def condition(name: str, status: str = "True", reason: str = "") -> Object:
    return {"type": name, "status": status, "reason": reason, "message": f"{name} is {status}"}


def thing(
    kind: str, spec: Object | None = None, *conditions: Object, metadata: Object | None = None, **status: Any
) -> Object:
    api_version, _, name = kind.rpartition("/")
    if conditions:
        status["conditions"] = list(conditions)
    return {
        "apiVersion": api_version,
        "kind": name,
        "metadata": {"name": "x", **(metadata or {})},
        "spec": spec or {},
        "status": status,
    }


ROLLED_OUT: Object = {"replicas": 2, "updatedReplicas": 2, "availableReplicas": 2, "readyReplicas": 2}
AVAILABLE = condition("Available")
NEW = condition("Progressing", reason="NewReplicaSetAvailable")
DEADLINE: Object = {"replicas": 2, "progressDeadlineSeconds": 600}


def deployment(*conditions: Object, spec: Object | None = None, **status: Any) -> Object:
    return thing("apps/v1/Deployment", spec or DEADLINE, *conditions, **{**ROLLED_OUT, **status})


SET: Object = {"replicas": 2, "readyReplicas": 2, "currentReplicas": 2, "updatedReplicas": 2}


def stateful(spec: Object | None = None, **status: Any) -> Object:
    return thing("apps/v1/StatefulSet", {"replicas": 2, **(spec or {})}, **{**SET, **status})


def rolling(partition: int) -> Object:
    return {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": partition}}}


REPLICAS: Object = {"replicas": 2, "fullyLabeledReplicas": 2, "availableReplicas": 2, "readyReplicas": 2}


def replicas(*conditions: Object, **status: Any) -> Object:
    return thing("apps/v1/ReplicaSet", {"replicas": 2}, *conditions, **{**REPLICAS, **status})


NODES: Object = {
    "observedGeneration": 1,
    "desiredNumberScheduled": 2,
    "currentNumberScheduled": 2,
    "updatedNumberScheduled": 2,
    "numberAvailable": 2,
    "numberReady": 2,
}


def daemons(drop: str = "", generation: int | None = 1, **status: Any) -> Object:
    metadata = {} if generation is None else {"generation": generation}
    values = {key: value for key, value in {**NODES, **status}.items() if key != drop}
    return thing("apps/v1/DaemonSet", metadata=metadata, **values)


CRASHING = [{"name": "app", "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]
PULLING = [{"name": "app", "state": {"waiting": {"reason": "ImagePullBackOff"}}}]
NO_NODE = condition("PodScheduled", "False", "Unschedulable")


def pod(phase: str, *conditions: Object, age: float = 60, **status: Any) -> Object:
    created = (NOW - timedelta(seconds=age)).isoformat().replace("+00:00", "Z")
    return thing("v1/Pod", None, *conditions, metadata={"creationTimestamp": created}, phase=phase, **status)


CASES = [
    ("a ConfigMap", thing("v1/ConfigMap"), CURRENT),
    ("a Secret", thing("v1/Secret"), CURRENT),
    ("a CronJob", thing("batch/v1/CronJob", None, condition("Ready", "False")), CURRENT),
    ("a disruption budget", thing("policy/v1/PodDisruptionBudget", None, condition("Ready", "False")), CURRENT),
    (
        "an unseen disruption budget",
        thing("policy/v1/PodDisruptionBudget", metadata={"generation": 2}, observedGeneration=1),
        IN_PROGRESS,
    ),
    ("a Service", thing("v1/Service"), CURRENT),
    ("a load balancer without address", thing("v1/Service", {"type": "LoadBalancer"}), IN_PROGRESS),
    ("a load balancer with one", thing("v1/Service", {"type": "LoadBalancer", "clusterIP": "10.0.0.1"}), CURRENT),
    ("a bound claim", thing("v1/PersistentVolumeClaim", phase="Bound"), CURRENT),
    ("a claim that waits", thing("v1/PersistentVolumeClaim", phase="Pending"), IN_PROGRESS),
    ("a claim nobody saw", thing("v1/PersistentVolumeClaim"), IN_PROGRESS),
    ("a Deployment that is rolled out", deployment(AVAILABLE, NEW), CURRENT),
    (
        "one past its deadline",
        deployment(AVAILABLE, condition("Progressing", "False", "ProgressDeadlineExceeded")),
        FAILED,
    ),
    ("one with too few replicas", deployment(AVAILABLE, NEW, replicas=1), IN_PROGRESS),
    ("one that is not updated", deployment(AVAILABLE, NEW, updatedReplicas=1), IN_PROGRESS),
    ("one with old replicas left", deployment(AVAILABLE, NEW, replicas=3), IN_PROGRESS),
    ("one that is not available", deployment(AVAILABLE, NEW, availableReplicas=1), IN_PROGRESS),
    ("one that is not ready", deployment(AVAILABLE, NEW, readyReplicas=1), IN_PROGRESS),
    ("one that says nothing of progress", deployment(AVAILABLE), IN_PROGRESS),
    ("one without a deadline needs not say so", deployment(AVAILABLE, spec={"replicas": 2}), CURRENT),
    (
        "one with the longest deadline neither",
        deployment(AVAILABLE, spec={"replicas": 2, "progressDeadlineSeconds": 2**31 - 1}),
        CURRENT,
    ),
    ("one without the condition Available", deployment(NEW), IN_PROGRESS),
    ("one without replicas", thing("apps/v1/Deployment", {"replicas": 0}, AVAILABLE), CURRENT),
    ("one of the old group", thing("extensions/v1beta1/Deployment", {}), IN_PROGRESS),
    ("a StatefulSet that is rolled out", stateful(currentRevision="a", updateRevision="a"), CURRENT),
    (
        "one whose pods are replaced by hand",
        stateful({"updateStrategy": {"type": "OnDelete"}}, readyReplicas=0),
        CURRENT,
    ),
    ("a StatefulSet with too few replicas", stateful(replicas=1), IN_PROGRESS),
    ("a StatefulSet that is not ready", stateful(readyReplicas=1), IN_PROGRESS),
    ("a StatefulSet with surplus replicas", stateful(replicas=3), IN_PROGRESS),
    ("a StatefulSet with an old revision", stateful(currentRevision="a", updateRevision="b"), IN_PROGRESS),
    ("a StatefulSet with too few current ones", stateful(currentReplicas=1), IN_PROGRESS),
    ("a partition that is rolled out", stateful(rolling(1), updatedReplicas=1, currentReplicas=1), CURRENT),
    ("a partition that is not", stateful(rolling(1), updatedReplicas=0), IN_PROGRESS),
    ("a ReplicaSet that is complete", replicas(), CURRENT),
    ("a ReplicaSet with a failure", replicas(condition("ReplicaFailure")), IN_PROGRESS),
    ("a ReplicaSet with unlabelled pods", replicas(fullyLabeledReplicas=1), IN_PROGRESS),
    ("a ReplicaSet that is not available", replicas(availableReplicas=1), IN_PROGRESS),
    ("a ReplicaSet that is not ready", replicas(readyReplicas=1), IN_PROGRESS),
    ("a ReplicaSet with surplus pods", replicas(replicas=3), IN_PROGRESS),
    ("a DaemonSet on all nodes", daemons(), CURRENT),
    ("a DaemonSet without generation", daemons(generation=None), IN_PROGRESS),
    ("a DaemonSet nobody saw", daemons("observedGeneration"), IN_PROGRESS),
    ("a DaemonSet without a number", daemons("desiredNumberScheduled"), IN_PROGRESS),
    ("a DaemonSet on too few nodes", daemons(currentNumberScheduled=1), IN_PROGRESS),
    ("a DaemonSet that is not updated", daemons(updatedNumberScheduled=1), IN_PROGRESS),
    ("a DaemonSet that is not available", daemons(numberAvailable=1), IN_PROGRESS),
    ("a DaemonSet that is not ready", daemons(numberReady=1), IN_PROGRESS),
    ("a Pod that is done", pod("Succeeded"), CURRENT),
    ("a Pod that failed is done too", pod("Failed"), CURRENT),
    ("a Pod that is ready", pod("Running", condition("Ready")), CURRENT),
    ("a Pod that crashes", pod("Running", condition("Ready", "False"), containerStatuses=CRASHING), FAILED),
    ("a Pod that pulls", pod("Running", containerStatuses=PULLING), IN_PROGRESS),
    ("a Pod that begins", pod("Pending"), IN_PROGRESS),
    ("a Pod without a node, at first", pod("Pending", NO_NODE, age=10), IN_PROGRESS),
    ("a Pod without a node, for long", pod("Pending", NO_NODE, age=16), FAILED),
    ("a Pod nobody saw", pod(""), IN_PROGRESS),
    ("a Pod in a phase nobody knows", pod("Dreaming"), UNKNOWN),
    ("a Job that nobody saw", thing("batch/v1/Job"), IN_PROGRESS),
    ("a Job that runs", thing("batch/v1/Job", None, startTime="2026-01-01T00:00:00Z"), IN_PROGRESS),
    ("a Job that is complete", thing("batch/v1/Job", None, condition("Complete")), CURRENT),
    ("a Job that failed", thing("batch/v1/Job", None, condition("Failed")), FAILED),
    ("a Job that is suspended", thing("batch/v1/Job", {"suspend": True}, condition("Failed")), CURRENT),
    (
        "a Job that is being deleted is judged all the same",
        thing("batch/v1/Job", None, condition("Complete"), metadata={"deletionTimestamp": "x"}),
        CURRENT,
    ),
    (
        "a CRD that is served",
        thing(
            "apiextensions.k8s.io/v1/CustomResourceDefinition",
            None,
            condition("NamesAccepted"),
            condition("Established"),
        ),
        CURRENT,
    ),
    (
        "a CRD with a name that is taken",
        thing("apiextensions.k8s.io/v1/CustomResourceDefinition", None, condition("NamesAccepted", "False")),
        FAILED,
    ),
    (
        "a CRD that is being installed",
        thing(
            "apiextensions.k8s.io/v1/CustomResourceDefinition", None, condition("Established", "False", "Installing")
        ),
        IN_PROGRESS,
    ),
    (
        "a CRD that cannot be",
        thing(
            "apiextensions.k8s.io/v1/CustomResourceDefinition", None, condition("Established", "False", "NotAccepted")
        ),
        FAILED,
    ),
    ("a CRD nobody saw", thing("apiextensions.k8s.io/v1/CustomResourceDefinition"), IN_PROGRESS),
    ("a custom object without conditions", thing("example.com/v1/Widget"), CURRENT),
    ("a custom object that is ready", thing("example.com/v1/Widget", None, condition("Ready")), CURRENT),
    ("a custom object that is not", thing("example.com/v1/Widget", None, condition("Ready", "False")), IN_PROGRESS),
    (
        "a custom object that does not know",
        thing("example.com/v1/Widget", None, condition("Ready", "Unknown")),
        IN_PROGRESS,
    ),
    (
        "a custom object with a strange Ready",
        thing("example.com/v1/Widget", None, condition("Ready", "Perhaps")),
        CURRENT,
    ),
    (
        "anything that is being deleted",
        thing("v1/ConfigMap", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}),
        TERMINATING,
    ),
    (
        "anything whose generation nobody saw",
        thing("example.com/v1/Widget", None, condition("Ready"), metadata={"generation": 2}, observedGeneration=1),
        IN_PROGRESS,
    ),
    ("anything that is reconciling", deployment(AVAILABLE, NEW, condition("Reconciling")), IN_PROGRESS),
    ("anything that is stalled", deployment(AVAILABLE, NEW, condition("Stalled")), FAILED),
    (
        "the first of both decides",
        thing("example.com/v1/Widget", None, condition("Stalled"), condition("Reconciling")),
        FAILED,
    ),
    ("a namespace", thing("v1/Namespace", phase="Active"), CURRENT),
]


@pytest.mark.parametrize(("obj", "expected"), [pytest.param(obj, expected, id=name) for name, obj, expected in CASES])
def test_status(obj: Object, expected: HealthStatus) -> None:
    assert status_of(obj, now=NOW).status is expected


@pytest.mark.parametrize(
    "obj",
    [
        {},
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": None, "spec": [], "status": "x"},
        thing("apps/v1/Deployment", {"replicas": "2"}, status="x"),
        {"apiVersion": "v1", "kind": "Pod", "status": {"phase": "Running", "containerStatuses": [None, {"state": 1}]}},
        {"kind": "Widget", "status": {"conditions": [1, None, {"type": 7}]}},
    ],
)
def test_an_object_of_a_strange_shape_is_judged_and_not_feared(obj: Object) -> None:
    assert status_of(obj).status in HealthStatus


def test_a_pod_without_a_node() -> None:
    assert unschedulable(pod("Pending", NO_NODE))
    assert not unschedulable(pod("Pending", condition("PodScheduled")))
