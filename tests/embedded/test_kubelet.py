"""The pure half of the pod simulation, move by move."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from penstock.embedded.behaviour import Behaviour
from penstock.embedded.kubelet import Remove, Write, next_move

if TYPE_CHECKING:
    from penstock.kube import Object

NOON = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
LATER = datetime(2026, 1, 1, 12, 5, tzinfo=UTC)
JOB = [{"apiVersion": "batch/v1", "kind": "Job", "name": "once", "uid": "1", "controller": True}]


def pod(*, status: Object | None = None, metadata: Object | None = None, **spec: Any) -> Object:
    return {
        "metadata": {"name": "web", "namespace": "test", "uid": "u-1", "generation": 1, **(metadata or {})},
        "spec": {"containers": [{"name": "main", "image": "web:1"}], "restartPolicy": "Always", **spec},
        "status": status or {"phase": "Pending"},
    }


def job_pod(restart: str = "Never", **more: Any) -> Object:
    return pod(restartPolicy=restart, metadata={"ownerReferences": JOB}, **more)


def moves(start: Object, behaviour: Behaviour, *, most: int = 4) -> list[tuple[str, float]]:
    """Play the pod as far as it goes; the names and pauses of the moves."""
    made: list[tuple[str, float]] = []
    for _ in range(most):
        move = next_move(start, behaviour, NOON)
        if not isinstance(move, Write):
            break
        made.append((move.name, move.after))
        start = {**start, "status": {**start["status"], **move.status}}
    return made


@pytest.mark.parametrize(
    ("start", "behaviour", "expected"),
    [
        pytest.param(pod(), Behaviour(), [("ready", 0)], id="a pod is ready in one move"),
        pytest.param(pod(), Behaviour(delay=2), [("start", 0), ("ready", 2)], id="with a delay it runs first"),
        pytest.param(pod(), Behaviour(never_ready=True), [("unready", 0)], id="never ready"),
        pytest.param(pod(), Behaviour(image_pull_error=True), [("no image", 0)], id="image pull error"),
        pytest.param(
            pod(), Behaviour(image_pull_error=True, fail=True), [("no image", 0)], id="no image, so no failure"
        ),
        pytest.param(
            pod(),
            Behaviour(fail=True),
            [("crash 1", 0), ("crash 2", 0.1), ("crash 3", 0.2), ("crash 4", 0.4)],
            id="a failing pod restarts, ever more slowly",
        ),
        pytest.param(pod(restartPolicy="Never"), Behaviour(fail=True), [("fail", 0)], id="unless it must not"),
        pytest.param(pod(restartPolicy="Never"), Behaviour(), [("ready", 0)], id="a bare pod runs on"),
        pytest.param(job_pod(), Behaviour(), [("complete", 0)], id="a Job's pod completes"),
        pytest.param(job_pod("OnFailure"), Behaviour(), [("complete", 0)], id="whatever its restart policy"),
        pytest.param(job_pod(), Behaviour(delay=2), [("start", 0), ("complete", 2)], id="a Job's pod takes its time"),
        pytest.param(job_pod(), Behaviour(never_ready=True), [("unready", 0)], id="a Job's pod that hangs"),
        pytest.param(job_pod(), Behaviour(fail=True, delay=1), [("start", 0), ("fail", 1)], id="one that fails late"),
        pytest.param(pod(status={"phase": "Succeeded"}), Behaviour(), [], id="what is over stays over"),
        pytest.param(pod(status={"phase": "Failed"}), Behaviour(fail=True), [], id="also after a failure"),
    ],
)
def test_moves(start: Object, behaviour: Behaviour, expected: list[tuple[str, float]]) -> None:
    assert moves(start, behaviour) == expected


@pytest.mark.parametrize(
    ("grace", "expected"),
    [
        pytest.param(30, Remove(), id="its containers end at once"),
        pytest.param(0, None, id="only a finalizer holds it"),
    ],
)
def test_a_deleted_pod(grace: int, expected: Remove | None) -> None:
    metadata = {"deletionTimestamp": "2026-01-01T12:00:00Z", "deletionGracePeriodSeconds": grace}
    assert next_move(pod(metadata=metadata), Behaviour(), NOON) == expected


def written(start: Object, behaviour: Behaviour, now: datetime = NOON) -> Object:
    move = next_move(start, behaviour, now)
    assert isinstance(move, Write)
    return move.status


def conditions(status: Object) -> dict[str, str]:
    return {condition["type"]: condition["status"] for condition in status["conditions"]}


def test_what_a_ready_pod_shows() -> None:
    status = written(pod(), Behaviour())
    assert status["phase"] == "Running"
    assert set(conditions(status).values()) == {"True"}
    assert set(conditions(status)) >= {"PodScheduled", "Initialized", "ContainersReady", "Ready"}
    assert status["startTime"] == "2026-01-01T12:00:00Z"
    assert status["podIPs"] == [{"ip": status["podIP"]}]
    assert status["podIP"].startswith("10.")
    (container,) = status["containerStatuses"]
    assert container["state"] == {"running": {"startedAt": "2026-01-01T12:00:00Z"}}
    assert (container["ready"], container["started"], container["restartCount"]) == (True, True, 0)


def test_a_resized_pod_tells_its_new_resources() -> None:
    made = pod()
    made["metadata"]["generation"] = 1
    made["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
    made["status"] = written(made, Behaviour())
    assert made["status"]["containerStatuses"][0]["resources"] == {"requests": {"cpu": "1"}}
    assert next_move(made, Behaviour(), NOON) is None

    made["metadata"]["generation"] = 2
    made["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "2"}}
    container = written(made, Behaviour())["containerStatuses"][0]
    assert (container["resources"], container["allocatedResources"]) == ({"requests": {"cpu": "2"}}, {"cpu": "2"})


def test_what_a_completed_pod_shows() -> None:
    status = written(job_pod(), Behaviour())
    assert status["phase"] == "Succeeded"
    assert conditions(status)["Ready"] == "False"
    assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 0


def test_what_a_failed_pod_shows() -> None:
    status = written(job_pod(), Behaviour(fail=True))
    assert status["phase"] == "Failed"
    assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 1


def test_what_a_crashing_pod_shows() -> None:
    status = written(pod(), Behaviour(fail=True))
    (container,) = status["containerStatuses"]
    assert status["phase"] == "Running"
    assert container["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert container["lastState"]["terminated"]["exitCode"] == 1
    assert container["restartCount"] == 1


def test_what_a_pod_without_image_shows() -> None:
    status = written(pod(), Behaviour(image_pull_error=True))
    assert status["phase"] == "Pending"
    assert status["containerStatuses"][0]["state"]["waiting"]["reason"] == "ImagePullBackOff"
    assert "podIP" not in status


def test_init_containers_have_ended_and_sidecars_run() -> None:
    init = [{"name": "before", "image": "a"}, {"name": "beside", "image": "b", "restartPolicy": "Always"}]
    status = written(pod(initContainers=init), Behaviour())
    states = {found["name"]: next(iter(found["state"])) for found in status["initContainerStatuses"]}
    assert states == {"before": "terminated", "beside": "running"}


def test_a_condition_that_stays_keeps_its_time() -> None:
    first = written(pod(), Behaviour(delay=1))
    second = written(pod(status=first), Behaviour(delay=1), LATER)
    times = {condition["type"]: condition["lastTransitionTime"] for condition in second["conditions"]}
    assert times["PodScheduled"] == "2026-01-01T12:00:00Z"
    assert times["Ready"] == "2026-01-01T12:05:00Z"


def test_a_readiness_gate_opens() -> None:
    gates = [{"conditionType": "example.com/open"}]
    shut = written(pod(readinessGates=gates), Behaviour())
    assert conditions(shut) | {"ContainersReady": "True", "Ready": "False"} == conditions(shut)
    assert next_move(pod(readinessGates=gates, status=shut), Behaviour(), NOON) is None
    opened = {**shut, "conditions": [*shut["conditions"], {"type": "example.com/open", "status": "True"}]}
    assert conditions(written(pod(readinessGates=gates, status=opened), Behaviour()))["Ready"] == "True"


def test_another_pod_has_another_address() -> None:
    addresses = {written(pod(metadata={"uid": str(number)}), Behaviour())["podIP"] for number in range(100)}
    assert len(addresses) == 100
