"""How far a rollout is: the kinds that keep a number of pods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.health.status import Health, conditions, current, failed, in_progress, number, part, text

if TYPE_CHECKING:
    from penstock.kube import Object

NO_DEADLINE = 2**31 - 1
"""The `progressDeadlineSeconds` with which a Deployment never says that it progresses."""


def deployment(obj: Object) -> Health:
    spec, status = part(obj, "spec"), part(obj, "status")
    progressing = number(spec, "progressDeadlineSeconds", NO_DEADLINE) == NO_DEADLINE
    available = False
    for one in conditions(obj):
        if one.type == "Progressing" and one.reason == "ProgressDeadlineExceeded":
            return failed("the progress deadline is exceeded")
        if one.type == "Progressing" and one.status == "True" and one.reason == "NewReplicaSetAvailable":
            progressing = True
        if one.type == "Available" and one.status == "True":
            available = True
    wanted = number(spec, "replicas", 1)
    replicas = number(status, "replicas", 0)
    updated = number(status, "updatedReplicas", 0)
    waiting = (
        _fewer("replicas", replicas, wanted)
        or _fewer("updated", updated, wanted)
        or _surplus(replicas, wanted)
        or _fewer("available", number(status, "availableReplicas", 0), updated)
        or _fewer("ready", number(status, "readyReplicas", 0), wanted)
    )
    if waiting:
        return waiting
    if not progressing:
        return in_progress("the new ReplicaSet is not available")
    if not available:
        return in_progress("the Deployment is not available")
    return current(f"available, replicas: {replicas}")


def replica_set(obj: Object) -> Health:
    spec, status = part(obj, "spec"), part(obj, "status")
    if any(one.type == "ReplicaFailure" and one.status == "True" for one in conditions(obj)):
        return in_progress("a replica failed, look at the pods")
    wanted = number(spec, "replicas", 1)
    replicas = number(status, "replicas", 0)
    return (
        _fewer("labelled", number(status, "fullyLabeledReplicas", 0), wanted)
        or _fewer("available", number(status, "availableReplicas", 0), wanted)
        or _fewer("ready", number(status, "readyReplicas", 0), wanted)
        or _surplus(replicas, wanted)
        or current(f"available, replicas: {replicas}")
    )


def stateful_set(obj: Object) -> Health:
    spec, status = part(obj, "spec"), part(obj, "status")
    strategy = part(spec, "updateStrategy")
    if text(strategy, "type") == "OnDelete":
        return current("pods are replaced by hand")
    wanted = number(spec, "replicas", 1)
    replicas = number(status, "replicas", 0)
    waiting = (
        _fewer("replicas", replicas, wanted)
        or _fewer("ready", number(status, "readyReplicas", 0), wanted)
        or _surplus(replicas, wanted)
    )
    if waiting:
        return waiting
    partition = number(part(strategy, "rollingUpdate"), "partition", -1)
    if partition != -1:
        updated = number(status, "updatedReplicas", 0)
        return _fewer("updated", updated, wanted - partition) or current(f"partition rolled out, updated: {updated}")
    if waiting := _fewer("current", number(status, "currentReplicas", 0), wanted):
        return waiting
    if text(status, "currentRevision") != text(status, "updateRevision"):
        return in_progress("not every replica has the new revision")
    return current(f"rolled out, replicas: {replicas}")


def daemon_set(obj: Object) -> Health:
    status = part(obj, "status")
    # Its controller always writes both; without them it has not looked yet.
    if "generation" not in part(obj, "metadata") or "observedGeneration" not in status:
        return in_progress("the controller has not seen it yet")
    wanted = number(status, "desiredNumberScheduled", -1)
    if wanted == -1:
        return in_progress("the number of nodes is not known yet")
    return (
        _fewer("current", number(status, "currentNumberScheduled", 0), wanted)
        or _fewer("updated", number(status, "updatedNumberScheduled", 0), wanted)
        or _fewer("available", number(status, "numberAvailable", 0), wanted)
        or _fewer("ready", number(status, "numberReady", 0), wanted)
        or current(f"rolled out, replicas: {wanted}")
    )


def _fewer(name: str, have: int, wanted: int) -> Health | None:
    return in_progress(f"{name}: {have}/{wanted}") if wanted > have else None


def _surplus(have: int, wanted: int) -> Health | None:
    return in_progress(f"to be terminated: {have - wanted}") if have > wanted else None
