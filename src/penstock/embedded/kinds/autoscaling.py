"""Horizontal pod autoscalers, in v2 and v1."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from penstock.embedded.kinds.decode import defaults
from penstock.embedded.kinds.names import dns_label, path_segment
from penstock.embedded.kinds.problems import (
    NOT_NEGATIVE,
    Problems,
    each_invalid,
    forbidden,
    invalid,
    non_negative,
    required,
    unsupported,
)
from penstock.embedded.kinds.resources import check_container_name
from penstock.embedded.kinds.rules import Rules
from penstock.schema.quantity import parse

if TYPE_CHECKING:
    from penstock.kube.resources import Object

_SOURCES = {
    "Object": "object",
    "External": "external",
    "Pods": "pods",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}
_SOURCE_TYPES = ("ContainerResource", "External", "Object", "Pods", "Resource")


_OLD_METRICS = "autoscaling.alpha.kubernetes.io/metrics"
"""Where the old version keeps metrics that it does not know."""


@defaults("autoscaling/v2.HorizontalPodAutoscaler")
def _autoscaler_defaults(obj: Object) -> None:
    spec = obj["spec"]
    spec.setdefault("minReplicas", 1)
    if not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": 80}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    if "behavior" in spec:
        _behave(spec["behavior"], "scaleUp", _UP)
        _behave(spec["behavior"], "scaleDown", _DOWN)


_PERCENT = {"type": "Percent", "value": 100, "periodSeconds": 15}
_UP = {
    "stabilizationWindowSeconds": 0,
    "selectPolicy": "Max",
    "policies": [{"type": "Pods", "value": 4, "periodSeconds": 15}, _PERCENT],
}
_DOWN = {"selectPolicy": "Max", "policies": [_PERCENT]}


def _behave(behavior: Object, name: str, standard: Object) -> None:
    rules = behavior.setdefault(name, {})
    for key, value in standard.items():
        if key == "policies":
            value = [dict(policy) for policy in value]
        rules.setdefault(key, value)


@defaults("autoscaling/v1.HorizontalPodAutoscaler")
def _old_autoscaler_defaults(obj: Object) -> None:
    obj["spec"].setdefault("minReplicas", 1)


class AutoscalerRules(Rules):
    status: ClassVar[bool] = True

    def default(self, obj: Object) -> None:
        """In the old version, too, an autoscaler without metrics follows the CPU."""
        super().default(obj)
        if obj["apiVersion"] == "autoscaling/v1" and _OLD_METRICS not in obj["metadata"].get("annotations", {}):
            obj["spec"].setdefault("targetCPUUtilizationPercentage", 80)

    def check(self, problems: Problems, obj: Object) -> None:
        spec = obj["spec"]
        low, high = spec["minReplicas"], spec["maxReplicas"]
        if low < 1:
            problems.append(invalid("spec.minReplicas", low, "must be greater than or equal to 1"))
        if high == 0:
            problems.append(required("spec.maxReplicas", "must be set and greater than 0"))
        elif high < 0:
            problems.append(invalid("spec.maxReplicas", high, "must be greater than or equal to 1"))
        if high < low:
            problems.append(invalid("spec.maxReplicas", high, "must be greater than or equal to `minReplicas`"))
        _check_reference(problems, spec["scaleTargetRef"], "spec.scaleTargetRef", core=False)
        metrics = spec.get("metrics", ())
        for index, metric in enumerate(metrics):
            _check_metric(problems, metric, f"spec.metrics[{index}]")
        if low == 0 and not any(metric["type"] in ("Object", "External") for metric in metrics):
            detail = "must specify at least one Object or External metric to support scaling to zero replicas"
            problems.append(forbidden("spec.metrics", detail))
        percent = spec.get("targetCPUUtilizationPercentage", 1)
        if percent < 1:
            # The old version has no list of metrics; it is one in the eyes of the server.
            at = "spec.metrics[0].resource.target.averageUtilization"
            problems.append(invalid(at, percent, "must be greater than 0"))
        for name in ("scaleUp", "scaleDown"):
            if name in spec.get("behavior", {}):
                empty = (("spec", "behavior", name, "policies"), []) in self.empties
                _check_rules(problems, spec["behavior"][name], f"spec.behavior.{name}", empty=empty)

    def check_status(self, problems: Problems, new: Object, old: Object) -> None:
        super().check_status(problems, new, old)
        for name in ("currentReplicas", "desiredReplicas"):
            non_negative(problems, new["status"].get(name, 0), f"status.{name}")


def _check_reference(problems: Problems, reference: Object, field: str, *, core: bool) -> None:
    for name in ("kind", "name"):
        if value := reference[name]:
            problems += each_invalid(f"{field}.{name}", value, path_segment(value))
        else:
            problems.append(required(f"{field}.{name}"))
    version = reference.get("apiVersion", "")
    if version.count("/") > 1:
        problems.append(invalid(f"{field}.apiVersion", version, f"unexpected GroupVersion string: {version}"))
    elif not core and "/" not in version:
        problems.append(invalid(f"{field}.apiVersion", version, "apiVersion must specify API group"))


def _check_metric(problems: Problems, metric: Object, field: str) -> None:
    kind = metric["type"]
    if not kind:
        problems.append(required(f"{field}.type", "must specify a metric source type"))
    if kind not in _SOURCES:
        problems.append(unsupported(f"{field}.type", kind, _SOURCE_TYPES))
    present = [name for name in _SOURCES.values() if name in metric]
    if present:
        _check_source(problems, present[0], metric[present[0]], f"{field}.{present[0]}")
    expected = _SOURCES.get(kind, "")
    if not expected:
        problems.append(unsupported(f"{field}.type", kind, _SOURCE_TYPES))
    elif expected not in metric:
        problems.append(required(f"{field}.{expected}", "must populate information for the given metric source"))
    if len(present) != 1:
        detail = "must populate the given metric source only"
        problems += [forbidden(f"{field}.{name}", detail) for name in present if name != expected]


def _check_source(problems: Problems, kind: str, source: Object, field: str) -> None:
    if kind == "object":
        _check_reference(problems, source["describedObject"], f"{field}.describedObject", core=True)
    if kind in ("object", "external", "pods"):
        if name := source["metric"]["name"]:
            problems += each_invalid(f"{field}.metric.name", name, path_segment(name))
        else:
            problems.append(required(f"{field}.metric.name", "must specify a metric name"))
    if kind in ("resource", "containerResource"):
        if not source["name"]:
            problems.append(required(f"{field}.name", "must specify a resource name"))
        elif kind == "containerResource":
            check_container_name(problems, source["name"], f"{field}.name")
    if kind == "containerResource":
        if container := source["container"]:
            problems += each_invalid(f"{field}.container", container, dns_label(container))
        else:
            problems.append(required(f"{field}.container", "must specify a container"))
    _check_target(problems, source["target"], f"{field}.target")
    _check_amounts(problems, kind, source["target"], f"{field}.target")


def _check_target(problems: Problems, target: Object, field: str) -> None:
    kind = target["type"]
    if not kind:
        problems.append(required(f"{field}.type", "must specify a metric target type"))
    if kind not in ("Utilization", "Value", "AverageValue"):
        problems.append(invalid(f"{field}.type", kind, "must be either Utilization, Value, or AverageValue"))
    for name in ("value", "averageValue"):
        if name in target and parse(target[name]).nano <= 0:
            problems.append(invalid(f"{field}.{name}", target[name], "must be positive"))
    percent = target.get("averageUtilization")
    if percent is not None and percent < 1:
        problems.append(invalid(f"{field}.averageUtilization", percent, "must be greater than 0"))


def _check_amounts(problems: Problems, kind: str, target: Object, field: str) -> None:
    value, average, percent = (name in target for name in ("value", "averageValue", "averageUtilization"))
    if kind == "object" and not value and not average:
        problems.append(required(f"{field}.averageValue", "must set either a target value or averageValue"))
    elif kind == "external":
        if not value and not average:
            detail = "must set either a target value for metric or a per-pod target"
            problems.append(required(f"{field}.averageValue", detail))
        if value and average:
            detail = "may not set both a target value for metric and a per-pod target"
            problems.append(forbidden(f"{field}.value", detail))
    elif kind == "pods" and not average:
        problems.append(required(f"{field}.averageValue", "must specify a positive target averageValue"))
    elif kind in ("resource", "containerResource"):
        if not percent and not average:
            detail = "must set either a target raw value or a target utilization"
            problems.append(required(f"{field}.averageUtilization", detail))
        if percent and average:
            detail = "may not set both a target raw value and a target utilization"
            problems.append(forbidden(f"{field}.averageValue", detail))


def _check_rules(problems: Problems, rules: Object, field: str, *, empty: bool) -> None:
    """`empty` tells whether the policies were spelt out as none; only missing ones have defaults."""
    window = rules.get("stabilizationWindowSeconds", 0)
    if window < 0:
        problems.append(invalid(f"{field}.stabilizationWindowSeconds", window, "must be greater than or equal to zero"))
    if window > 3600:
        problems.append(invalid(f"{field}.stabilizationWindowSeconds", window, "must be less than or equal to 3600"))
    if rules["selectPolicy"] not in ("Max", "Min", "Disabled"):
        allowed = ("Disabled", "Max", "Min")
        problems.append(unsupported(f"{field}.selectPolicy", rules["selectPolicy"], allowed))
    if empty:
        problems.append(required(f"{field}.policies", "must specify at least one Policy"))
    for index, policy in enumerate(() if empty else rules["policies"]):
        at, period = f"{field}.policies[{index}]", policy["periodSeconds"]
        if policy["type"] not in ("Pods", "Percent"):
            problems.append(unsupported(f"{at}.type", policy["type"], ("Percent", "Pods")))
        if policy["value"] <= 0:
            problems.append(invalid(f"{at}.value", policy["value"], "must be greater than zero"))
        if period <= 0:
            problems.append(invalid(f"{at}.periodSeconds", period, "must be greater than zero"))
        if period > 1800:
            problems.append(invalid(f"{at}.periodSeconds", period, "must be less than or equal to 1800"))
    if "tolerance" in rules and parse(rules["tolerance"]).nano < 0:
        problems.append(invalid(f"{field}.tolerance", rules["tolerance"], NOT_NEGATIVE))
