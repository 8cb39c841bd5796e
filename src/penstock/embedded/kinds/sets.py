"""StatefulSets, DaemonSets and the revisions they keep."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar

import orjson

from penstock.embedded.kinds.claims import check_claim_spec
from penstock.embedded.kinds.decode import defaults
from penstock.embedded.kinds.internal import internal_form
from penstock.embedded.kinds.metadata import check_annotations, check_labels
from penstock.embedded.kinds.names import Words, dns_label
from penstock.embedded.kinds.pods.spec import check_pod_annotations, check_template
from penstock.embedded.kinds.problems import (
    IMMUTABLE,
    Problems,
    each_invalid,
    forbidden,
    go_quote,
    invalid,
    non_negative,
    required,
    unsupported,
)
from penstock.embedded.kinds.rules import Rules
from penstock.embedded.kinds.scale import ScaledRules
from penstock.embedded.kinds.selectors import check_selector, is_empty
from penstock.embedded.kinds.workloads import (
    _LABEL_SELECTOR,
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
)
from penstock.schema.scalars import DecodeError

if TYPE_CHECKING:
    from penstock.kube.resources import Object

_TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
"""DaemonSets count the generation of their template in this annotation, for old clients."""


@defaults("apps/v1.DaemonSet")
def _daemon_set(obj: Object) -> None:
    spec = obj["spec"]
    counted = obj["metadata"].get("annotations", {}).get(_TEMPLATE_GENERATION, "0")
    if not re.fullmatch(r"[+-]?[0-9]+", counted):
        raise DecodeError(f"strconv.ParseInt: parsing {go_quote(counted)}: invalid syntax")
    obj["metadata"].setdefault("annotations", {})[_TEMPLATE_GENERATION] = str(int(counted))
    strategy = spec["updateStrategy"]
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", 1)
        rolling.setdefault("maxSurge", 0)
    elif (rolling := strategy.get("rollingUpdate")) is not None:
        # Inside of the server these are no pointers: what is missing is nothing.
        rolling.setdefault("maxUnavailable", 0)
        rolling.setdefault("maxSurge", 0)
    spec.setdefault("revisionHistoryLimit", 10)


@defaults("apps/v1.StatefulSet")
def _stateful_set(obj: Object) -> None:
    spec = obj["spec"]
    spec.setdefault("podManagementPolicy", "OrderedReady")
    strategy = spec["updateStrategy"]
    if "type" not in strategy:
        strategy["type"] = "RollingUpdate"
        strategy.setdefault("rollingUpdate", {})
    if strategy["type"] == "RollingUpdate" and "rollingUpdate" in strategy:
        strategy["rollingUpdate"].setdefault("partition", 0)
    retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    retention.setdefault("whenDeleted", "Retain")
    retention.setdefault("whenScaled", "Retain")
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    for claim in spec.get("volumeClaimTemplates", ()):
        claim["apiVersion"], claim["kind"] = "v1", "PersistentVolumeClaim"


_STATEFUL_CHANGEABLE = (
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
)


_STATEFUL_FIXED = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)


class StatefulSetRules(ScaledRules):
    """Little of it can change: claims, selector and service stay as they were created."""

    generation: ClassVar[tuple[str, ...]] = ("spec",)
    status: ClassVar[bool] = True

    def name_words(self, name: str) -> Words:
        return dns_label(name)

    def prepare_create(self, obj: Object) -> None:
        super().prepare_create(obj)
        _drop_unavailable(obj, {})

    def prepare_change(self, new: Object, old: Object) -> None:
        _drop_unavailable(new, old["spec"]["updateStrategy"].get("rollingUpdate") or {})
        super().prepare_change(new, old)

    def check_create(self, problems: Problems, obj: Object) -> None:
        self.check_metadata(problems, obj)
        self._check_spec(problems, obj["spec"], new=True)

    def check_update(self, problems: Problems, new: Object, old: Object) -> None:
        self.check_metadata_update(problems, new, old)
        self._check_spec(problems, new["spec"], new=False)
        before, after = dict(old["spec"]), dict(new["spec"])
        for field in _STATEFUL_CHANGEABLE:
            before.pop(field, None)
            after.pop(field, None)
        if before != after:
            problems.append(forbidden("spec", _STATEFUL_FIXED))

    def _check_spec(self, problems: Problems, spec: Object, *, new: bool) -> None:
        policy = spec["podManagementPolicy"]
        if policy not in ("OrderedReady", "Parallel"):
            problems.append(invalid("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'"))
        self._check_strategy(problems, spec["updateStrategy"], "spec.updateStrategy")
        retention = spec["persistentVolumeClaimRetentionPolicy"]
        for name in ("whenDeleted", "whenScaled"):
            if retention[name] not in ("Retain", "Delete"):
                at = f"spec.persistentVolumeClaimRetentionPolicy.{name}"
                problems.append(unsupported(at, retention[name], ("Retain", "Delete")))
        if new:
            for index, claim in enumerate(spec.get("volumeClaimTemplates", ())):
                check_claim_spec(problems, claim["spec"], f"spec.volumeClaimTemplates[{index}].spec")
        check_number(problems, spec, "replicas")
        check_number(problems, spec, "minReadySeconds")
        if "ordinals" in spec:
            non_negative(problems, spec["ordinals"].get("start", 0), "spec.ordinals.start")
        if new and spec.get("serviceName"):
            problems += each_invalid("spec.serviceName", spec["serviceName"], dns_label(spec["serviceName"]))
        check_own_selector(problems, spec, "statefulset")
        if is_sound(spec.get("selector") or {}):
            self._check_template(problems, spec)
        else:
            value = internal_form(_LABEL_SELECTOR, spec["selector"])
            problems.append(invalid("spec.selector", value, ""))
        check_always(problems, spec, "StatefulSet")

    def _check_strategy(self, problems: Problems, strategy: Object, field: str) -> None:
        rolling = strategy.get("rollingUpdate")
        if strategy["type"] == "OnDelete":
            if rolling is not None:
                value = internal_form("apps.RollingUpdateStatefulSetStrategy", rolling)
                detail = "only allowed for updateStrategy 'RollingUpdate'"
                problems.append(invalid(f"{field}.rollingUpdate", value, detail))
        elif strategy["type"] == "RollingUpdate":
            if rolling is not None:
                self._check_rolling(problems, rolling, f"{field}.rollingUpdate")
        else:
            value = internal_form("apps.StatefulSetUpdateStrategy", strategy)
            problems.append(invalid(field, value, "must be 'RollingUpdate' or 'OnDelete'"))

    def _check_rolling(self, problems: Problems, rolling: Object, field: str) -> None:
        non_negative(problems, rolling["partition"], f"{field}.partition")
        if "maxUnavailable" in rolling:
            value, at = rolling["maxUnavailable"], f"{field}.maxUnavailable"
            check_int_or_percent(problems, value, at)
            if amount(value) == 0:
                problems.append(invalid(at, value, "cannot be 0"))
            check_not_above_all(problems, value, at)

    def _check_template(self, problems: Problems, spec: Object) -> None:
        """The set itself names its pods, and brings the volumes of its claims."""
        template = spec["template"]
        check_selected(problems, self.sent({"spec": spec})["spec"])
        pod = {key: value for key, value in template["spec"].items() if key not in ("hostname", "subdomain")}
        if claims := spec.get("volumeClaimTemplates"):
            names = {claim["metadata"].get("name", ""): None for claim in claims}
            own = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names]
            pod["volumes"] = [*own, *(one for one in pod.get("volumes", ()) if one["name"] not in names)]
        check_template(problems, {**template, "spec": pod}, "spec.template")
        metadata = template["metadata"]
        check_labels(problems, metadata.get("labels", {}), "spec.template.labels")
        if annotations := metadata.get("annotations"):
            check_annotations(problems, annotations, "spec.template.annotations")
            check_pod_annotations(problems, annotations, pod, "spec.template.annotations")

    def check_status(self, problems: Problems, new: Object, old: Object) -> None:
        names = ("replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")
        limits = tuple((name, "replicas", "status.replicas") for name in names[1:])
        last = (("availableReplicas", "readyReplicas", "status.readyReplicas"),)
        every = (*names, "observedGeneration", "collisionCount")
        check_counts(problems, new["status"], every, (*limits, *last))
        super().check_status(problems, new, old)
        check_collisions(problems, new, old)


def _drop_unavailable(obj: Object, before: Object) -> None:
    """`maxUnavailable` belongs to a feature that is off."""
    rolling = obj["spec"]["updateStrategy"].get("rollingUpdate")
    if rolling and "maxUnavailable" not in before:
        rolling.pop("maxUnavailable", None)


class DaemonSetRules(Rules):
    generation: ClassVar[tuple[str, ...]] = ("spec",)
    status: ClassVar[bool] = True

    def prepare_create(self, obj: Object) -> None:
        super().prepare_create(obj)
        annotations = obj["metadata"].setdefault("annotations", {})
        annotations[_TEMPLATE_GENERATION] = str(max(1, int(annotations.get(_TEMPLATE_GENERATION, "0"))))

    def prepare_status(self, new: Object, old: Object) -> None:
        super().prepare_status(new, old)
        counted = old["metadata"].get("annotations", {}).get(_TEMPLATE_GENERATION)
        if counted is not None:
            new["metadata"].setdefault("annotations", {})[_TEMPLATE_GENERATION] = counted

    def prepare_change(self, new: Object, old: Object) -> None:
        super().prepare_change(new, old)
        counted = old["metadata"].get("annotations", {}).get(_TEMPLATE_GENERATION, "0")
        if new["spec"]["template"] != old["spec"]["template"]:
            counted = str(int(counted) + 1)
        new["metadata"].setdefault("annotations", {})[_TEMPLATE_GENERATION] = counted

    def check(self, problems: Problems, obj: Object) -> None:
        spec = obj["spec"]
        selector = spec.get("selector")
        check_selector(problems, selector, "spec.selector")
        if is_sound(selector or {}):
            check_selected(problems, self.sent(obj)["spec"])
        if selector is not None and is_empty(selector):
            value = internal_form(_LABEL_SELECTOR, selector)
            problems.append(invalid("spec.selector", value, "empty selector is invalid for daemonset"))
        check_template(problems, spec["template"], "spec.template")
        check_always(problems, spec, "DaemonSet")
        check_number(problems, spec, "minReadySeconds")
        self._check_strategy(problems, spec["updateStrategy"], "spec.updateStrategy")
        check_number(problems, spec, "revisionHistoryLimit")

    def _check_strategy(self, problems: Problems, strategy: Object, field: str) -> None:
        if strategy["type"] == "OnDelete":
            return
        if strategy["type"] != "RollingUpdate":
            value = internal_form("apps.DaemonSetUpdateStrategy", strategy)
            problems.append(unsupported(field, value, ("RollingUpdate", "OnDelete")))
            return
        at, rolling = f"{field}.rollingUpdate", strategy["rollingUpdate"]
        unavailable, surge = rolling["maxUnavailable"], rolling["maxSurge"]
        for check in (check_int_or_percent, check_not_above_all):
            check(problems, unavailable, f"{at}.maxUnavailable")
            check(problems, surge, f"{at}.maxSurge")
        if amount(unavailable) and amount(surge):
            problems.append(invalid(f"{at}.maxSurge", surge, "may not be set when maxUnavailable is non-zero"))
        elif not amount(unavailable) and not amount(surge):
            problems.append(required(f"{at}.maxUnavailable", "cannot be 0 when maxSurge is 0"))

    def check_update(self, problems: Problems, new: Object, old: Object) -> None:
        self.check_metadata_update(problems, new, old)
        check_same_selector(problems, new, old)
        self.check(problems, new)

    def check_status(self, problems: Problems, new: Object, old: Object) -> None:
        super().check_status(problems, new, old)
        check_counts(problems, new["status"], _DAEMON_COUNTS)
        check_collisions(problems, new, old)


_DAEMON_COUNTS = (
    "currentNumberScheduled",
    "numberMisscheduled",
    "desiredNumberScheduled",
    "numberReady",
    "observedGeneration",
    "updatedNumberScheduled",
    "numberAvailable",
    "numberUnavailable",
    "collisionCount",
)


class ControllerRevisionRules(Rules):
    def check_create(self, problems: Problems, obj: Object) -> None:
        self.check_metadata(problems, obj)
        self.check(problems, obj)
        data: Any = obj.get("data")
        if data is None:
            problems.append(required("data", "data is mandatory"))
        elif not isinstance(data, dict):
            problems.append(required("data", "data must be a valid JSON object"))

    def check_update(self, problems: Problems, new: Object, old: Object) -> None:
        self.check_metadata_update(problems, new, old)
        self.check_metadata(problems, new)
        self.check(problems, new)
        if _json(new) != _json(old):
            problems.append(invalid("data", new.get("data"), IMMUTABLE))

    def check(self, problems: Problems, obj: Object) -> None:
        non_negative(problems, obj["revision"], "revision")


def _json(revision: Object) -> bytes:
    """The data of a revision in a form that keeps true and 1 apart."""
    return orjson.dumps(revision.get("data"), option=orjson.OPT_SORT_KEYS)
