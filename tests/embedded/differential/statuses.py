"""Random statuses of the built-in kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.embedded.differential.making import few, some
from tests.embedded.differential.workloads import condition

if TYPE_CHECKING:
    from random import Random

    from penstock.kube.resources import Object

_TIMES = ("2024-01-02T03:04:05Z", "2024-01-02T03:04:06Z")


def service(random: Random) -> Object:
    """Of a Service or an Ingress."""
    return {
        "status": some(random, loadBalancer=lambda each: {"ingress": [{"ip": each.choice(("10.1.2.3", "10.1.2.4"))}]})
    }


def daemon_set(random: Random) -> Object:
    counts = {"currentNumberScheduled": 1, "numberMisscheduled": 0, "desiredNumberScheduled": 1, "numberReady": 1}
    return {"status": {**counts, **some(random, observedGeneration=(1, 2), conditions=few(condition))}}


def job(random: Random) -> Object:
    return {"status": some(random, active=(1, 2), ready=1, failed=(0, 1), startTime=_TIMES, conditions=few(condition))}


def cron_job(random: Random) -> Object:
    active = few(lambda _, name: {"kind": "Job", "name": name, "apiVersion": "batch/v1"})
    return {"status": some(random, lastScheduleTime=_TIMES, lastSuccessfulTime=_TIMES, active=active)}


def claim(random: Random) -> Object:
    return {
        "status": some(
            random,
            phase=("Pending", "Bound"),
            accessModes=["ReadWriteOnce"],
            capacity=({"storage": "1Gi"}, {"storage": "2048Mi"}),
            conditions=few(condition),
        )
    }


def quota(random: Random) -> Object:
    """Without limits of its own, which the real server would enforce at once."""
    return {"status": some(random, used=({"pods": "1"}, {"services": "2", "pods": "0.5k"}))}


def autoscaler(random: Random) -> Object:
    return {
        "status": {"currentReplicas": 1, "desiredReplicas": random.choice((1, 2)), **some(random, lastScaleTime=_TIMES)}
    }


def budget(random: Random) -> Object:
    counts = {"currentHealthy": 1, "desiredHealthy": 1, "disruptionsAllowed": 0, "expectedPods": 1}
    return {"status": {**counts, **some(random, observedGeneration=(1, 2), disruptedPods=({"a": _TIMES[0]}, {}))}}


def pod(random: Random) -> Object:
    return {
        "status": some(
            random,
            phase=("Pending", "Running", "Failed"),
            conditions=few(condition),
            message=("x", "y"),
            podIP="10.1.2.3",
            podIPs=([{"ip": "10.1.2.3"}], []),
            startTime=_TIMES,
        )
    }


def volume(random: Random) -> Object:
    return {"status": some(random, phase=("Pending", "Available", "Bound"), message=("x", "y"), reason="Because")}


def node(random: Random) -> Object:
    return {
        "status": some(
            random,
            capacity=({"cpu": "2", "memory": "4Gi"}, {"cpu": "2000m"}),
            conditions=few(condition),
            addresses=few(lambda _, name: {"type": "Hostname", "address": name}),
            phase="Running",
        )
    }
