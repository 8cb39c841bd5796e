"""Jobs: pods until enough of them have succeeded, or too many have failed."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from penstock.embedded.server.ports import DeleteOptions
from penstock.embedded.status import StatusError
from penstock.embedded.workloads.desk import RETRY, Desk, without_zeros

if TYPE_CHECKING:
    from penstock.embedded.workloads.index import PodFacts
    from penstock.kube.resources import Object

_DONE = ("CompletionsReached", "Reached expected number of succeeded pods")
_FAILED = ("BackoffLimitExceeded", "Job has reached the specified backoff limit")
_LATE = ("DeadlineExceeded", "Job was active longer than specified deadline")


class Jobs:
    """Runs Jobs to their end."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._resource = desk.resource("batch", "jobs")

    async def reconcile(self, obj: Object) -> float | None:
        """Bring one Job a step further; seconds until the next look, None for the next change."""
        if obj["metadata"].get("deletionTimestamp"):
            return None
        if finished_at(obj) is not None:
            return await self._outlive(obj)
        pods = self._desk.owned.pods(obj["metadata"]["uid"])
        succeeded, failed = (sum(pod.phase == phase for pod in pods) for phase in ("Succeeded", "Failed"))
        verdict = self._verdict(obj, succeeded, failed)
        refused = "" if verdict is not None else await self._scale(obj, pods, succeeded)
        if verdict is not None or obj["spec"].get("suspend"):
            for pod in (pod for pod in pods if pod.active):
                await self._desk.delete_pod(pod)
        await self._desk.write_status(self._resource, obj, self._status(obj, verdict, succeeded, failed))
        return RETRY if refused else self._left(obj)

    def _verdict(self, obj: Object, succeeded: int, failed: int) -> tuple[str, str, str] | None:
        """Complete or Failed, with reason and message; None while it runs."""
        spec = obj["spec"]
        wanted = spec.get("completions")
        if not spec.get("suspend"):
            if (wanted is not None and succeeded >= wanted) or (wanted is None and succeeded):
                return ("Complete", *_DONE)
            left = self._left(obj)
            if left is not None and left <= 0:
                return ("Failed", *_LATE)
        return ("Failed", *_FAILED) if failed > spec.get("backoffLimit", 6) else None

    async def _scale(self, obj: Object, pods: list[PodFacts], succeeded: int) -> str:
        spec = obj["spec"]
        if spec.get("suspend"):
            return ""
        active = [pod for pod in pods if pod.active]
        wanted = spec.get("parallelism", 1)
        if spec.get("completions") is not None:
            wanted = min(wanted, spec["completions"] - succeeded)
        for _ in range(wanted - len(active)):
            if refused := await self._desk.create_pod(obj, spec["template"]):
                return refused
        for pod in active[wanted:] if len(active) > wanted else ():
            await self._desk.delete_pod(pod)
        return ""

    def _status(self, obj: Object, verdict: tuple[str, str, str] | None, succeeded: int, failed: int) -> Object:
        before: Object = obj.get("status") or {}
        pods = [] if verdict is not None else self._desk.owned.pods(obj["metadata"]["uid"])
        stamp = self._desk.stamp()
        suspended = bool(obj["spec"].get("suspend"))
        status: Object = {
            **without_zeros({"active": sum(pod.active for pod in pods), "succeeded": succeeded, "failed": failed}),
            "terminating": 0,
            "uncountedTerminatedPods": {},
            "ready": sum(pod.active and pod.ready for pod in pods),
        }
        if not suspended:
            status["startTime"] = before.get("startTime") or stamp
        conditions = _conditions(before.get("conditions") or [], verdict, stamp, suspended=suspended)
        if conditions:
            status["conditions"] = conditions
        if verdict is not None and verdict[0] == "Complete":
            status["completionTime"] = stamp
        return status

    def _left(self, obj: Object) -> float | None:
        limit, started = obj["spec"].get("activeDeadlineSeconds"), (obj.get("status") or {}).get("startTime")
        if limit is None or not started:
            return None
        return datetime.fromisoformat(started).timestamp() + float(limit) - self._desk.now()

    async def _outlive(self, obj: Object) -> float | None:
        """Delete a finished Job when its time is over."""
        limit, ended = obj["spec"].get("ttlSecondsAfterFinished"), finished_at(obj)
        if limit is None or ended is None:
            return None
        left = datetime.fromisoformat(ended).timestamp() + float(limit) - self._desk.now()
        if left > 0:
            return left
        metadata = obj["metadata"]
        options = DeleteOptions(propagation="Foreground", uid=metadata["uid"])
        try:
            await self._desk.api.delete(self._resource, metadata["name"], metadata["namespace"], options)
        except StatusError as error:
            if error.code not in (404, 409):
                raise
        return None


def finished_at(obj: Object) -> str | None:
    """When a Job came to its end; None while it runs."""
    for condition in (obj.get("status") or {}).get("conditions") or ():
        if condition["type"] in ("Complete", "Failed") and condition["status"] == "True":
            return str(condition["lastTransitionTime"])
    return None


def _conditions(
    before: list[Object], verdict: tuple[str, str, str] | None, stamp: str, *, suspended: bool
) -> list[Object]:
    known = {each["type"]: each for each in before}
    if suspended:
        _set(known, "Suspended", True, "JobSuspended", "Job suspended", stamp)
    elif "Suspended" in known:
        _set(known, "Suspended", False, "JobResumed", "Job resumed", stamp)
    if verdict is not None:
        kind, reason, message = verdict
        first = "SuccessCriteriaMet" if kind == "Complete" else "FailureTarget"
        _set(known, first, True, reason, message, stamp)
        _set(known, kind, True, reason, message, stamp)
    return list(known.values())


def _set(known: dict[str, Object], kind: str, holds: bool, reason: str, message: str, stamp: str) -> None:
    status = "True" if holds else "False"
    if kind in known and known[kind]["status"] == status:
        return
    known[kind] = {
        "type": kind,
        "status": status,
        "lastProbeTime": stamp,
        "lastTransitionTime": stamp,
        "reason": reason,
        "message": message,
    }
