from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from penstock.embedded.behaviour import PREFIX
from penstock.embedded.server.ports import DeleteOptions
from tests.embedded.lifecycle.running import create, get, resource, running, until

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from penstock.embedded.server.api import Engine
    from penstock.kube.resources import Object


@pytest_asyncio.fixture
async def engine() -> AsyncGenerator[Engine]:
    async with running() as made:
        await until(made, lambda: get(made, "ServiceAccount", "default"))
        yield made


def template(*, restart: str = "Always", image: str = "i", **wishes: str) -> Object:
    """A pod template; `fail="true"` becomes the annotation of that name."""
    annotations = {PREFIX + name.replace("_", "-"): value for name, value in wishes.items()}
    spec = {"containers": [{"name": "c", "image": image}], "restartPolicy": restart}
    return {"metadata": {"labels": {"app": "x"}, "annotations": annotations}, "spec": spec}


def workload(**parts: Any) -> Object:
    return {"selector": {"matchLabels": {"app": "x"}}, "template": template(), **parts}


def status(engine: Engine, kind: str, name: str = "x") -> Object:
    return (get(engine, kind, name) or {}).get("status") or {}


def conditions(engine: Engine, kind: str, name: str = "x") -> dict[str, tuple[str, str]]:
    found = status(engine, kind, name).get("conditions") or ()
    return {each["type"]: (each["status"], each["reason"]) for each in found}


def pods(engine: Engine) -> list[Object]:
    return engine.list(resource(engine, "Pod"), "default")


async def test_a_deployment_becomes_available(engine: Engine) -> None:
    await create(engine, "Deployment", "x", spec=workload(replicas=2))

    await until(engine, lambda: status(engine, "Deployment").get("availableReplicas") == 2)
    found = status(engine, "Deployment")
    counts = {key: value for key, value in found.items() if key != "conditions"}
    assert counts == {
        "observedGeneration": 1,
        "replicas": 2,
        "updatedReplicas": 2,
        "readyReplicas": 2,
        "availableReplicas": 2,
        "terminatingReplicas": 0,
    }
    assert conditions(engine, "Deployment") == {
        "Available": ("True", "MinimumReplicasAvailable"),
        "Progressing": ("True", "NewReplicaSetAvailable"),
    }


