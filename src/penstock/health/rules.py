"""Is it rolled out: one small function a kind, and what all objects have in common.

The rules are kstatus as Flux uses it, with Flux's own rule for Jobs (a Job is done when it is complete, not when it has
started). They are compared with the Go library on random objects.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from penstock.health.status import (
    Health,
    HealthStatus,
    conditions,
    current,
    failed,
    in_progress,
    part,
    text,
)
from penstock.health.workloads import daemon_set, deployment, replica_set, stateful_set
from penstock.kube.resources import GroupKind, group_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.health.expressions import Expressions
    from penstock.kube import Object

SCHEDULING = timedelta(seconds=15)
"""How long a new pod may be unschedulable before that counts as a failure."""


def status_of(obj: Object, *, expressions: Expressions | None = None, now: datetime | None = None) -> Health:
    """How the object is doing, by the user's expressions for its kind if there are some, else by the built-in rules."""
    kind = GroupKind(group_of(text(obj, "apiVersion")), text(obj, "kind"))
    if expressions and (check := expressions.find(kind)):
        return check.judge(obj)
    if kind == _JOB:
        return _job(obj)
    if common := _common(obj):
        return common
    if kind == _POD:
        return pod(obj, now=now or datetime.now(UTC))
    return RULES.get(kind, _by_ready_condition)(obj)


def unschedulable(obj: Object) -> bool:
    """Whether the scheduler found no place for the pod, which an autoscaler may still cure."""
    return any(
        one.type == "PodScheduled" and one.status == "False" and one.reason == "Unschedulable"
        for one in conditions(obj)
    )


def pod(obj: Object, *, now: datetime) -> Health:
    match text(part(obj, "status"), "phase"):
        case "Succeeded":
            return current("completed")
        case "Failed":
            return current("completed, but not successfully")
        case "Running":
            return _running(obj)
        case "Pending":
            return _pending(obj, now)
        case "":
            return in_progress("nobody has looked at the pod yet")
        case phase:
            return Health(HealthStatus.UNKNOWN, f"unknown phase {phase}")


def _running(obj: Object) -> Health:
    if any(one.type == "Ready" and one.status == "True" for one in conditions(obj)):
        return current("ready")
    if crashing := [name for name, reason in _waiting_containers(obj) if reason == "CrashLoopBackOff"]:
        return failed(f"containers that crash again and again: {', '.join(crashing)}")
    return in_progress("running, but not ready")


def _waiting_containers(obj: Object) -> list[tuple[str, str]]:
    found = part(obj, "status").get("containerStatuses")
    statuses = [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
    return [(text(one, "name"), text(part(part(one, "state"), "waiting"), "reason")) for one in statuses]


def _pending(obj: Object, now: datetime) -> Health:
    if not unschedulable(obj):
        return in_progress("pending")
    try:
        created = datetime.fromisoformat(text(part(obj, "metadata"), "creationTimestamp"))
    except ValueError:
        created = datetime.min.replace(tzinfo=UTC)
    if now - SCHEDULING < created:
        return in_progress("not scheduled yet")
    return failed("cannot be scheduled")


def _common(obj: Object) -> Health | None:
    """What needs no knowledge of the kind; None when that decides nothing."""
    metadata, status = part(obj, "metadata"), part(obj, "status")
    if text(metadata, "deletionTimestamp"):
        return Health(HealthStatus.TERMINATING, "is being deleted")
    generation, observed = metadata.get("generation"), status.get("observedGeneration")
    if "generation" in metadata and "observedGeneration" in status and generation != observed:
        return in_progress(f"generation is {generation}, the controller has seen {observed}")
    for one in conditions(obj):
        if one.type == "Reconciling" and one.status == "True":
            return in_progress(one.message)
        if one.type == "Stalled" and one.status == "True":
            return failed(one.message)
    return None


def _by_ready_condition(obj: Object) -> Health:
    for one in conditions(obj):
        if one.type == "Ready" and one.status == "True":
            return current("ready")
        if one.type == "Ready" and one.status in ("False", "Unknown"):
            return in_progress(one.message)
    return current("nothing says that it is not ready")


def _job(obj: Object) -> Health:
    if part(obj, "spec").get("suspend") is True:
        return current("suspended")
    for one in conditions(obj):
        if one.type == "Complete" and one.status == "True":
            return current("complete")
        if one.type == "Failed" and one.status == "True":
            return failed("the job failed")
    return in_progress("running" if text(part(obj, "status"), "startTime") else "not started")


def _service(obj: Object) -> Health:
    spec = part(obj, "spec")
    if text(spec, "type") == "LoadBalancer" and not text(spec, "clusterIP"):
        return in_progress("no cluster IP yet")
    return current("ready")


def _claim(obj: Object) -> Health:
    phase = text(part(obj, "status"), "phase", "unknown")
    return current("bound") if phase == "Bound" else in_progress(f"not bound, phase: {phase}")


def _definition(obj: Object) -> Health:
    for one in conditions(obj):
        if one.type == "NamesAccepted" and one.status == "False":
            return failed(one.message)
        if one.type == "Established" and one.status == "False" and one.reason != "Installing":
            return failed(one.message)
        if one.type == "Established" and one.status == "True":
            return current("established")
    return in_progress("being installed")


def _always(_obj: Object) -> Health:
    return current("is always ready")


_JOB = GroupKind("batch", "Job")
_POD = GroupKind("", "Pod")

RULES: dict[GroupKind, Callable[[Object], Health]] = {
    GroupKind("", "ConfigMap"): _always,
    GroupKind("", "Secret"): _always,
    GroupKind("batch", "CronJob"): _always,
    GroupKind("policy", "PodDisruptionBudget"): _always,
    GroupKind("", "Service"): _service,
    GroupKind("", "PersistentVolumeClaim"): _claim,
    GroupKind("apiextensions.k8s.io", "CustomResourceDefinition"): _definition,
    GroupKind("apps", "StatefulSet"): stateful_set,
    **{GroupKind(group, "Deployment"): deployment for group in ("apps", "extensions")},
    **{GroupKind(group, "ReplicaSet"): replica_set for group in ("apps", "extensions")},
    **{GroupKind(group, "DaemonSet"): daemon_set for group in ("apps", "extensions")},
}
"""The kinds whose readiness shows elsewhere than in a Ready condition."""
