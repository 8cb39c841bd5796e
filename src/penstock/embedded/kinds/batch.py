"""What a Job and the template of a CronJob have in common: completions, failures, successes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.embedded.kinds.decode import defaults
from penstock.embedded.kinds.internal import internal_form
from penstock.embedded.kinds.jobstatus import parse_indexes
from penstock.embedded.kinds.names import dns_subdomain, http_path, qualified_name
from penstock.embedded.kinds.pods.spec import check_template
from penstock.embedded.kinds.problems import (
    FieldProblem,
    Problems,
    duplicate,
    each_invalid,
    invalid,
    non_negative,
    required,
    too_long,
    too_many,
    unsupported,
)
from penstock.embedded.kinds.workloads import check_number

if TYPE_CHECKING:
    from penstock.kube.resources import Object

_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")


@defaults("batch/v1.PodFailurePolicyOnPodConditionsPattern")
def _pattern_defaults(pattern: Object) -> None:
    if not pattern.get("status"):
        pattern["status"] = "True"


def check_job_spec(problems: Problems, spec: Object, field: str, *, sent: Object) -> None:
    """What holds for a Job and for the template of a CronJob; `sent` is the spec with what was spelt out as empty."""
    # Messages quote the policies as they were sent.
    spec = {**spec, **{name: sent[name] for name in ("podFailurePolicy", "successPolicy") if name in spec}}
    for name in (
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ):
        check_number(problems, spec, name, field)
    if "maxFailedIndexes" in spec and "backoffLimitPerIndex" not in spec:
        problems.append(required(f"{field}.backoffLimitPerIndex", "when maxFailedIndexes is specified"))
    if "managedBy" in spec:
        _check_managed_by(problems, spec["managedBy"], f"{field}.managedBy")
    _check_mode(problems, spec, field)
    if "podFailurePolicy" in spec:
        _check_failure_policy(problems, spec, f"{field}.podFailurePolicy")
    if "successPolicy" in spec:
        _check_success_policy(problems, spec, f"{field}.successPolicy")
    _check_replacement(problems, spec, f"{field}.podReplacementPolicy")
    check_template(problems, spec["template"], f"{field}.template")
    _check_restart(problems, spec, f"{field}.template.spec.restartPolicy")


def _check_managed_by(problems: Problems, value: str, field: str) -> None:
    host, slash, path = value.partition("/")
    if not value:
        problems.append(required(field))
    elif not slash or not host or not path:
        problems.append(invalid(field, value, 'must be a domain-prefixed path (such as "acme.io/foo")'))
    else:
        problems += each_invalid(field, host, dns_subdomain(host))
        problems += each_invalid(field, path, http_path(path))
    if len(value) > 63:
        problems.append(too_long(field, 63))


def _check_mode(problems: Problems, spec: Object, field: str) -> None:
    mode = spec.get("completionMode")
    if mode not in (None, "NonIndexed", "Indexed"):
        problems.append(unsupported(f"{field}.completionMode", mode, ("NonIndexed", "Indexed")))
    if mode in (None, "NonIndexed"):
        for name in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if name in spec:
                problems.append(invalid(f"{field}.{name}", spec[name], "requires indexed completion mode"))
    if mode != "Indexed":
        return
    completions, failed, parallel = spec.get("completions"), spec.get("maxFailedIndexes"), spec.get("parallelism", 0)
    if completions is None:
        problems.append(required(f"{field}.completions", "when completion mode is Indexed"))
    if parallel > 100000:
        detail = "must be less than or equal to 100000 when completion mode is Indexed"
        problems.append(invalid(f"{field}.parallelism", parallel, detail))
    if failed is not None and completions is not None and failed > completions:
        problems.append(invalid(f"{field}.maxFailedIndexes", failed, "must be less than or equal to completions"))
    if failed is not None and failed > 100000:
        problems.append(invalid(f"{field}.maxFailedIndexes", failed, "must be less than or equal to 100000"))
    if completions is None or completions <= 100000 or "backoffLimitPerIndex" not in spec:
        return
    words = (
        "must be less than or equal to 10000 when completions are above 100000 and used with backoff limit per index"
    )
    if failed is None:
        problems.append(required(f"{field}.maxFailedIndexes", "must be specified when completions is above 100000"))
    if parallel > 10000:
        problems.append(invalid(f"{field}.parallelism", parallel, words))
    if failed is not None and failed > 10000:
        problems.append(invalid(f"{field}.maxFailedIndexes", failed, words))


def _check_replacement(problems: Problems, spec: Object, field: str) -> None:
    policy = spec.get("podReplacementPolicy")
    allowed = ("Failed",) if "podFailurePolicy" in spec else ("Failed", "TerminatingOrFailed")
    if policy is not None and policy not in allowed:
        problems.append(unsupported(field, policy, allowed))


def _check_restart(problems: Problems, spec: Object, field: str) -> None:
    policy = spec["template"]["spec"]["restartPolicy"]
    if policy == "Always":
        problems.append(required(field, 'valid values: "OnFailure", "Never"'))
    elif policy not in ("OnFailure", "Never"):
        problems.append(unsupported(field, policy, ("OnFailure", "Never")))
    elif "podFailurePolicy" in spec and policy != "Never":
        detail = 'only "Never" is supported when podFailurePolicy is specified'
        problems.append(invalid(field, policy, detail))


def _check_failure_policy(problems: Problems, spec: Object, field: str) -> None:
    rules = spec["podFailurePolicy"]["rules"] or []
    if len(rules) > 20:
        problems.append(too_many(f"{field}.rules", len(rules), 20))
    pod = spec["template"]["spec"]
    names = {one["name"] for one in (*(pod["containers"] or ()), *pod.get("initContainers", ()))}
    for index, rule in enumerate(rules):
        _check_failure_rule(problems, rule, spec, names, f"{field}.rules[{index}]")


def _check_failure_rule(problems: Problems, rule: Object, spec: Object, names: set[str], field: str) -> None:
    action = rule["action"]
    if not action:
        problems.append(required(f"{field}.action", _listed(_ACTIONS)))
    elif action == "FailIndex":
        if "backoffLimitPerIndex" not in spec:
            detail = "requires the backoffLimitPerIndex to be set"
            problems.append(invalid(f"{field}.action", action, detail))
    elif action not in _ACTIONS:
        problems.append(unsupported(f"{field}.action", action, _ACTIONS))
    codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions") or []
    if codes is not None:
        _check_exit_codes(problems, codes, names, f"{field}.onExitCodes")
    for index, pattern in enumerate(conditions):
        at = f"{field}.onPodConditions[{index}]"
        problems += each_invalid(f"{at}.type", pattern["type"], qualified_name(pattern["type"]))
        if pattern["status"] not in ("False", "True", "Unknown"):
            problems.append(unsupported(f"{at}.status", pattern["status"], ("False", "True", "Unknown")))
    if codes is not None and conditions:
        words = "Invalid value: specifying both OnExitCodes and OnPodConditions is not supported"
        problems.append(FieldProblem("FieldValueInvalid", field, words))
    if codes is None and not conditions:
        words = "Invalid value: specifying one of OnExitCodes and OnPodConditions is required"
        problems.append(FieldProblem("FieldValueInvalid", field, words))


def _listed(values: tuple[str, ...]) -> str:
    return "valid values: [" + " ".join(f'"{value}"' for value in values) + "]"


def _check_exit_codes(problems: Problems, codes: Object, names: set[str], field: str) -> None:
    operator, values = codes["operator"], codes["values"] or []
    if not operator:
        problems.append(required(f"{field}.operator", _listed(("In", "NotIn"))))
    elif operator not in ("In", "NotIn"):
        problems.append(unsupported(f"{field}.operator", operator, ("In", "NotIn")))
    container = codes.get("containerName")
    if container is not None and container not in names:
        detail = "must be one of the container or initContainer names in the pod template"
        problems.append(invalid(f"{field}.containerName", container, detail))
    if not values:
        problems.append(invalid(f"{field}.values", codes["values"], "at least one value is required"))
    elif len(values) > 255:
        problems.append(too_many(f"{field}.values", len(values), 255))
    for index, value in enumerate(values):
        if operator == "In" and value == 0:
            problems.append(invalid(f"{field}.values[{index}]", value, "must not be 0 for the In operator"))
        if value in values[:index]:
            problems.append(duplicate(f"{field}.values[{index}]", value))
    if values != sorted(values):
        problems.append(invalid(f"{field}.values", values, "must be ordered"))


def _check_success_policy(problems: Problems, spec: Object, field: str) -> None:
    if spec.get("completionMode") != "Indexed":
        value = internal_form("batch.SuccessPolicy", spec["successPolicy"])
        problems.append(invalid(field, value, "requires indexed completion mode"))
        return
    rules = spec["successPolicy"]["rules"] or []
    if not rules:
        detail = "at least one rules must be specified when the successPolicy is specified"
        problems.append(required(f"{field}.rules", detail))
    if len(rules) > 20:
        problems.append(too_many(f"{field}.rules", len(rules), 20))
    for index, rule in enumerate(rules):
        at, count = f"{field}.rules[{index}]", rule.get("succeededCount")
        if count is None and "succeededIndexes" not in rule:
            detail = "at least one of succeededCount or succeededIndexes must be specified"
            problems.append(required(at, detail))
        completions, total = spec.get("completions", 0), 0
        if "succeededIndexes" in rule:
            indexes = rule["succeededIndexes"]
            intervals, why = parse_indexes(indexes, completions)
            if why:
                problems.append(invalid(f"{at}.succeededIndexes", indexes, f"error parsing succeededIndexes: {why}"))
            else:
                total = sum(last - first + 1 for first, last in intervals)
        if count is not None:
            non_negative(problems, count, f"{at}.succeededCount")
            if count > completions:
                detail = f"must be less than or equal to {completions} (the number of specified completions)"
                problems.append(invalid(f"{at}.succeededCount", count, detail))
            if "succeededIndexes" in rule and count > total:
                told = "the number of indexes in the specified succeededIndexes field"
                detail = f"must be less than or equal to {total} ({told})"
                problems.append(invalid(f"{at}.succeededCount", count, detail))
