"""API services: which server serves a version of a group."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from penstock.embedded.kinds.decode import defaults
from penstock.embedded.kinds.names import Words, dns_1035_label, dns_subdomain, path_segment, port_number
from penstock.embedded.kinds.problems import Problems, each_invalid, invalid, required, unsupported
from penstock.embedded.kinds.rules import ClusterRules

if TYPE_CHECKING:
    from penstock.kube.resources import Object


@defaults("kube-aggregator/pkg/apis/apiregistration/v1.ServiceReference")
def _api_service_defaults(service: Object) -> None:
    service.setdefault("port", 443)


class APIServiceRules(ClusterRules):
    """Its name is made of the group and version it serves."""

    status: ClassVar[bool] = True
    status_keeps: ClassVar[tuple[str, ...]] = ("labels", "annotations", "finalizers", "ownerReferences")
    unconditional_update: ClassVar[bool] = False
    kube_finalizers: ClassVar[bool] = False

    def prepare_create(self, obj: Object) -> None:
        super().prepare_create(obj)
        if "service" not in obj["spec"]:
            condition = {
                "type": "Available",
                "status": "True",
                "lastTransitionTime": obj["metadata"].get("creationTimestamp"),
                "reason": "Local",
                "message": "Local APIServices are always available",
            }
            obj["status"] = {"conditions": [condition]}

    def name_words(self, name: str) -> Words:
        return path_segment(name)

    def check_metadata(self, problems: Problems, obj: Object) -> None:
        super().check_metadata(problems, obj)
        name = obj["metadata"].get("name", "")
        spec = obj["spec"]
        wanted = f"{spec.get('version', '')}.{spec.get('group', '')}"
        if name and not path_segment(name) and name != wanted:
            detail = f'must be `spec.version+"."+spec.group`: "{wanted}"'
            problems.insert(0, invalid("metadata.name", name, detail))

    def check(self, problems: Problems, obj: Object) -> None:
        spec = obj["spec"]
        group, version = spec.get("group", ""), spec.get("version", "")
        if not group and version != "v1":
            detail = "only v1 may have an empty group and it better be legacy kube"
            problems.append(required("spec.group", detail))
        if group:
            problems += each_invalid("spec.group", group, dns_subdomain(group))
        problems += each_invalid("spec.version", version, dns_1035_label(version))
        for name, limit in (("groupPriorityMinimum", 20000), ("versionPriority", 1000)):
            if not 0 < spec.get(name, 0) <= limit:
                detail = f"must be positive and less than {limit}"
                problems.append(invalid(f"spec.{name}", spec.get(name, 0), detail))
        self._check_service(problems, spec)

    def _check_service(self, problems: Problems, spec: Object) -> None:
        service, insecure = spec.get("service"), spec.get("insecureSkipTLSVerify")
        if service is None:
            if spec.get("caBundle"):
                size = f"{len(spec['caBundle']) * 3 // 4} bytes"
                problems.append(invalid("spec.caBundle", size, "local APIServices may not have a caBundle"))
            if insecure:
                detail = "local APIServices may not have insecureSkipTLSVerify"
                problems.append(invalid("spec.insecureSkipTLSVerify", True, detail))
            return
        problems += [required(f"spec.service.{name}") for name in ("namespace", "name") if not service.get(name)]
        if words := port_number(service["port"]):
            problems.append(invalid("spec.service.port", service["port"], f"port is not valid: {', '.join(words)}"))
        if insecure and spec.get("caBundle"):
            detail = "may not be true if caBundle is present"
            problems.append(invalid("spec.insecureSkipTLSVerify", True, detail))

    def check_update(self, problems: Problems, new: Object, old: Object) -> None:
        self.check_metadata_update(problems, new, old)
        self.check_create(problems, new)

    def check_status(self, problems: Problems, new: Object, old: Object) -> None:
        super().check_status(problems, new, old)
        allowed = ("True", "False", "Unknown")
        for index, condition in enumerate(new["status"].get("conditions", ())):
            if condition["status"] not in allowed:
                at = f"status.conditions[{index}].status"
                problems.append(unsupported(at, condition["status"], allowed))
