"""The pure half of the pod simulation: from a pod as it is to the next thing a kubelet would do with it.

Everything is derived from the pod itself, so a simulation can end at any point and another one goes on from there.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from penstock.embedded.behaviour import Behaviour
    from penstock.kube.resources import Object

FIRST_RESTART, LONGEST_RESTART = 0.1, 300.0
"""Seconds between the restarts of a failing container, doubled each time: a kubelet's, begun 100 times shorter."""

Outcome = Literal["ready", "unready", "complete", "fail", "crash", "no-image"]


@dataclass(frozen=True, slots=True)
class Write:
    """Write this status, `after` seconds of waiting that begin when `name` is first seen to be next."""

    name: str
    after: float
    status: Object


@dataclass(frozen=True, slots=True)
class Remove:
    """Take the pod away: its containers have ended."""


def next_move(pod: Object, behaviour: Behaviour, now: datetime) -> Write | Remove | None:
    """What to do next with this pod; None when nothing is left to do until it changes."""
    metadata, status = pod["metadata"], pod.get("status") or {}
    if metadata.get("deletionTimestamp"):
        # With no grace left it waits only for the finalizers of others.
        return Remove() if metadata.get("deletionGracePeriodSeconds") else None
    if status.get("phase") in ("Succeeded", "Failed"):
        return None
    outcome = _outcome(pod, behaviour)
    if outcome == "no-image":
        return None if _waits(status) else Write("no image", 0, _status(pod, "no-image", now))
    if behaviour.delay and not status.get("containerStatuses"):
        return Write("start", 0, _status(pod, "unready", now))
    if outcome == "crash":
        restarts = _restarts(status)
        pause = behaviour.delay + (_restart_pause(restarts) if restarts else 0)
        return Write(f"crash {restarts + 1}", pause, _status(pod, "crash", now))
    if _reached(pod, outcome):
        return None
    return Write(outcome, behaviour.delay, _status(pod, outcome, now))


def _outcome(pod: Object, behaviour: Behaviour) -> Outcome:
    if behaviour.image_pull_error:
        return "no-image"
    restart = pod["spec"].get("restartPolicy", "Always")
    if behaviour.fail:
        return "fail" if restart == "Never" else "crash"
    if behaviour.never_ready:
        return "unready"
    if restart != "Always" and any(owner["kind"] == "Job" for owner in pod["metadata"].get("ownerReferences") or ()):
        return "complete"
    return "ready" if _gates_open(pod) else "unready"


