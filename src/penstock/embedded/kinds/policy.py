"""Disruption budgets, priority classes, runtime classes and leases."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from penstock.embedded.kinds.decode import defaults
from penstock.embedded.kinds.internal import internal_form
from penstock.embedded.kinds.metadata import check_labels
from penstock.embedded.kinds.names import dns_label
from penstock.embedded.kinds.pods.requirements import check_requirements
from penstock.embedded.kinds.pods.scheduling import check_tolerations
from penstock.embedded.kinds.problems import (
    Problems,
    duplicate,
    each_invalid,
    forbidden,
    invalid,
    non_negative,
    one_of,
    required,
    same,
    unsupported,
)
from penstock.embedded.kinds.rules import ClusterRules, Rules
from penstock.embedded.kinds.selectors import check_selector
from penstock.embedded.kinds.workloads import check_int_or_percent, check_not_above_all

if TYPE_CHECKING:
    from penstock.kube.resources import Object


class DisruptionBudgetRules(Rules):
    """Its name is not looked at twice: whatever fits into a path will do."""

    generation: ClassVar[tuple[str, ...]] = ("spec",)
    status: ClassVar[bool] = True
    unconditional_update: ClassVar[bool] = False

    def check_create(self, problems: Problems, obj: Object) -> None:
        self.check(problems, obj)

    def check_update(self, problems: Problems, new: Object, old: Object) -> None:  # noqa: ARG002 - as it was does not matter
        self.check(problems, new)

    def check(self, problems: Problems, obj: Object) -> None:
        spec = obj["spec"]
        if "minAvailable" in spec and "maxUnavailable" in spec:
            value = internal_form("policy.PodDisruptionBudgetSpec", spec)
            problems.append(invalid("spec", value, "minAvailable and maxUnavailable cannot be both set"))
        for name in ("minAvailable", "maxUnavailable"):
            if name in spec:
                check_int_or_percent(problems, spec[name], f"spec.{name}")
                check_not_above_all(problems, spec[name], f"spec.{name}")
        check_selector(problems, spec.get("selector"), "spec.selector")
        policy = spec.get("unhealthyPodEvictionPolicy")
        if policy is not None and policy not in ("AlwaysAllow", "IfHealthyBudget"):
            allowed = ("AlwaysAllow", "IfHealthyBudget")
            problems.append(unsupported("spec.unhealthyPodEvictionPolicy", policy, allowed))

    def check_status(self, problems: Problems, new: Object, old: Object) -> None:  # noqa: ARG002 - as it was does not matter
        for name in ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"):
            non_negative(problems, new["status"].get(name, 0), f"status.{name}")


@defaults("scheduling/v1.PriorityClass")
def _priority_defaults(obj: Object) -> None:
    obj.setdefault("preemptionPolicy", "PreemptLowerPriority")


class PriorityClassRules(ClusterRules):
    """A priority never changes, so that it can be copied into pods."""

    generation: ClassVar[tuple[str, ...]] = ()
    _HIGHEST: ClassVar[int] = 1000000000

    def prepare_create(self, obj: Object) -> None:
        obj["metadata"]["generation"] = 1

    def check(self, problems: Problems, obj: Object) -> None:
        name, value = obj["metadata"].get("name", ""), obj["value"]
        if name.startswith("system-"):
            if name not in ("system-node-critical", "system-cluster-critical"):
                detail = (
                    "priority class names with 'system-' prefix are reserved for system use only. error: "
                    f"{name} is not a known system priority class"
                )
                problems.append(forbidden("metadata.name", detail))
        elif value > self._HIGHEST:
            detail = f"maximum allowed value of a user defined priority is {self._HIGHEST}"
            problems.append(forbidden("value", detail))
        one_of(problems, obj["preemptionPolicy"], ("PreemptLowerPriority", "Never"), "preemptionPolicy")

    def check_update(self, problems: Problems, new: Object, old: Object) -> None:
        self.check_metadata_update(problems, new, old)
        if new["value"] != old["value"]:
            problems.append(forbidden("value", "may not be changed in an update."))
        same(problems, new["preemptionPolicy"], old["preemptionPolicy"], "preemptionPolicy")


class RuntimeClassRules(ClusterRules):
    unconditional_update: ClassVar[bool] = False
    create_on_update: ClassVar[bool] = True
    kube_finalizers: ClassVar[bool] = False

    def check(self, problems: Problems, obj: Object) -> None:
        if handler := obj["handler"]:
            problems += each_invalid("handler", handler, dns_label(handler))
        else:
            problems.append(required("handler"))
        if "overhead" in obj:
            check_requirements(problems, {"limits": obj["overhead"].get("podFixed", {})}, "overhead")
        if scheduling := obj.get("scheduling"):
            check_labels(problems, scheduling.get("nodeSelector", {}), "scheduling.nodeSelector")
            tolerations = scheduling.get("tolerations", [])
            check_tolerations(problems, tolerations, "scheduling.tolerations")
            for index, one in enumerate(tolerations):
                if one in tolerations[:index]:
                    value = internal_form("core.Toleration", one)
                    problems.append(duplicate(f"scheduling.tolerations[{index}]", value))

    def check_update(self, problems: Problems, new: Object, old: Object) -> None:
        self.check_create(problems, new)
        self.check_metadata_update(problems, new, old)
        same(problems, new["handler"], old["handler"], "handler")


class LeaseRules(Rules):
    unconditional_update: ClassVar[bool] = False
    create_on_update: ClassVar[bool] = True
    kube_finalizers: ClassVar[bool] = False

    def prepare_create(self, obj: Object) -> None:
        self._drop_coordination(obj, {})

    def prepare_change(self, new: Object, old: Object) -> None:
        self._drop_coordination(new, old["spec"])

    def _drop_coordination(self, obj: Object, before: Object) -> None:
        """Fields of a feature that is off, unless they are there already."""
        for name in ("strategy", "preferredHolder"):
            if name not in before:
                obj["spec"].pop(name, None)

    def check(self, problems: Problems, obj: Object) -> None:
        spec = obj["spec"]
        seconds, changes = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
        if seconds is not None and seconds <= 0:
            problems.append(invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0"))
        if changes is not None and changes < 0:
            problems.append(invalid("spec.leaseTransitions", changes, "must be greater than or equal to 0"))
