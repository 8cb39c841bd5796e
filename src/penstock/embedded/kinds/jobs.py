"""Jobs as objects of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from penstock.embedded.kinds.batch import check_job_spec
from penstock.embedded.kinds.decode import defaults
from penstock.embedded.kinds.internal import internal_form
from penstock.embedded.kinds.jobstatus import check_job_status
from penstock.embedded.kinds.names import dns_label
from penstock.embedded.kinds.problems import IMMUTABLE, Problems, invalid, required
from penstock.embedded.kinds.rules import Rules
from penstock.embedded.kinds.selectors import check_selector
from penstock.embedded.kinds.workloads import NO_MATCH, check_same_selector, is_sound, take_labels
from penstock.labels import selects

if TYPE_CHECKING:
    from penstock.kube.resources import Object


_NAME, _UID = "batch.kubernetes.io/job-name", "batch.kubernetes.io/controller-uid"
_OLD_NAME, _OLD_UID = "job-name", "controller-uid"
_MAX = 2**31 - 1
_GENERATED = {_OLD_NAME, _NAME, _OLD_UID, _UID}


@defaults("batch/v1.Job")
def _job_defaults(obj: Object) -> None:
    spec = obj["spec"]
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    spec.setdefault("backoffLimit", _MAX if "backoffLimitPerIndex" in spec else 6)
    if labels := spec["template"]["metadata"].get("labels"):
        # One and the same map, as in the API server: labels that are generated for the template go into both.
        obj["metadata"].setdefault("labels", labels)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    spec.setdefault("podReplacementPolicy", "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed")
    spec.setdefault("manualSelector", False)


class JobRules(Rules):
    """A Job selects its pods by its own uid, unless someone insists on a selector."""

    generation: ClassVar[tuple[str, ...]] = ("spec",)
    status: ClassVar[bool] = True

    def prepare_create(self, obj: Object) -> None:
        spec, metadata = obj["spec"], obj["metadata"]
        if not spec["manualSelector"]:
            labels = spec["template"]["metadata"].setdefault("labels", {})
            for key in (_OLD_NAME, _NAME):
                labels.setdefault(key, metadata.get("name", ""))
            for key in (_OLD_UID, _UID):
                labels.setdefault(key, metadata.get("uid", ""))
            selector = spec.setdefault("selector", {})
            selector.setdefault("matchLabels", {}).setdefault(_UID, metadata.get("uid", ""))
        super().prepare_create(obj)
        # The labels of the template become the Job's own when it is read back without any.
        if spec["template"]["metadata"].get("labels"):
            metadata.setdefault("labels", dict(spec["template"]["metadata"]["labels"]))

    def prepare_update(self, new: Object, old: Object, subresource: str = "") -> None:
        super().prepare_update(new, old, subresource)
        take_labels(new)

    def check_create(self, problems: Problems, obj: Object) -> None:
        metadata = obj["metadata"]
        if metadata.get("labels", {}).keys() == _GENERATED:
            # A template without labels of its own shares the given ones only with those who read the Job.
            obj = {**obj, "metadata": {key: value for key, value in metadata.items() if key != "labels"}}
        super().check_create(problems, obj)

    def check(self, problems: Problems, obj: Object) -> None:
        self._check_all(problems, obj, prefixed=True)

    def _check_all(self, problems: Problems, obj: Object, *, prefixed: bool) -> None:
        self._check_generated(problems, obj, prefixed=prefixed)
        self._check_spec(problems, obj)
        spec, name = obj["spec"], obj["metadata"].get("name", "")
        if spec.get("completionMode") == "Indexed" and spec.get("completions", 0) > 0:
            host = f"{name}-{spec['completions'] - 1}"
            if dns_label(host):
                detail = f"will not able to create pod with invalid DNS label: {host}"
                problems.append(invalid("metadata.name", name, detail))

    def _check_spec(self, problems: Problems, obj: Object) -> None:
        spec = obj["spec"]
        check_job_spec(problems, spec, "spec", sent=self.sent(obj)["spec"])
        selector = spec.get("selector")
        if selector is None:
            problems.append(required("spec.selector"))
        check_selector(problems, selector, "spec.selector")
        labels = spec["template"]["metadata"].get("labels")
        if is_sound(selector or {}) and (selector is None or not selects(selector, labels or {})):
            told: Object | None = self.sent(obj)["spec"]["template"]["metadata"].get("labels")
            value = None if told is None else dict(sorted(told.items()))
            problems.append(invalid("spec.template.metadata.labels", value, NO_MATCH))

    def _check_generated(self, problems: Problems, obj: Object, *, prefixed: bool) -> None:
        """The labels that the API server gives to the template; old Jobs lack those with a domain."""
        spec, metadata = obj["spec"], obj["metadata"]
        if spec.get("manualSelector") or spec.get("selector") is None:
            return
        uid, name = metadata.get("uid", ""), metadata.get("name", "")
        expected = {_OLD_UID: uid, _OLD_NAME: name}
        if prefixed:
            expected |= {_UID: uid, _NAME: name}
        labels = spec["template"]["metadata"].get("labels", {})
        for key, wanted in expected.items():
            at = f"spec.template.metadata.labels[{key}]"
            if key not in labels:
                problems.append(required(at, f"must be '{wanted}'"))
            elif labels[key] != wanted:
                problems.append(invalid(at, dict(sorted(labels.items())), f"must be '{wanted}'"))
        if is_sound(spec["selector"]) and not selects(spec["selector"], expected):
            value = internal_form("apis/meta/v1.LabelSelector", spec["selector"])
            problems.append(invalid("spec.selector", value, "`selector` not auto-generated"))

    def check_update(self, problems: Problems, new: Object, old: Object) -> None:
        labels = old["spec"]["template"]["metadata"].get("labels", {})
        self.check_metadata(problems, new)
        self._check_all(problems, new, prefixed=_NAME in labels and _UID in labels)
        self.check_metadata_update(problems, new, old)
        self._check_spec(problems, new)
        spec, before = new["spec"], old["spec"]
        self._check_completions(problems, spec, before)
        check_same_selector(problems, new, old)
        sent = self.sent(new)["spec"]
        _check_template_change(problems, spec["template"], old, sent["template"])
        for name, type_name in (
            ("completionMode", ""),
            ("podFailurePolicy", "batch.PodFailurePolicy"),
            ("backoffLimitPerIndex", ""),
            ("managedBy", ""),
            ("successPolicy", "batch.SuccessPolicy"),
        ):
            if spec.get(name) != before.get(name):
                value: Any = sent.get(name)
                value = internal_form(type_name, value) if type_name and value else value
                problems.append(invalid(f"spec.{name}", value, IMMUTABLE))

    def check_status(self, problems: Problems, new: Object, old: Object) -> None:
        super().check_status(problems, new, old)
        check_job_status(problems, new, old)

    def _check_completions(self, problems: Problems, spec: Object, before: Object) -> None:
        now = spec.get("completions")
        if now == before.get("completions"):
            return
        if spec.get("completionMode") != "Indexed":
            problems.append(invalid("spec.completions", now, IMMUTABLE))
        elif now is not None and now != spec.get("parallelism"):
            detail = "can only be modified in tandem with spec.parallelism"
            problems.append(invalid("spec.completions", now, detail))


def _check_template_change(problems: Problems, template: Object, old: Object, sent: Object) -> None:
    """A template is fixed; while a Job is suspended, what schedules its pods and their resources may change."""
    before = old["spec"]["template"]
    if not old["spec"].get("suspend"):
        if template != before:
            problems.append(invalid("spec.template", internal_form("core.PodTemplateSpec", sent), IMMUTABLE))
        return
    status = old["status"]
    paused = any(one["type"] == "Suspended" and one["status"] == "True" for one in status.get("conditions", ()))
    if status.get("active") or ("startTime" in status and not paused):
        if template != before:
            problems.append(invalid("spec.template", internal_form("core.PodTemplateSpec", sent), IMMUTABLE))
    elif _fixed_part(template["spec"]) != _fixed_part(before["spec"]):
        value = internal_form("core.PodSpec", sent["spec"])
        problems.append(invalid("spec.template.spec", value, IMMUTABLE))


def _fixed_part(pod: Object) -> Object:
    """What cannot change even while the Job is suspended."""
    fixed = {key: value for key, value in pod.items() if key not in ("nodeSelector", "tolerations", "schedulingGates")}
    affinity = {key: value for key, value in fixed.pop("affinity", {}).items() if key != "nodeAffinity"}
    for kind in ("containers", "initContainers"):
        if fixed.get(kind):
            fixed[kind] = [{**one, "resources": None} for one in fixed[kind]]
    return {**fixed, "affinity": affinity}
