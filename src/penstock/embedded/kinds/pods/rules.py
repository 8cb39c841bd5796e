"""Pods and pod templates as objects of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from penstock.embedded.kinds.decode import defaults
from penstock.embedded.kinds.difference import difference
from penstock.embedded.kinds.ips import check_ip
from penstock.embedded.kinds.names import between, dns_subdomain, qualified_name
from penstock.embedded.kinds.pods.containers import check_image_space
from penstock.embedded.kinds.pods.quality import quality_of_service
from penstock.embedded.kinds.pods.scheduling import check_tolerations
from penstock.embedded.kinds.pods.spec import check_pod_annotations, check_pod_spec, check_template
from penstock.embedded.kinds.pods.subresources import (
    check_ephemeral_change,
    check_resize_change,
    keep_for_ephemeral,
    keep_for_resize,
)
from penstock.embedded.kinds.pods.totals import fill_totals
from penstock.embedded.kinds.problems import IMMUTABLE, Problems, each_invalid, forbidden, invalid, required
from penstock.embedded.kinds.rules import Rules

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.kube.resources import Object

_CHANGEABLE = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_MAX_SECONDS = 2**31 - 1


@defaults("core/v1.Pod")
def _pod_defaults(pod: Object) -> None:
    """What is not asked for is asked for as much as is allowed; this holds for pods, not for templates."""
    spec = pod["spec"]
    for kind in ("containers", "initContainers"):
        for container in spec.get(kind) or ():
            if limits := container["resources"].get("limits"):
                container["resources"]["requests"] = {**limits, **container["resources"].get("requests", {})}
            if spec.get("hostNetwork"):
                for port in container.get("ports", ()):
                    port.setdefault("hostPort", port["containerPort"])
    if spec["terminationGracePeriodSeconds"] < 0:
        spec["terminationGracePeriodSeconds"] = 1
    fill_totals(spec)
    spec.setdefault("enableServiceLinks", True)


@defaults("core/v1.PodStatus")
def _pod_status_defaults(status: Object) -> None:
    """The one address and the list of all follow each other; where they differ, the one counts."""
    one, every = status.get("podIP"), status.get("podIPs")
    if one and (not every or every[0].get("ip") != one):
        status["podIPs"] = [{"ip": one}]
    elif every and not one and every[0].get("ip"):
        status["podIP"] = every[0]["ip"]


class PodRules(Rules):
    generation: ClassVar[tuple[str, ...]] = ("spec",)
    status: ClassVar[bool] = True
    status_keeps: ClassVar[tuple[str, ...]] = ("ownerReferences",)

    def prepare_create(self, obj: Object) -> None:
        obj["metadata"]["generation"] = 1
        status: Object = {"phase": "Pending", "qosClass": quality_of_service(obj["spec"])}
        obj["status"] = status
        if "schedulingGates" in obj["spec"]:
            condition = {
                "type": "PodScheduled",
                "status": "False",
                "lastProbeTime": None,
                "lastTransitionTime": obj["metadata"].get("creationTimestamp"),
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
            }
            status["conditions"] = [condition]

    def prepare_status(self, new: Object, old: Object) -> None:
        super().prepare_status(new, old)
        new["metadata"].pop("deletionTimestamp", None)
        if not new["status"].get("qosClass") and "qosClass" in old["status"]:
            new["status"]["qosClass"] = old["status"]["qosClass"]

    def prepare_below(self, new: Object, old: Object, subresource: str) -> None:
        if subresource not in ("ephemeralcontainers", "resize"):
            return
        (keep_for_resize if subresource == "resize" else keep_for_ephemeral)(new, old)
        if self.changed(new, old):
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def check_create(self, problems: Problems, obj: Object) -> None:
        self._check_pod(problems, obj)
        spec = obj["spec"]
        if "ephemeralContainers" in spec:
            problems.append(forbidden("spec.ephemeralContainers", "cannot be set on create"))
        if spec.get("nodeName") and "schedulingGates" in spec:
            detail = "cannot be set until all schedulingGates have been cleared"
            problems.append(forbidden("spec.nodeName", detail))

    def _check_pod(self, problems: Problems, obj: Object) -> None:
        self.check_metadata(problems, obj)
        spec, metadata = obj["spec"], obj["metadata"]
        if annotations := metadata.get("annotations"):
            check_pod_annotations(problems, annotations, spec, "metadata.annotations")
        check_pod_spec(problems, spec, "spec", pod_name=metadata.get("name", ""), is_pod=True)
        if not spec.get("serviceAccountName"):
            self._check_tokens(problems, spec)
        for kind in ("containers", "initContainers"):
            for index, container in enumerate(spec.get(kind) or ()):
                check_image_space(problems, container, f"spec.{kind}[{index}]")

    def _check_tokens(self, problems: Problems, spec: Object) -> None:
        for index, volume in enumerate(spec.get("volumes", ())):
            for position, source in enumerate(volume.get("projected", {}).get("sources") or ()):
                if "serviceAccountToken" in source:
                    at = f"spec.volumes[{index}].projected.sources[{position}].serviceAccountToken"
                    problems.append(forbidden(at, "must not be specified when serviceAccountName is not set"))

    def check_update(self, problems: Problems, new: Object, old: Object) -> None:
        self.check_metadata_update(problems, new, old)
        self._check_pod(problems, new)
        spec, before = new["spec"], old["spec"]
        for kind in ("containers", "initContainers"):
            if len(spec.get(kind) or ()) != len(before.get(kind) or ()):
                problems.append(forbidden(f"spec.{kind}", "pod updates may not add or remove containers"))
                return
            for index, container in enumerate(spec.get(kind) or ()):
                if not container.get("image"):
                    problems.append(required(f"spec.{kind}[{index}].image"))
                check_image_space(problems, container, f"spec.{kind}[{index}]")
        if not self._check_deadline(problems, spec, before):
            return
        self._check_tolerations(problems, spec, before)
        gates = {gate["name"] for gate in before.get("schedulingGates", ())}
        for index, gate in enumerate(spec.get("schedulingGates", ())):
            if gate["name"] not in gates:
                at = f"spec.schedulingGates[{index}].name"
                detail = f"only deletion is allowed, but found new scheduling gate '{gate['name']}'"
                problems.append(forbidden(at, detail))
        if _frozen(spec, before) != before:
            changes = difference("core.PodSpec", before, _frozen(_requested(self.sent(new)["spec"]), before))
            detail = f"pod updates may not change fields other than {_CHANGEABLE}\n{changes}"
            problems.append(forbidden("spec", detail))

    def check_below(self, problems: Problems, new: Object, old: Object, subresource: str) -> None:
        if subresource not in ("ephemeralcontainers", "resize"):
            self.check_update(problems, new, old)
            return
        found: Problems = []
        self.check_metadata_update(found, new, old)
        self._check_pod(found, new)
        (check_resize_change if subresource == "resize" else check_ephemeral_change)(found, new, old)
        problems += found

    def _check_deadline(self, problems: Problems, spec: Object, before: Object) -> bool:
        now, then = spec.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds")
        field = "spec.activeDeadlineSeconds"
        if now is None:
            if then is not None:
                problems.append(invalid(field, None, "must not update from a positive integer to nil value"))
            return True
        if not 0 <= now <= _MAX_SECONDS:
            problems.append(invalid(field, now, between(0, _MAX_SECONDS)))
            return False
        if then is not None and then < now:
            problems.append(invalid(field, now, "must be less than or equal to previous value"))
            return False
        return True

    def _check_tolerations(self, problems: Problems, spec: Object, before: Object) -> None:
        now: Sequence[Any] = spec.get("tolerations", ())
        kept = [{k: v for k, v in one.items() if k != "tolerationSeconds"} for one in now]
        for one in before.get("tolerations", ()):
            bare = {k: v for k, v in one.items() if k != "tolerationSeconds"}
            if bare not in kept:
                detail = "existing toleration can not be modified except its tolerationSeconds"
                problems.append(forbidden("spec.tolerations", detail))
                return
        check_tolerations(problems, now, "spec.tolerations")

    def check_status(self, problems: Problems, new: Object, old: Object) -> None:
        super().check_status(problems, new, old)
        status, before = new["status"], old["status"]
        for index, condition in enumerate(status.get("conditions", ())):
            kind = condition["type"]
            problems += each_invalid(f"status.conditions[{index}].Type", kind, qualified_name(kind))
        node = status.get("nominatedNodeName", "")
        if node and node != before.get("nominatedNodeName"):
            problems += each_invalid("status.nominatedNodeName", node, dns_subdomain(node))
        if status.get("observedGeneration", 0) < 0:
            detail = "must be a non-negative integer"
            problems.append(invalid("status.observedGeneration", status["observedGeneration"], detail))
        if status.get("qosClass", "") != before.get("qosClass", ""):
            problems.append(invalid("status.qosClass", status.get("qosClass", ""), IMMUTABLE))
        _check_addresses(problems, status)


def _check_addresses(problems: Problems, status: Object) -> None:
    """The addresses of a pod and of its host: one of each family at most."""
    hosts = status.get("hostIPs", ())
    if hosts and status.get("hostIP", "") != hosts[0].get("ip", ""):
        problems.append(invalid("status.hostIPs[0].ip", hosts[0].get("ip", ""), "must be equal to `hostIP`"))
    for name in ("podIPs", "hostIPs"):
        ips = [each.get("ip", "") for each in status.get(name, ())]
        sound = [check_ip(problems, ip, f"status.{name}[{index}]") for index, ip in enumerate(ips)]
        if len(ips) > 1 and all(sound) and (len({":" in ip for ip in ips}) != 2 or len(ips) > 2):
            told = [{"IP": ip} for ip in ips]
            problems.append(invalid(f"status.{name}", told, "may specify no more than one IP for each IP family"))


def _requested(spec: Object) -> Object:
    """A spec as it was sent, where limits that were spelt out as empty make such requests."""
    made = dict(spec)
    for kind in ("containers", "initContainers"):
        if spec.get(kind):
            made[kind] = [_with_requests(container) for container in spec[kind]]
    return made


def _with_requests(container: Object) -> Object:
    resources = container["resources"]
    if resources.get("limits") is None or "requests" in resources:
        return container
    return {**container, "resources": {**resources, "requests": {}}}


def _frozen(spec: Object, before: Object) -> Object:
    """A new spec with everything that may change put back as it was."""
    kept = dict(spec)
    for kind in ("containers", "initContainers"):
        if spec.get(kind):
            pairs = zip(spec[kind], before[kind], strict=True)
            kept[kind] = [{**one, "image": other.get("image", "")} for one, other in pairs]
        elif kind == "initContainers":
            kept.pop(kind, None)
    for name in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        kept.pop(name, None)
        if name in before:
            kept[name] = before[name]
    if before.get("terminationGracePeriodSeconds", 0) < 0 and kept.get("terminationGracePeriodSeconds") == 1:
        kept["terminationGracePeriodSeconds"] = before["terminationGracePeriodSeconds"]
    if "schedulingGates" in before:
        for name in ("nodeSelector", "affinity"):
            kept.pop(name, None)
            if name in before:
                kept[name] = before[name]
    return kept


class PodTemplateRules(Rules):
    generation: ClassVar[tuple[str, ...]] = ("template",)

    def check(self, problems: Problems, obj: Object) -> None:
        check_template(problems, obj["template"], "template")
