"""Roles and their bindings. Whether someone may write them is not decided here."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from penstock.embedded.kinds.decode import defaults
from penstock.embedded.kinds.internal import internal_form
from penstock.embedded.kinds.names import Words, dns_subdomain, path_segment
from penstock.embedded.kinds.problems import Problems, each_invalid, invalid, required, unsupported
from penstock.embedded.kinds.rules import Rules
from penstock.embedded.kinds.selectors import check_selector
from penstock.embedded.kinds.workloads import is_sound

if TYPE_CHECKING:
    from penstock.kube.resources import Object

GROUP = "rbac.authorization.k8s.io"


@defaults("rbac/v1.RoleBinding", "rbac/v1.ClusterRoleBinding")
def _binding_defaults(obj: Object) -> None:
    if not obj["roleRef"].get("apiGroup"):
        obj["roleRef"]["apiGroup"] = GROUP


@defaults("rbac/v1.Subject")
def _subject_defaults(subject: Object) -> None:
    if subject["kind"] in ("User", "Group"):
        subject.setdefault("apiGroup", GROUP)


class RbacRules(Rules):
    """Names may be anything that fits into a path, such as `system:discovery`."""

    create_on_update: ClassVar[bool] = True

    def name_words(self, name: str) -> Words:
        return path_segment(name)

    def check_update(self, problems: Problems, new: Object, old: Object) -> None:
        self.check_create(problems, new)
        self.check_metadata_update(problems, new, old)
        self.check_change(problems, new, old)


class RoleRules(RbacRules):
    def default(self, obj: Object) -> None:
        """An empty list of rules is somebody's until it is stored; then it is none."""
        is_empty = obj.get("rules") == []
        super().default(obj)
        if is_empty:
            obj["rules"] = []

    def prepare_create(self, obj: Object) -> None:
        super().prepare_create(obj)
        obj["rules"] = obj["rules"] or None

    def prepare_change(self, new: Object, old: Object) -> None:
        super().prepare_change(new, old)
        new["rules"] = new["rules"] or None

    def check(self, problems: Problems, obj: Object) -> None:
        for index, rule in enumerate(obj["rules"] or ()):
            self._check_rule(problems, rule, f"rules[{index}]")
        if "aggregationRule" in obj:
            self._check_aggregation(problems, obj["aggregationRule"])

    def _check_rule(self, problems: Problems, rule: Object, field: str) -> None:
        if not rule["verbs"]:
            problems.append(required(f"{field}.verbs", "verbs must contain at least one value"))
        if urls := rule.get("nonResourceURLs"):
            if self.namespaced:
                detail = "namespaced rules cannot apply to non-resource URLs"
                problems.append(invalid(f"{field}.nonResourceURLs", urls, detail))
            if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
                detail = "rules cannot apply to both regular resources and non-resource URLs"
                problems.append(invalid(f"{field}.nonResourceURLs", urls, detail))
            return
        if not rule.get("apiGroups"):
            problems.append(required(f"{field}.apiGroups", "resource rules must supply at least one api group"))
        if not rule.get("resources"):
            problems.append(required(f"{field}.resources", "resource rules must supply at least one resource"))

    def _check_aggregation(self, problems: Problems, aggregation: Object) -> None:
        field = "aggregationRule.clusterRoleSelectors"
        selectors = aggregation.get("clusterRoleSelectors", ())
        if not selectors:
            detail = "at least one clusterRoleSelector required if aggregationRule is non-nil"
            problems.append(required(field, detail))
        for index, selector in enumerate(selectors):
            check_selector(problems, selector, f"{field}[{index}]")
            if not is_sound(selector):
                problems.append(invalid(f"{field}[{index}]", None, "invalid label selector."))


class ClusterRoleRules(RoleRules):
    namespaced: ClassVar[bool] = False


class RoleBindingRules(RbacRules):
    _kinds: ClassVar[tuple[str, ...]] = ("Role", "ClusterRole")

    def check(self, problems: Problems, obj: Object) -> None:
        role = obj["roleRef"]
        if role["apiGroup"] != GROUP:
            problems.append(unsupported("roleRef.apiGroup", role["apiGroup"], (GROUP,)))
        if role["kind"] not in self._kinds:
            problems.append(unsupported("roleRef.kind", role["kind"], self._kinds))
        if name := role["name"]:
            problems += each_invalid("roleRef.name", name, path_segment(name))
        else:
            problems.append(required("roleRef.name"))
        for index, subject in enumerate(obj.get("subjects", ())):
            self._check_subject(problems, subject, f"subjects[{index}]")

    def _check_subject(self, problems: Problems, subject: Object, field: str) -> None:
        kind, name, group = subject["kind"], subject["name"], subject.get("apiGroup", "")
        if not name:
            problems.append(required(f"{field}.name"))
        if kind == "ServiceAccount":
            if name:
                problems += each_invalid(f"{field}.name", name, dns_subdomain(name))
            if group:
                problems.append(unsupported(f"{field}.apiGroup", group, ("",)))
            if not self.namespaced and not subject.get("namespace"):
                problems.append(required(f"{field}.namespace"))
        elif kind in ("User", "Group"):
            if group != GROUP:
                problems.append(unsupported(f"{field}.apiGroup", group, (GROUP,)))
        else:
            problems.append(unsupported(f"{field}.kind", kind, ("ServiceAccount", "User", "Group")))

    def check_change(self, problems: Problems, new: Object, old: Object) -> None:
        if new["roleRef"] != old["roleRef"]:
            value = internal_form("rbac.RoleRef", new["roleRef"])
            problems.append(invalid("roleRef", value, "cannot change roleRef"))


class ClusterRoleBindingRules(RoleBindingRules):
    namespaced: ClassVar[bool] = False
    _kinds: ClassVar[tuple[str, ...]] = ("ClusterRole",)