def _gates_open(pod: Object) -> bool:
    """True when all conditions that others must set before the pod may be Ready are set."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    true = {condition["type"] for condition in conditions if condition["status"] == "True"}
    return all(gate["conditionType"] in true for gate in pod["spec"].get("readinessGates") or ())


def _reached(pod: Object, outcome: Outcome) -> bool:
    status = pod.get("status") or {}
    if outcome not in ("ready", "unready") or status.get("phase") != "Running" or not status.get("containerStatuses"):
        return False
    conditions = {condition["type"]: condition["status"] for condition in status.get("conditions") or ()}
    return conditions.get("Ready") == ("True" if outcome == "ready" else "False") and not _resized(pod)


def _resized(pod: Object) -> bool:
    """Whether a container was given other resources since its status was written."""
    if pod["metadata"].get("generation") == pod["status"].get("observedGeneration"):
        return False
    told = {each["name"]: each.get("resources") for each in pod["status"]["containerStatuses"]}
    return any((one.get("resources") or {}) != told.get(one["name"]) for one in pod["spec"]["containers"])


def _waits(status: Object) -> bool:
    return any("waiting" in container.get("state", {}) for container in status.get("containerStatuses") or ())


def _restarts(status: Object) -> int:
    return max((container["restartCount"] for container in status.get("containerStatuses") or ()), default=0)


def _restart_pause(restarts: int) -> float:
    return float(min(LONGEST_RESTART, FIRST_RESTART * 2 ** min(restarts - 1, 30)))


_PHASES: dict[Outcome, str] = {"complete": "Succeeded", "fail": "Failed", "no-image": "Pending"}


def _status(pod: Object, outcome: Outcome, now: datetime) -> Object:
    """The part of the status that a kubelet writes, for a pod that got this far."""
    old = pod.get("status") or {}
    address = _address(pod["metadata"]["uid"])
    stamp = _stamp(now)
    status: Object = {
        "phase": _PHASES.get(outcome, "Running"),
        "startTime": old.get("startTime") or stamp,
        "conditions": _conditions(pod, outcome, stamp),
        "containerStatuses": [_container(container, outcome, old, stamp) for container in pod["spec"]["containers"]],
    }
    if "generation" in pod["metadata"]:
        status["observedGeneration"] = pod["metadata"]["generation"]
    if init := pod["spec"].get("initContainers"):
        status["initContainerStatuses"] = [_init_container(container, outcome, stamp) for container in init]
    if outcome != "no-image":
        status |= {"podIP": address, "podIPs": [{"ip": address}]}
    return status


def _conditions(pod: Object, outcome: Outcome, stamp: str) -> list[Object]:
    """All conditions of a kubelet; one that stays as it is keeps the time of its last transition."""
    containers_ready = outcome == "ready" or (outcome == "unready" and not _gates_open(pod))
    done = {"reason": "PodCompleted"} if outcome == "complete" else {}
    not_ready = done or {"reason": "ContainersNotReady", "message": "the simulation holds the containers back"}
    gated = {"reason": "ReadinessGatesNotReady", "message": "a readiness gate is not True"}
    wanted: dict[str, tuple[bool, dict[str, str]]] = {
        "PodScheduled": (True, {}),
        "PodReadyToStartContainers": (outcome not in ("complete", "fail"), {}),
        "Initialized": (True, done),
        "ContainersReady": (containers_ready, {} if containers_ready else not_ready),
        "Ready": (outcome == "ready", {} if outcome == "ready" else gated if containers_ready else not_ready),
    }
    old = {condition["type"]: condition for condition in (pod.get("status") or {}).get("conditions") or ()}
    return [_condition(kind, holds, extra, old.get(kind), stamp) for kind, (holds, extra) in wanted.items()]


def _condition(kind: str, holds: bool, extra: dict[str, str], old: Object | None, stamp: str) -> Object:
    status = "True" if holds else "False"
    since = old.get("lastTransitionTime") if old and old["status"] == status else None
    # A patch keeps what it does not mention: a reason that no longer holds must be taken out by name.
    return {
        "type": kind,
        "status": status,
        "reason": None,
        "message": None,
        "lastTransitionTime": since or stamp,
    } | extra


def _state(outcome: Outcome, old: Object, stamp: str) -> Object:
    started = old.get("startTime") or stamp
    match outcome:
        case "complete":
            return {"terminated": _ended(0, "Completed", started, stamp)}
        case "fail":
            return {"terminated": _ended(1, "Error", started, stamp)}
        case "crash":
            message = "the simulation makes this container fail"
            return {"waiting": {"reason": "CrashLoopBackOff", "message": message}}
        case "no-image":
            return {"waiting": {"reason": "ImagePullBackOff", "message": "the simulation pulls no image for this pod"}}
        case _:
            return {"running": {"startedAt": started}}


def _container(container: Object, outcome: Outcome, old: Object, stamp: str) -> Object:
    """The status of one container; all containers of a pod fare alike."""
    status = _plain(container, _state(outcome, old, stamp), ready=outcome == "ready", restarts=_restarts(old))
    if outcome == "crash":
        status["restartCount"] += 1
        status["lastState"] = {"terminated": _ended(1, "Error", stamp, stamp)}
    return status


def _init_container(container: Object, outcome: Outcome, stamp: str) -> Object:
    if container.get("restartPolicy") == "Always" and outcome not in ("complete", "fail"):  # a sidecar
        return _plain(container, {"running": {"startedAt": stamp}}, ready=True)
    return _plain(container, {"terminated": _ended(0, "Completed", stamp, stamp)}, ready=True)


def _plain(container: Object, state: Object, *, ready: bool, restarts: int = 0) -> Object:
    image = container.get("image", "")
    resources = container.get("resources") or {}
    # Only a kubelet that tells the resources of what runs is trusted with a resize.
    running = {"resources": resources} if "running" in state else {}
    if running and resources.get("requests"):
        running["allocatedResources"] = resources["requests"]
    return {
        "name": container["name"],
        "image": image,
        "imageID": "" if "waiting" in state else f"sim://{hashlib.sha256(image.encode()).hexdigest()}",
        "ready": ready,
        "started": "running" in state,
        "restartCount": restarts,
        "state": state,
        **running,
    }


def _ended(code: int, reason: str, started: str, finished: str) -> Object:
    return {"exitCode": code, "reason": reason, "startedAt": started, "finishedAt": finished}


def _address(uid: str) -> str:
    """An address of 10.128.0.0/9 that stays the same for this pod and is hardly ever another one's."""
    first, second, third = hashlib.sha256(uid.encode()).digest()[:3]
    return f"10.{128 + first % 128}.{second}.{third}"


def _stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
