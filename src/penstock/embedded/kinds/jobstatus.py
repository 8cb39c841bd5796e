"""What the status of a Job may say, and what it may not take back.

Most rules look only at what a write changes, so that a status that was wrong before does not block other writes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.embedded.kinds.problems import (
    IMMUTABLE,
    FieldProblem,
    Problems,
    duplicate,
    invalid,
    non_negative,
    required,
)

if TYPE_CHECKING:
    from penstock.kube.resources import Object

_TERMINAL = ("Failed", "Complete", "FailureTarget")


def check_job_status(problems: Problems, new: Object, old: Object) -> None:
    """All rules for a write to the status."""
    status, before = new["status"], old["status"]
    _check_counts(problems, status)
    _check_uncounted(problems, status.get("uncountedTerminatedPods"))
    _check_end(problems, status, before)
    _check_finished(problems, new, old)
    _check_indexes(problems, new, before)
    _check_running(problems, status, before)
    _check_success(problems, new)
    _check_kept(problems, new, old)


def _holds(status: Object, *kinds: str) -> bool:
    return any(one["type"] in kinds and one["status"] == "True" for one in status.get("conditions", ()))


def _changed(status: Object, before: Object, *fields: str) -> bool:
    return any(status.get(field) != before.get(field) for field in fields)


def _turned(status: Object, before: Object, *kinds: str) -> bool:
    return any(_holds(status, kind) != _holds(before, kind) for kind in kinds)


def _wrong(problems: Problems, detail: str) -> None:
    """A mistake in the conditions; the server does not quote them."""
    problems.append(FieldProblem("FieldValueInvalid", "status.conditions", f"Invalid value: {detail}"))


def _check_counts(problems: Problems, status: Object) -> None:
    for name in ("active", "succeeded", "failed", "ready", "terminating"):
        if name in status:
            non_negative(problems, status[name], f"status.{name}")


def _check_uncounted(problems: Problems, pods: Object | None) -> None:
    seen: set[str] = set()
    for name in ("succeeded", "failed"):
        for index, uid in enumerate((pods or {}).get(name, ())):
            at = f"status.uncountedTerminatedPods.{name}[{index}]"
            if not uid:
                problems.append(invalid(at, uid, "must not be empty"))
            elif uid in seen:
                problems.append(duplicate(at, uid))
            seen.add(uid)


def _check_end(problems: Problems, status: Object, before: Object) -> None:
    """How a Job ends: which conditions go together, and when."""
    complete, failed = _holds(status, "Complete"), _holds(status, "Failed")
    turned_complete, turned_failed = _turned(status, before, "Complete"), _turned(status, before, "Failed")
    if (turned_complete or turned_failed) and complete and failed:
        _wrong(problems, "cannot set Complete=True and Failed=true conditions")
    if (turned_complete or _turned(status, before, "FailureTarget")) and complete and _holds(status, "FailureTarget"):
        _wrong(problems, "cannot set Complete=True and FailureTarget=true conditions")
    done, started = status.get("completionTime"), status.get("startTime")
    at = "status.completionTime"
    if turned_complete or _changed(status, before, "completionTime"):
        if done is not None and not complete:
            problems.append(invalid(at, done, "cannot set completionTime when there is no Complete=True condition"))
        if done is None and complete:
            problems.append(required(at, "completionTime is required for Complete jobs"))
    if _changed(status, before, "startTime", "completionTime") and started and done and done < started:
        problems.append(invalid(at, done, "must be equal to or after `startTime`"))
    if (turned_failed or _changed(status, before, "failedIndexes")) and failed and not _holds(status, "FailureTarget"):
        _wrong(problems, "cannot set Failed=True condition without the FailureTarget=true condition")
    met = _holds(status, "SuccessCriteriaMet")
    if (turned_complete or _turned(status, before, "SuccessCriteriaMet")) and complete and not met:
        _wrong(problems, "cannot set Complete=True condition without the SuccessCriteriaMet=true condition")


def _is_finished(status: Object) -> bool:
    return _holds(status, "Complete", "Failed")


def _check_finished(problems: Problems, new: Object, old: Object) -> None:
    """What a Job that ended has no longer, and must have had."""
    status, before, spec = new["status"], old["status"], new["spec"]
    if not _is_finished(status):
        return
    turned = not _is_finished(before)
    if (turned or _changed(status, before, "active")) and status.get("active", 0) > 0:
        problems.append(invalid("status.active", status["active"], "active>0 is invalid for finished job"))
    never_ran = spec.get("suspend") is True and spec.get("completions") == 0
    if (turned or _changed(status, before, "startTime")) and not never_ran and "startTime" not in status:
        problems.append(required("status.startTime", "startTime is required for finished job"))
    pods: Object = status.get("uncountedTerminatedPods") or {}
    if (turned or _changed(status, before, "uncountedTerminatedPods")) and any(pods.values()):
        told = {name: pods.get(name.lower()) for name in ("Succeeded", "Failed")}
        problems.append(invalid("status.uncountedTerminatedPods", told, "must be empty for finished job"))


def _check_indexes(problems: Problems, new: Object, before: Object) -> None:
    status, spec = new["status"], new["spec"]
    completions, per_index = spec.get("completions"), spec.get("backoffLimitPerIndex")
    done, failed = status.get("completedIndexes", ""), status.get("failedIndexes")
    done_changed = _changed(status, before, "completedIndexes")
    failed_changed = _changed(status, before, "failedIndexes")
    at, failed_at = "status.completedIndexes", "status.failedIndexes"
    if done_changed and completions is not None and (why := parse_indexes(done, completions)[1]):
        problems.append(invalid(at, done, f"error parsing completedIndexes: {why}"))
    if failed_changed and None not in (completions, per_index, failed):
        why = parse_indexes(failed or "", completions or 0)[1]
        problems += [invalid(failed_at, failed, f"error parsing failedIndexes: {why}")] if why else []
    if done_changed and done and spec.get("completionMode") != "Indexed":
        detail = "cannot set non-empty completedIndexes when non-indexed completion mode"
        problems.append(invalid(at, done, detail))
    if failed_changed and per_index is None and failed is not None:
        detail = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
        problems.append(invalid(failed_at, failed, detail))
    if (done_changed or failed_changed) and completions is not None and failed is not None:
        overlap = _overlap(done, failed, completions)
        problems += [invalid(failed_at, failed, overlap)] if overlap else []


def parse_indexes(text: str, completions: int) -> tuple[list[tuple[int, int]], str]:
    """The intervals of a text such as `1,3-5`, and what is wrong with it."""
    found: list[tuple[int, int]] = []
    for part in text.split(",") if text else ():
        ends = part.split("-")
        if len(ends) > 2:
            rule = "violates the requirement that an index interval can have at most two parts separated by '-'"
            return found, f'the fragment "{part}" {rule}'
        for end in ends:
            if not (end.isascii() and end.isdigit()):
                return found, f'cannot convert string to integer for index: "{end}"'
            if int(end) >= completions:
                return found, f'too large index: "{end}"'
        first, last = int(ends[0]), int(ends[-1])
        if len(ends) > 1 and first >= last:
            return found, f"non-increasing order, previous: {first}, current: {last}"
        if found and found[-1][1] >= first:
            return found, f"non-increasing order, previous: {found[-1][1]}, current: {first}"
        found.append((first, last))
    return found, ""


def _overlap(done: str, failed: str, completions: int) -> str:
    (completed, wrong), (given_up, also_wrong) = parse_indexes(done, completions), parse_indexes(failed, completions)
    if wrong or also_wrong:
        return ""
    for first, last in completed:
        for other_first, other_last in given_up:
            if first <= other_last and other_first <= last:
                return f"failedIndexes and completedIndexes overlap at index: {max(first, other_first)}"
    return ""


def _check_running(problems: Problems, status: Object, before: Object) -> None:
    turned = _is_finished(status) != _is_finished(before)
    terminating: int = status.get("terminating") or 0
    if (turned or _changed(status, before, "terminating")) and terminating > 0 and _is_finished(status):
        problems.append(invalid("status.terminating", terminating, "terminating>0 is invalid for finished job"))
    ready: int | None = status.get("ready")
    if _changed(status, before, "ready", "active") and ready is not None and ready > status.get("active", 0):
        problems.append(invalid("status.ready", ready, "cannot set more ready pods than active"))


def _check_success(problems: Problems, new: Object) -> None:
    status = new["status"]
    met = _holds(status, "SuccessCriteriaMet")
    if met and _holds(status, "Failed"):
        _wrong(problems, "cannot set SuccessCriteriaMet=True and Failed=true conditions")
    if met and _holds(status, "FailureTarget"):
        _wrong(problems, "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions")
    if "successPolicy" in new["spec"] and not met and _holds(status, "Complete"):
        _wrong(problems, "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True")


def _check_kept(problems: Problems, new: Object, old: Object) -> None:
    """What a later status cannot take back."""
    status, before, spec = new["status"], old["status"], new["spec"]
    for kind in _TERMINAL:
        if _holds(before, kind) and not _holds(status, kind):
            _wrong(problems, f"cannot disable the terminal {kind}=True condition")
    # A Job that can be scaled down may have fewer successes afterwards.
    scales = spec.get("completionMode") == "Indexed" and spec.get("completions") == spec.get("parallelism")
    for name in ("failed",) if scales else ("failed", "succeeded"):
        now: int = status.get(name, 0)
        if now < before.get(name, 0):
            problems.append(invalid(f"status.{name}", now, f"cannot decrease the {name} counter"))
    done, was_done = status.get("completionTime"), before.get("completionTime")
    if done is not None and was_done is not None and done != was_done:
        problems.append(invalid("status.completionTime", done, IMMUTABLE))
    _check_start(problems, spec, status, before)
    met, was_met = _holds(status, "SuccessCriteriaMet"), _holds(before, "SuccessCriteriaMet")
    if was_met and not met:
        _wrong(problems, "cannot disable the SuccessCriteriaMet=True condition")
    if _holds(before, "Complete") and not was_met and met:
        _wrong(problems, "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions")


def _check_start(problems: Problems, spec: Object, status: Object, before: Object) -> None:
    start: Any = status.get("startTime")
    if "startTime" not in before or start == before["startTime"] or spec.get("suspend"):
        return
    resumed = any(one["type"] == "Suspended" and one["status"] == "False" for one in status.get("conditions", ()))
    if not (resumed and _holds(before, "Suspended")):
        detail = "field is immutable for unsuspended job once set"
        problems.append(invalid("status.startTime", start, detail))
