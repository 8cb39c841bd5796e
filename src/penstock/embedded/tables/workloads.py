"""Rows of what runs pods: how many are wanted, there, and ready."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from penstock.embedded.tables.durations import human, since
from penstock.labels import BadSelector, written

if TYPE_CHECKING:
    from penstock.kube.resources import Object

NONE = "<none>"


def _age(obj: Object, now: float) -> str:
    return since(obj["metadata"].get("creationTimestamp"), now)


def images(template: Object) -> list[Any]:
    """Names and images of the containers, each in one cell."""
    containers = (template.get("spec") or {}).get("containers") or ()
    return [",".join(each["name"] for each in containers), ",".join(each.get("image", "") for each in containers)]


def selector_text(selector: Object | None) -> str:
    """A LabelSelector as text, by key; one that chooses all has no words."""
    if selector is None:
        return ""
    try:
        return written(selector) or NONE
    except BadSelector:
        return "<error>"


def labels_text(labels: Object | None) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items())) or NONE


def deployment(obj: Object, now: float) -> list[Any]:
    spec, status = obj["spec"], obj.get("status") or {}
    return [
        obj["metadata"]["name"],
        f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}",
        status.get("updatedReplicas", 0),
        status.get("availableReplicas", 0),
        _age(obj, now),
        *images(spec["template"]),
        selector_text(spec.get("selector")),
    ]


def replica_set(obj: Object, now: float) -> list[Any]:
    spec, status = obj["spec"], obj.get("status") or {}
    chosen = spec.get("selector")
    text = selector_text(chosen) if obj["kind"] == "ReplicaSet" else labels_text(chosen)
    return [
        obj["metadata"]["name"],
        spec.get("replicas", 0),
        status.get("replicas", 0),
        status.get("readyReplicas", 0),
        _age(obj, now),
        *images(spec.get("template") or {}),
        text,
    ]


def stateful_set(obj: Object, now: float) -> list[Any]:
    spec, status = obj["spec"], obj.get("status") or {}
    ready = f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}"
    return [obj["metadata"]["name"], ready, _age(obj, now), *images(spec["template"])]


def daemon_set(obj: Object, now: float) -> list[Any]:
    spec, status = obj["spec"], obj.get("status") or {}
    counts = ("desiredNumberScheduled", "currentNumberScheduled", "numberReady")
    more = ("updatedNumberScheduled", "numberAvailable")
    return [
        obj["metadata"]["name"],
        *(status.get(name, 0) for name in (*counts, *more)),
        labels_text((spec["template"].get("spec") or {}).get("nodeSelector")),
        _age(obj, now),
        *images(spec["template"]),
        selector_text(spec.get("selector")),
    ]


def job(obj: Object, now: float) -> list[Any]:
    spec, status = obj["spec"], obj.get("status") or {}
    return [
        obj["metadata"]["name"],
        _job_state(obj, status),
        _completions(spec, status),
        _job_duration(status, now),
        _age(obj, now),
        *images(spec["template"]),
        selector_text(spec.get("selector")),
    ]


def _job_state(obj: Object, status: Object) -> str:
    true = {each["type"] for each in status.get("conditions") or () if each["status"] == "True"}
    if "Complete" in true:
        return "Complete"
    if "Failed" in true:
        return "Failed"
    if obj["metadata"].get("deletionTimestamp"):
        return "Terminating"
    if "Suspended" in true:
        return "Suspended"
    if "FailureTarget" in true:
        return "FailureTarget"
    return "SuccessCriteriaMet" if "SuccessCriteriaMet" in true else "Running"


def _completions(spec: Object, status: Object) -> str:
    done = status.get("succeeded", 0)
    if spec.get("completions") is not None:
        return f"{done}/{spec['completions']}"
    parallel = spec.get("parallelism", 0)
    return f"{done}/1 of {parallel}" if parallel > 1 else f"{done}/1"


def _job_duration(status: Object, now: float) -> str:
    started = status.get("startTime")
    if not started:
        return ""
    ended = status.get("completionTime")
    end = datetime.fromisoformat(ended).timestamp() if ended else now
    return human(end - datetime.fromisoformat(started).timestamp())


def cron_job(obj: Object, now: float) -> list[Any]:
    spec, status = obj["spec"], obj.get("status") or {}
    last = status.get("lastScheduleTime")
    template = spec["jobTemplate"]["spec"]
    return [
        obj["metadata"]["name"],
        spec["schedule"],
        spec.get("timeZone") or NONE,
        _text(spec.get("suspend", False)),
        len(status.get("active") or ()),
        since(last, now) if last else NONE,
        _age(obj, now),
        *images(template["template"]),
        selector_text(template["selector"]) if "selector" in template else NONE,
    ]


def _text(value: bool) -> str:
    return "True" if value else "False"


def pod_template(obj: Object, now: float) -> list[Any]:  # noqa: ARG001 - rows have one signature
    template = obj.get("template") or {}
    return [obj["metadata"]["name"], *images(template), labels_text((template.get("metadata") or {}).get("labels"))]


def disruption_budget(obj: Object, now: float) -> list[Any]:
    spec, status = obj["spec"], obj.get("status") or {}
    return [
        obj["metadata"]["name"],
        str(spec.get("minAvailable", "N/A")),
        str(spec.get("maxUnavailable", "N/A")),
        status.get("disruptionsAllowed", 0),
        _age(obj, now),
    ]


def autoscaler(obj: Object, now: float) -> list[Any]:
    spec, status = obj["spec"], obj.get("status") or {}
    target = spec["scaleTargetRef"]
    return [
        obj["metadata"]["name"],
        f"{target['kind']}/{target['name']}",
        _targets(spec, status),
        str(spec["minReplicas"]) if "minReplicas" in spec else "<unset>",
        spec.get("maxReplicas", 0),
        status.get("currentReplicas", 0),
        _age(obj, now),
    ]


def _targets(spec: Object, status: Object) -> str:
    current = {
        each["resource"]["name"]: each["resource"] for each in status.get("currentMetrics") or () if "resource" in each
    }
    words: list[str] = []
    for metric in spec.get("metrics") or ():
        source = metric.get("resource")
        if source is None:
            words.append("<unknown>")
            continue
        wanted, seen = source.get("target") or {}, (current.get(source["name"]) or {}).get("current") or {}
        if "averageUtilization" in wanted:
            now_at = f"{seen['averageUtilization']}%" if "averageUtilization" in seen else "<unknown>"
            words.append(f"{source['name']}: {now_at}/{wanted['averageUtilization']}%")
        else:
            words.append(f"{source['name']}: {seen.get('averageValue', '<unknown>')}/{wanted.get('averageValue', '')}")
    if "targetCPUUtilizationPercentage" in spec:
        words.append(f"cpu: <unknown>/{spec['targetCPUUtilizationPercentage']}%")
    return ", ".join(words) or NONE
