"""Deployments, ReplicaSets and ReplicationControllers: pods that are all alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from penstock.embedded.kinds.decode import defaults
from penstock.embedded.kinds.internal import internal_form
from penstock.embedded.kinds.pods.spec import check_template
from penstock.embedded.kinds.problems import Problems, forbidden, invalid, non_negative, required, unsupported
from penstock.embedded.kinds.scale import ScaledRules
from penstock.embedded.kinds.workloads import (
    _LABEL_SELECTOR,
    NO_MATCH,
    amount,
    check_always,
    check_collisions,
    check_counts,
    check_int_or_percent,
    check_not_above_all,
    check_number,
    check_own_selector,
    check_same_selector,
    check_selected,
    is_sound,
    take_labels,
)
from penstock.labels import written

if TYPE_CHECKING:
    from penstock.kube.resources import Object


@defaults("apps/v1.Deployment")
def _deployment(obj: Object) -> None:
    spec = obj["spec"]
    spec.setdefault("replicas", 1)
    strategy = spec["strategy"]
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", "25%")
        rolling.setdefault("maxSurge", "25%")
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("progressDeadlineSeconds", 600)


@defaults("apps/v1.ReplicaSet")
def _replica_set(obj: Object) -> None:
    obj["spec"].setdefault("replicas", 1)


@defaults("core/v1.ReplicationController")
def _replication_controller(obj: Object) -> None:
    spec = obj["spec"]
    labels = spec.get("template", {}).get("metadata", {}).get("labels")
    if labels:
        spec.setdefault("selector", dict(labels))
        obj["metadata"].setdefault("labels", dict(labels))
    spec.setdefault("replicas", 1)


class DeploymentRules(ScaledRules):
    generation: ClassVar[tuple[str, ...]] = ("spec",)
    status: ClassVar[bool] = True
    status_keeps: ClassVar[tuple[str, ...]] = ("labels",)

    def changed(self, new: Object, old: Object) -> bool:
        """Annotations count too: they are copied to the ReplicaSet."""
        if new["spec"] != old["spec"]:
            return True
        return bool(new["metadata"].get("annotations") != old["metadata"].get("annotations"))

    def check(self, problems: Problems, obj: Object) -> None:
        spec = obj["spec"]
        non_negative(problems, spec["replicas"], "spec.replicas")
        check_own_selector(problems, spec, "deployment")
        if is_sound(spec.get("selector") or {}):
            check_selected(problems, self.sent(obj)["spec"])
            check_template(problems, spec["template"], "spec.template")
            check_always(problems, spec, "ReplicaSet")
        else:
            value = internal_form(_LABEL_SELECTOR, spec["selector"])
            problems.append(invalid("spec.selector", value, "invalid label selector"))
        self._check_strategy(problems, spec["strategy"], "spec.strategy")
        check_number(problems, spec, "minReadySeconds")
        check_number(problems, spec, "revisionHistoryLimit")
        check_number(problems, spec, "progressDeadlineSeconds")
        deadline = spec["progressDeadlineSeconds"]
        if deadline <= spec.get("minReadySeconds", 0):
            problems.append(invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds"))

    def _check_strategy(self, problems: Problems, strategy: Object, field: str) -> None:
        if strategy["type"] == "Recreate":
            if "rollingUpdate" in strategy:
                detail = "may not be specified when strategy `type` is 'Recreate'"
                problems.append(forbidden(f"{field}.rollingUpdate", detail))
        elif strategy["type"] == "RollingUpdate":
            at, rolling = f"{field}.rollingUpdate", strategy["rollingUpdate"]
            unavailable, surge = rolling["maxUnavailable"], rolling["maxSurge"]
            check_int_or_percent(problems, unavailable, f"{at}.maxUnavailable")
            check_int_or_percent(problems, surge, f"{at}.maxSurge")
            if amount(unavailable) == 0 and amount(surge) == 0:
                detail = "may not be 0 when `maxSurge` is 0"
                problems.append(invalid(f"{at}.maxUnavailable", unavailable, detail))
            check_not_above_all(problems, unavailable, f"{at}.maxUnavailable")
        else:
            value = internal_form("apps.DeploymentStrategy", strategy)
            problems.append(unsupported(field, value, ("Recreate", "RollingUpdate")))

    def check_change(self, problems: Problems, new: Object, old: Object) -> None:
        check_same_selector(problems, new, old)

    def check_status(self, problems: Problems, new: Object, old: Object) -> None:
        super().check_status(problems, new, old)
        names = (
            "observedGeneration",
            "replicas",
            "updatedReplicas",
            "readyReplicas",
            "availableReplicas",
            "unavailableReplicas",
            "terminatingReplicas",
            "collisionCount",
        )
        limits = (
            ("updatedReplicas", "replicas", "status.replicas"),
            ("readyReplicas", "replicas", "status.replicas"),
            ("availableReplicas", "replicas", "status.replicas"),
            ("availableReplicas", "readyReplicas", "readyReplicas"),
        )
        check_counts(problems, new["status"], names, limits)
        check_collisions(problems, new, old)


class ReplicaSetRules(ScaledRules):
    generation: ClassVar[tuple[str, ...]] = ("spec",)
    status: ClassVar[bool] = True

    def check(self, problems: Problems, obj: Object) -> None:
        spec = obj["spec"]
        non_negative(problems, spec["replicas"], "spec.replicas")
        check_number(problems, spec, "minReadySeconds")
        check_own_selector(problems, spec, "deployment")
        if is_sound(spec.get("selector") or {}):
            check_selected(problems, self.sent(obj)["spec"])
            check_template(problems, spec["template"], "spec.template")
            check_always(problems, spec, "ReplicaSet")
        else:
            value = internal_form(_LABEL_SELECTOR, spec["selector"])
            problems.append(invalid("spec.selector", value, "invalid label selector"))

    def check_change(self, problems: Problems, new: Object, old: Object) -> None:
        check_same_selector(problems, new, old)

    def check_status(self, problems: Problems, new: Object, old: Object) -> None:
        super().check_status(problems, new, old)
        check_counts(problems, new["status"], _REPLICA_COUNTS, _REPLICA_LIMITS)


_REPLICA_COUNTS = (
    "replicas",
    "fullyLabeledReplicas",
    "readyReplicas",
    "availableReplicas",
    "observedGeneration",
    "terminatingReplicas",
)


_REPLICA_LIMITS = (
    ("fullyLabeledReplicas", "replicas", "status.replicas"),
    ("readyReplicas", "replicas", "status.replicas"),
    ("availableReplicas", "replicas", "status.replicas"),
    ("availableReplicas", "readyReplicas", "readyReplicas"),
)


class ReplicationControllerRules(ScaledRules):
    generation: ClassVar[tuple[str, ...]] = ("spec",)
    status: ClassVar[bool] = True

    def prepare_update(self, new: Object, old: Object, subresource: str = "") -> None:
        super().prepare_update(new, old, subresource)
        take_labels(new)

    def check(self, problems: Problems, obj: Object) -> None:
        spec = obj["spec"]
        check_number(problems, spec, "minReadySeconds")
        selector = spec.get("selector")
        if not selector:
            problems.append(required("spec.selector"))
        check_number(problems, spec, "replicas")
        template = spec.get("template")
        if template is None:
            problems.append(required("spec.template"))
            return
        labels = template["metadata"].get("labels")
        if selector and any((labels or {}).get(key) != value for key, value in selector.items()):
            told: Object | None = self.sent(obj)["spec"]["template"]["metadata"].get("labels")
            value = None if told is None else dict(sorted(told.items()))
            problems.append(invalid("spec.template.metadata.labels", value, NO_MATCH))
        check_template(problems, template, "spec.template")
        check_always(problems, spec, "ReplicationController")

    def check_status(self, problems: Problems, new: Object, old: Object) -> None:
        super().check_status(problems, new, old)
        check_counts(problems, new["status"], _REPLICA_COUNTS[:-1], _REPLICA_LIMITS)

    def selector_text(self, obj: Object) -> str:
        return written({"matchLabels": obj["spec"].get("selector") or {}})
