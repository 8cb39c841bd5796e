"""Random objects, judged by us and by the libraries of Flux."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from penstock.health import status_of
from tests.controlplane.build import NoGo
from tests.health.real_kstatus import program, statuses
from tests.health.test_rules import CASES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.kube import Object

OBJECTS = 20_000

NUMBERS = (
    *("replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas", "fullyLabeledReplicas"),
    *("desiredNumberScheduled", "currentNumberScheduled", "updatedNumberScheduled", "numberAvailable", "numberReady"),
    *("active", "succeeded", "failed"),
)
KINDS = (
    *("v1/ConfigMap", "v1/Secret", "v1/Service", "v1/PersistentVolumeClaim", "v1/Pod", "v1/Namespace"),
    *("apps/v1/Deployment", "apps/v1/ReplicaSet", "apps/v1/StatefulSet", "apps/v1/DaemonSet"),
    *("extensions/v1beta1/Deployment", "extensions/v1beta1/DaemonSet", "batch/v1/Job", "batch/v1/CronJob"),
    *("policy/v1/PodDisruptionBudget", "apiextensions.k8s.io/v1/CustomResourceDefinition", "example.com/v1/Widget"),
)
CONDITIONS = (
    *("Ready", "Available", "Progressing", "ReplicaFailure", "PodScheduled", "Complete", "Failed", "Established"),
    *("NamesAccepted", "Reconciling", "Stalled"),
)
REASONS = ("", "NewReplicaSetAvailable", "ProgressDeadlineExceeded", "Unschedulable", "Installing", "NotAccepted")
PHASES = ("Running", "Pending", "Succeeded", "Failed", "Bound", "Active", "", "Odd")


def thing(dice: random.Random) -> Object:
    """An object in which most numbers fit, so that the later rules of a kind are reached too."""
    api_version, _, kind = dice.choice(KINDS).rpartition("/")
    usual = dice.randrange(3)
    found: Object = {"apiVersion": api_version, "kind": kind, "metadata": metadata(dice)}
    if dice.random() < 0.95:
        found["spec"] = spec(dice, usual)
    if dice.random() < 0.95:
        found["status"] = status(dice, usual)
    return found


def metadata(dice: random.Random) -> Object:
    # Far from the moment at which a pod without a node counts as failed, whenever each of the two looks.
    created = datetime.now(UTC) + timedelta(hours=dice.choice((-1, 1)))
    found: Object = {"name": "x", "creationTimestamp": created.strftime("%Y-%m-%dT%H:%M:%SZ")}
    if dice.random() < 0.7:
        found["generation"] = dice.choice((1, 1, 1, 2))
    if dice.random() < 0.03:
        found["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return found


def spec(dice: random.Random, usual: int) -> Object:
    found: Object = {}
    _maybe(dice, found, "replicas", (usual, usual, usual, 1, "2", 1.5, True))
    _maybe(dice, found, "progressDeadlineSeconds", (600, 2**31 - 1))
    _maybe(dice, found, "suspend", (True, False, False))
    _maybe(dice, found, "type", ("LoadBalancer", "ClusterIP"))
    _maybe(dice, found, "clusterIP", ("", "10.0.0.1"))
    if dice.random() < 0.5:
        strategy: Object = {"type": dice.choice(("OnDelete", "RollingUpdate", "RollingUpdate"))}
        if dice.random() < 0.5:
            strategy["rollingUpdate"] = {"partition": dice.randrange(3)}
        found["updateStrategy"] = strategy
    return found


def status(dice: random.Random, usual: int) -> Object:
    found: Object = {}
    for name in NUMBERS:
        if dice.random() < 0.9:
            found[name] = usual if dice.random() < 0.85 else dice.randrange(4)
    _maybe(dice, found, "observedGeneration", (1, 1, 1, 2))
    _maybe(dice, found, "phase", PHASES)
    _maybe(dice, found, "startTime", ("2026-01-01T00:00:00Z",))
    _maybe(dice, found, "currentRevision", ("a", "a", "b"))
    _maybe(dice, found, "updateRevision", ("a", "a", "b"))
    if dice.random() < 0.5:
        reason = dice.choice(("CrashLoopBackOff", "ImagePullBackOff"))
        found["containerStatuses"] = [{"name": "app", "state": dice.choice(({"waiting": {"reason": reason}}, {}))}]
    if dice.random() < 0.9:
        found["conditions"] = [condition(dice) for _ in range(dice.randrange(5))]
    return found


def condition(dice: random.Random) -> Object:
    return {
        # The conditions that override all others are rare, or nothing else would be seen.
        "type": dice.choice(CONDITIONS[:-2] if dice.random() < 0.97 else CONDITIONS[-2:]),
        "status": dice.choice(("True", "True", "False", "Unknown", "Odd")),
        "reason": dice.choice(REASONS),
    }


def _maybe(dice: random.Random, target: Object, name: str, values: Sequence[Any]) -> None:
    if dice.random() < 0.8:
        target[name] = dice.choice(values)


@pytest.mark.real
@pytest.mark.timeout(1800)
def test_the_same_as_flux_says() -> None:
    try:
        program()
    except NoGo as error:
        pytest.skip(f"not here: {error}")
    dice = random.Random(17)
    objects = [obj for _, obj, _ in CASES if obj["metadata"].get("creationTimestamp") is None]
    objects += [thing(dice) for _ in range(OBJECTS)]
    found = [str(status_of(obj).status) for obj in objects]
    real = statuses(objects)
    assert len(real) == len(objects)
    different = [(obj, ours, theirs) for obj, ours, theirs in zip(objects, found, real, strict=True) if ours != theirs]
    assert different == []
    assert set(found) == {"Current", "InProgress", "Failed", "Terminating", "Unknown"}