async def test_pods_belong_to_a_set_and_the_set_to_the_deployment(engine: Engine) -> None:
    deployment = await create(engine, "Deployment", "x", spec=workload())
    await until(engine, lambda: len(pods(engine)) == 1)

    owner = pods(engine)[0]["metadata"]["ownerReferences"][0]
    replica_set = get(engine, "ReplicaSet", owner["name"])

    assert replica_set is not None
    assert owner["controller"]
    assert replica_set["metadata"]["ownerReferences"][0]["uid"] == deployment["metadata"]["uid"]
    assert replica_set["spec"]["selector"]["matchLabels"].keys() == {"app", "pod-template-hash"}
    assert replica_set["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "1"


async def test_a_change_rolls_out(engine: Engine) -> None:
    await create(engine, "Deployment", "x", spec=workload())
    await until(engine, lambda: status(engine, "Deployment").get("availableReplicas") == 1)

    patch = {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "new"}]}}}}
    await engine.merge(resource(engine, "Deployment"), "x", "default", patch)

    await until(engine, lambda: [pod["spec"]["containers"][0]["image"] for pod in pods(engine)] == ["new"])
    await until(engine, lambda: status(engine, "Deployment").get("observedGeneration") == 2)
    live = get(engine, "Deployment", "x")
    assert live is not None
    assert live["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "2"
    assert len(engine.list(resource(engine, "ReplicaSet"), "default")) == 2


async def test_the_old_pods_stay_while_the_new_ones_fail(engine: Engine) -> None:
    await create(engine, "Deployment", "x", spec=workload())
    await until(engine, lambda: status(engine, "Deployment").get("availableReplicas") == 1)

    bad = template(image="bad", never_ready="true")
    await engine.merge(resource(engine, "Deployment"), "x", "default", {"spec": {"template": bad}})

    await until(engine, lambda: status(engine, "Deployment").get("updatedReplicas") == 1 and len(pods(engine)) == 2)
    assert conditions(engine, "Deployment")["Available"] == ("True", "MinimumReplicasAvailable")
    assert status(engine, "Deployment")["replicas"] == 2


async def test_scaling_down_takes_pods_away(engine: Engine) -> None:
    await create(engine, "Deployment", "x", spec=workload(replicas=3))
    await until(engine, lambda: status(engine, "Deployment").get("availableReplicas") == 3)

    await engine.merge(resource(engine, "Deployment"), "x", "default", {"spec": {"replicas": 1}})

    await until(engine, lambda: status(engine, "Deployment").get("replicas") == 1)
    assert len(pods(engine)) == 1


async def test_never_ready_runs_into_the_deadline() -> None:
    ahead = 0.0
    async with running(clock=lambda: time.time() + ahead) as engine:
        spec = workload(progressDeadlineSeconds=600, template=template(never_ready="true"))
        await create(engine, "Deployment", "x", spec=spec)
        await until(engine, lambda: status(engine, "Deployment").get("unavailableReplicas") == 1)
        assert conditions(engine, "Deployment")["Available"] == ("False", "MinimumReplicasUnavailable")

        ahead = 700.0
        await engine.merge(resource(engine, "Deployment"), "x", "default", {"metadata": {"labels": {"look": "again"}}})

        await until(
            engine, lambda: conditions(engine, "Deployment")["Progressing"] == ("False", "ProgressDeadlineExceeded")
        )


@pytest.mark.parametrize(("wish", "reason"), [("image_pull_error", "ImagePullBackOff"), ("fail", "CrashLoopBackOff")])
async def test_pods_fare_as_their_annotations_ask(engine: Engine, wish: str, reason: str) -> None:
    await create(engine, "Deployment", "x", spec=workload(template=template(**{wish: "true"})))

    def reasons() -> list[str]:
        states = [each["state"] for pod in pods(engine) for each in pod["status"].get("containerStatuses") or ()]
        return [state["waiting"]["reason"] for state in states if "waiting" in state]

    await until(engine, lambda: reasons() == [reason])
    assert "availableReplicas" not in status(engine, "Deployment")


async def test_a_deleted_deployment_leaves_nothing(engine: Engine) -> None:
    await create(engine, "Deployment", "x", spec=workload())
    await until(engine, lambda: status(engine, "Deployment").get("availableReplicas") == 1)

    options = DeleteOptions(propagation="Foreground")
    await engine.delete(resource(engine, "Deployment"), "x", "default", options)

    await until(engine, lambda: get(engine, "Deployment", "x") is None)
    assert pods(engine) == []
    assert engine.list(resource(engine, "ReplicaSet"), "default") == []


async def test_a_lost_pod_is_replaced(engine: Engine) -> None:
    await create(engine, "Deployment", "x", spec=workload())
    await until(engine, lambda: status(engine, "Deployment").get("availableReplicas") == 1)
    lost = pods(engine)[0]["metadata"]["name"]

    await engine.delete(resource(engine, "Pod"), lost, "default")

    await until(engine, lambda: [pod["metadata"]["name"] for pod in pods(engine)] not in ([], [lost]))


async def test_pods_of_a_stateful_set_come_in_order(engine: Engine) -> None:
    claim = {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    spec = workload(replicas=2, serviceName="x", volumeClaimTemplates=[claim])
    await create(engine, "StatefulSet", "x", spec=spec)

    await until(engine, lambda: status(engine, "StatefulSet").get("readyReplicas") == 2)
    found = status(engine, "StatefulSet")
    assert sorted(pod["metadata"]["name"] for pod in pods(engine)) == ["x-0", "x-1"]
    assert found["currentRevision"] == found["updateRevision"]
    assert (found["replicas"], found["updatedReplicas"], found["availableReplicas"]) == (2, 2, 2)
    assert get(engine, "PersistentVolumeClaim", "data-x-1")
    assert pods(engine)[0]["spec"]["volumes"][0]["persistentVolumeClaim"] == {"claimName": "data-x-0"}


async def test_a_stateful_set_waits_for_its_first_pod(engine: Engine) -> None:
    spec = workload(replicas=2, serviceName="x", template=template(never_ready="true"))
    await create(engine, "StatefulSet", "x", spec=spec)

    await until(engine, lambda: status(engine, "StatefulSet").get("currentReplicas") == 1)
    assert [pod["metadata"]["name"] for pod in pods(engine)] == ["x-0"]
    assert "readyReplicas" not in status(engine, "StatefulSet")


async def test_a_stateful_set_replaces_pod_by_pod(engine: Engine) -> None:
    await create(engine, "StatefulSet", "x", spec=workload(replicas=2, serviceName="x"))
    await until(engine, lambda: status(engine, "StatefulSet").get("readyReplicas") == 2)

    await engine.merge(resource(engine, "StatefulSet"), "x", "default", {"spec": {"template": template(image="new")}})

    await until(engine, lambda: {pod["spec"]["containers"][0]["image"] for pod in pods(engine)} == {"new"})
    await until(engine, lambda: status(engine, "StatefulSet").get("updatedReplicas") == 2)
    await until(
        engine,
        lambda: status(engine, "StatefulSet")["currentRevision"] == status(engine, "StatefulSet")["updateRevision"],
    )


async def test_a_daemon_set_has_one_pod_though_there_are_no_nodes(engine: Engine) -> None:
    await create(engine, "DaemonSet", "x", spec=workload())

    await until(engine, lambda: status(engine, "DaemonSet").get("numberAvailable") == 1)
    assert engine.list(resource(engine, "Node")) == []
    assert [pod["spec"].get("nodeName") for pod in engine.list(resource(engine, "Pod"))] == [None]
    assert status(engine, "DaemonSet") == {
        "currentNumberScheduled": 1,
        "numberMisscheduled": 0,
        "desiredNumberScheduled": 1,
        "numberReady": 1,
        "observedGeneration": 1,
        "updatedNumberScheduled": 1,
        "numberAvailable": 1,
    }


async def test_a_job_completes(engine: Engine) -> None:
    await create(engine, "Job", "x", spec={"completions": 3, "parallelism": 2, "template": template(restart="Never")})

    await until(engine, lambda: "Complete" in conditions(engine, "Job"))
    found = status(engine, "Job")
    assert conditions(engine, "Job") == {
        "SuccessCriteriaMet": ("True", "CompletionsReached"),
        "Complete": ("True", "CompletionsReached"),
    }
    assert found["succeeded"] == 3
    assert found["completionTime"]
    assert "active" not in found


async def test_a_job_fails_after_its_last_try(engine: Engine) -> None:
    spec = {"backoffLimit": 1, "template": template(restart="Never", fail="true")}
    await create(engine, "Job", "x", spec=spec)

    await until(engine, lambda: "Failed" in conditions(engine, "Job"))
    assert conditions(engine, "Job") == {
        "FailureTarget": ("True", "BackoffLimitExceeded"),
        "Failed": ("True", "BackoffLimitExceeded"),
    }
    assert status(engine, "Job")["failed"] == 2


async def test_a_suspended_job_waits(engine: Engine) -> None:
    await create(engine, "Job", "x", spec={"suspend": True, "template": template(restart="Never")})
    await until(engine, lambda: conditions(engine, "Job") == {"Suspended": ("True", "JobSuspended")})
    assert pods(engine) == []

    await engine.merge(resource(engine, "Job"), "x", "default", {"spec": {"suspend": False}})

    await until(engine, lambda: "Complete" in conditions(engine, "Job"))
    assert conditions(engine, "Job")["Suspended"] == ("False", "JobResumed")


async def test_a_delay_is_kept(engine: Engine) -> None:
    await create(engine, "Deployment", "x", spec=workload(template=template(delay="50ms")))
    began = time.monotonic()

    await until(engine, lambda: status(engine, "Deployment").get("replicas") == 1)
    await until(engine, lambda: status(engine, "Deployment").get("availableReplicas") == 1)

    assert time.monotonic() - began >= 0.05


async def test_pods_of_nobody_run_too(engine: Engine) -> None:
    await create(engine, "Pod", "alone", spec=template()["spec"])

    await until(engine, lambda: status(engine, "Pod", "alone").get("phase") == "Running")
