"""Namespaces, service accounts, quotas and limit ranges: what frames the other objects."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, ClassVar

from penstock.embedded.kinds.decode import defaults
from penstock.embedded.kinds.metadata import check_finalizer_domain
from penstock.embedded.kinds.names import Words, dns_label, qualified_name
from penstock.embedded.kinds.problems import IMMUTABLE, Problems, each_invalid, forbidden, invalid, required
from penstock.embedded.kinds.problems import duplicate as duplicate_problem
from penstock.embedded.kinds.resources import (
    check_container_name,
    check_name,
    check_quota_amounts,
    is_quota,
    may_overcommit,
)
from penstock.embedded.kinds.rules import ClusterRules, Rules
from penstock.schema.quantity import parse

if TYPE_CHECKING:
    from penstock.kube.resources import Object

FINALIZER = "kubernetes"
NAME_LABEL = "kubernetes.io/metadata.name"


@defaults("core/v1.Namespace")
def _namespace_defaults(namespace: Object) -> None:
    if name := namespace["metadata"].get("name"):
        namespace["metadata"].setdefault("labels", {})[NAME_LABEL] = name
    namespace["status"].setdefault("phase", "Active")


class NamespaceRules(ClusterRules):
    """A namespace has finalizers of its own in `spec`, which only its `finalize` subresource changes."""

    status: ClassVar[bool] = True

    def name_words(self, name: str) -> Words:
        return dns_label(name)

    def prepare_create(self, obj: Object) -> None:
        obj["status"] = {"phase": "Active"}
        obj["metadata"].setdefault("labels", {})[NAME_LABEL] = obj["metadata"].get("name", "")
        finalizers = obj["spec"].setdefault("finalizers", [])
        if FINALIZER not in finalizers:
            finalizers.append(FINALIZER)

    def prepare_update(self, new: Object, old: Object, subresource: str = "") -> None:
        super().prepare_update(new, old, subresource)
        if subresource == "finalize":
            new["status"] = old["status"]
        new["metadata"].setdefault("labels", {})[NAME_LABEL] = new["metadata"]["name"]

    def prepare_change(self, new: Object, old: Object) -> None:
        new["status"] = old["status"]
        new["spec"] = old["spec"]

    def check(self, problems: Problems, obj: Object) -> None:
        for name in obj["spec"].get("finalizers", ()):
            problems += each_invalid("spec.finalizers", name, qualified_name(name))
            check_finalizer_domain(problems, name, "spec.finalizers")

    def check_update(self, problems: Problems, new: Object, old: Object) -> None:
        self.check_create(problems, new)
        self.check_metadata_update(problems, new, old)

    def check_status(self, problems: Problems, new: Object, old: Object) -> None:
        super().check_status(problems, new, old)
        phase = new["status"]["phase"]
        if "deletionTimestamp" not in new["metadata"]:
            if phase != "Active":
                detail = "may only be 'Active' if `deletionTimestamp` is empty"
                problems.append(invalid("status.Phase", phase, detail))
        elif phase != "Terminating":
            detail = "may only be 'Terminating' if `deletionTimestamp` is not empty"
            problems.append(invalid("status.Phase", phase, detail))


class ServiceAccountRules(Rules):
    """Of a reference to a secret only the name stays."""

    def prepare_create(self, obj: Object) -> None:
        self._keep_names(obj)

    def prepare_change(self, new: Object, old: Object) -> None:  # noqa: ARG002 - as it was does not matter
        self._keep_names(new)

    def _keep_names(self, obj: Object) -> None:
        if secrets := obj.get("secrets"):
            obj["secrets"] = [{"name": one["name"]} if one.get("name") else {} for one in secrets]

    def check_update(self, problems: Problems, new: Object, old: Object) -> None:
        self.check_metadata_update(problems, new, old)
        self.check_create(problems, new)


_POD_COMPUTE = frozenset({"pods", "cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"})
_SCOPES: dict[str, frozenset[str]] = {
    "Terminating": _POD_COMPUTE,
    "NotTerminating": _POD_COMPUTE,
    "NotBestEffort": _POD_COMPUTE,
    "PriorityClass": _POD_COMPUTE,
    "CrossNamespacePodAffinity": _POD_COMPUTE,
    "BestEffort": frozenset({"pods"}),
    "VolumeAttributesClass": frozenset({"persistentvolumeclaims", "requests.storage"}),
}
_CONFLICTING = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))
_EXISTS_ONLY = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
    "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)


class ResourceQuotaRules(Rules):
    """Amounts that a namespace may use, in all or within scopes; the scopes never change."""

    status: ClassVar[bool] = True

    def check(self, problems: Problems, obj: Object) -> None:
        spec = obj["spec"]
        check_quota_amounts(problems, spec.get("hard", {}), "spec.hard")
        scopes = spec.get("scopes", [])
        for scope in scopes:
            if scope not in _SCOPES:
                problems.append(invalid("spec.scopes", scopes, "unsupported scope"))
            problems += self._unfit(spec, scope, "spec.scopes", scopes)
        problems += self._conflicts(scopes, "spec.scopes", scopes)
        if "scopeSelector" in spec:
            self._check_selector(problems, spec, "spec.scopeSelector.matchExpressions")

    def _unfit(self, spec: Object, scope: str, field: str, value: Any) -> Problems:
        fitting = _SCOPES.get(scope)
        if fitting is None:
            return []
        bad = [name for name in spec.get("hard", {}) if is_quota(name) and name not in fitting]
        return [invalid(field, value, "unsupported scope applied to resource") for _ in bad]

    def _conflicts(self, scopes: list[str], field: str, value: Any) -> Problems:
        both = [pair for pair in _CONFLICTING if set(pair) <= set(scopes)]
        return [invalid(field, value or None, "conflicting scopes") for _ in both]

    def _check_selector(self, problems: Problems, spec: Object, field: str) -> None:
        selector = spec["scopeSelector"]
        names: list[str] = []
        for one in selector.get("matchExpressions") or ():
            scope, operator, values = one["scopeName"], one["operator"], one.get("values", [])
            if scope not in _SCOPES:
                problems.append(invalid(f"{field}.scopeName", scope, "unsupported scope"))
            problems += self._unfit(spec, scope, field, _internal_selector(selector))
            if scope in _SCOPES and scope not in ("PriorityClass", "VolumeAttributesClass") and operator != "Exists":
                problems.append(invalid(f"{field}.operator", operator, _EXISTS_ONLY))
            if operator in ("In", "NotIn"):
                if not values:
                    detail = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
                    problems.append(required(f"{field}.values", detail))
            elif operator in ("Exists", "DoesNotExist"):
                if values:
                    detail = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
                    problems.append(invalid(f"{field}.values", values, detail))
            else:
                problems.append(invalid(f"{field}.operator", operator, "not a valid selector operator"))
            names.append(scope)
        problems += self._conflicts(names, field, spec.get("scopes"))

    def check_change(self, problems: Problems, new: Object, old: Object) -> None:
        scopes = self.sent(new)["spec"].get("scopes")
        if set(scopes or ()) != set(old["spec"].get("scopes", ())):
            problems.append(invalid("spec.scopes", self.sent(new)["spec"].get("scopes"), IMMUTABLE))

    def check_status(self, problems: Problems, new: Object, old: Object) -> None:
        super().check_status(problems, new, old)
        for part in ("hard", "used"):
            check_quota_amounts(problems, new["status"].get(part, {}), f"status.{part}")


def _internal_selector(selector: Object) -> Object:
    expressions = [
        {"ScopeName": one["scopeName"], "Operator": one["operator"], "Values": one.get("values")}
        for one in selector.get("matchExpressions") or ()
    ]
    return {"MatchExpressions": expressions}


@defaults("core/v1.LimitRangeItem")
def _limit_defaults(item: Object) -> None:
    if item["type"] != "Container":
        return
    limits = {**item.get("max", {}), **item.get("default", {})}
    requests = {**item.get("min", {}), **limits, **item.get("defaultRequest", {})}
    if limits:
        item["default"] = limits
    if requests:
        item["defaultRequest"] = requests


class LimitRangeRules(Rules):
    """Minimum, maximum and defaults of containers, pods and claims, which must fit each other."""

    create_on_update: ClassVar[bool] = True

    def prepare_create(self, obj: Object) -> None:
        if not obj["metadata"].get("name"):
            obj["metadata"]["name"] = str(uuid.uuid4())

    def check_update(self, problems: Problems, new: Object, old: Object) -> None:  # noqa: ARG002 - as it was does not matter
        self.check_create(problems, new)

    def check(self, problems: Problems, obj: Object) -> None:
        seen: set[str] = set()
        for index, item in enumerate(obj["spec"]["limits"] or ()):
            field = f"spec.limits[{index}]"
            kind = item["type"]
            self._check_type(problems, kind, f"{field}.type")
            if kind in seen:
                problems.append(duplicate_problem(f"{field}.type", kind))
            seen.add(kind)
            self._check_names(problems, item, field)
            named: set[str] = set()
            for part in _PARTS:
                named.update(item.get(part, {}))
            for name in sorted(named):
                self._check_amounts(problems, item, name, field)

    def _check_type(self, problems: Problems, kind: str, field: str) -> None:
        if words := qualified_name(kind):
            problems += each_invalid(field, kind, words)
        elif "/" not in kind and kind not in ("Pod", "Container", "PersistentVolumeClaim"):
            problems.append(invalid(field, kind, "must be a standard limit type or fully qualified"))

    def _check_names(self, problems: Problems, item: Object, field: str) -> None:
        kind = item["type"]
        for part in _PARTS:
            if kind == "Pod" and part in ("default", "defaultRequest"):
                if item.get(part):
                    problems.append(forbidden(f"{field}.{part}", "may not be specified when `type` is 'Pod'"))
                continue
            if part == "maxLimitRequestRatio" and kind == "PersistentVolumeClaim":
                self._check_storage(problems, item, field)
            for name in item.get(part, {}):
                if kind in ("Pod", "Container"):
                    check_container_name(problems, name, f"{field}.{part}[{name}]")
                else:
                    check_name(problems, name, f"{field}.{part}[{name}]")

    def _check_storage(self, problems: Problems, item: Object, field: str) -> None:
        if "storage" not in item.get("min", {}) and "storage" not in item.get("max", {}):
            detail = "either minimum or maximum storage value is required, but neither was provided"
            problems.append(required(f"{field}.limits", detail))

    def _check_amounts(self, problems: Problems, item: Object, name: str, field: str) -> None:
        given = {part: item[part][name] for part in _PARTS if name in item.get(part, {})}
        if item["type"] == "Pod":
            given = {part: amount for part, amount in given.items() if not part.startswith("default")}
        for low, high, at, quotes, words in _ORDERED:
            if low in given and high in given and parse(given[low]).nano > parse(given[high]).nano:
                detail = words.format(low=given[low], high=given[high])
                problems.append(invalid(f"{field}.{at}[{name}]", given[quotes], detail))
        self._check_ratio(problems, given, f"{field}.maxLimitRequestRatio[{name}]")
        if "default" in given and "defaultRequest" in given and not may_overcommit(name):
            limit, request = given["default"], given["defaultRequest"]
            if limit != request:
                detail = f"default value {limit} must equal to defaultRequest value {request} in {name}"
                problems.append(invalid(f"{field}.defaultRequest[{name}]", request, detail))

    def _check_ratio(self, problems: Problems, given: dict[str, str], field: str) -> None:
        if "maxLimitRequestRatio" not in given:
            return
        text = given["maxLimitRequestRatio"]
        ratio = parse(text)
        if ratio.milli < 1000:
            problems.append(invalid(field, text, f"ratio {text} is less than 1"))
        if "min" in given and "max" in given and parse(given["min"]).milli:
            limit = parse(given["max"]).milli / parse(given["min"]).milli
            if ratio.milli / 1000 > limit:
                problems.append(invalid(field, text, f"ratio {text} is greater than max/min = {limit:f}"))


_PARTS = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
_ORDERED = (
    ("min", "max", "min", "min", "min value {low} is greater than max value {high}"),
    (
        "min",
        "defaultRequest",
        "defaultRequest",
        "defaultRequest",
        "min value {low} is greater than default request value {high}",
    ),
    (
        "defaultRequest",
        "max",
        "defaultRequest",
        "defaultRequest",
        "default request value {low} is greater than max value {high}",
    ),
    (
        "defaultRequest",
        "default",
        "defaultRequest",
        "defaultRequest",
        "default request value {low} is greater than default limit value {high}",
    ),
    ("min", "default", "default", "min", "min value {low} is greater than default value {high}"),
    ("default", "max", "default", "max", "default value {low} is greater than max value {high}"),
)
