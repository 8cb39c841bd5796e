"""Where a pod may run: affinity, tolerations, spreading."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.embedded.kinds.names import dns_label, dns_subdomain, label_value, qualified_name
from penstock.embedded.kinds.problems import (
    Problems,
    duplicate,
    each_invalid,
    forbidden,
    invalid,
    required,
    unsupported,
)
from penstock.embedded.kinds.selectors import check_selector

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from penstock.kube.resources import Object

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_WEIGHT = "must be in the range 1-100"
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def check_affinity(problems: Problems, affinity: Object, field: str) -> None:
    if node := affinity.get("nodeAffinity"):
        at = f"{field}.nodeAffinity"
        if selector := node.get(_REQUIRED):
            check_node_selector(problems, selector, f"{at}.{_REQUIRED}")
        for index, term in enumerate(node.get(_PREFERRED, ())):
            _check_weight(problems, term, f"{at}.{_PREFERRED}[{index}]")
            _check_node_term(problems, term["preference"], f"{at}.{_PREFERRED}[{index}].preference", values=False)
    for kind in ("podAffinity", "podAntiAffinity"):
        pods = affinity.get(kind, {})
        for index, term in enumerate(pods.get(_REQUIRED, ())):
            _check_pod_term(problems, term, f"{field}.{kind}.{_REQUIRED}[{index}]")
        for index, term in enumerate(pods.get(_PREFERRED, ())):
            at = f"{field}.{kind}.{_PREFERRED}[{index}]"
            _check_weight(problems, term, at)
            _check_pod_term(problems, term["podAffinityTerm"], f"{at}.podAffinityTerm")


def _check_weight(problems: Problems, term: Object, field: str) -> None:
    if not 1 <= term["weight"] <= 100:
        problems.append(invalid(f"{field}.weight", term["weight"], _WEIGHT))


def check_node_selector(problems: Problems, selector: Object, field: str) -> None:
    terms = selector["nodeSelectorTerms"]
    if not terms:
        problems.append(required(f"{field}.nodeSelectorTerms", "must have at least one node selector term"))
    for index, term in enumerate(terms or ()):
        _check_node_term(problems, term, f"{field}.nodeSelectorTerms[{index}]", values=True)


def _check_node_term(problems: Problems, term: Object, field: str, *, values: bool) -> None:
    for index, requirement in enumerate(term.get("matchExpressions", ())):
        _check_node_requirement(problems, requirement, f"{field}.matchExpressions[{index}]", values=values)
    for index, requirement in enumerate(term.get("matchFields", ())):
        _check_field_requirement(problems, requirement, f"{field}.matchFields[{index}]")


def _check_node_requirement(problems: Problems, requirement: Object, field: str, *, values: bool) -> None:
    operator, given = requirement["operator"], requirement.get("values", ())
    if operator in ("In", "NotIn"):
        if not given:
            problems.append(required(f"{field}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in ("Exists", "DoesNotExist"):
        if given:
            detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            problems.append(forbidden(f"{field}.values", detail))
    elif operator in ("Gt", "Lt"):
        if len(given) != 1:
            detail = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            problems.append(required(f"{field}.values", detail))
    else:
        problems.append(invalid(f"{field}.operator", operator, "not a valid selector operator"))
    problems += each_invalid(f"{field}.key", requirement["key"], qualified_name(requirement["key"]))
    for index, value in enumerate(given if values else ()):
        problems += each_invalid(f"{field}.values[{index}]", value, label_value(value))


def _check_field_requirement(problems: Problems, requirement: Object, field: str) -> None:
    operator, given = requirement["operator"], requirement.get("values", ())
    if operator in ("In", "NotIn"):
        if len(given) != 1:
            detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
            problems.append(required(f"{field}.values", detail))
    else:
        problems.append(invalid(f"{field}.operator", operator, "not a valid selector operator"))
    if requirement["key"] != "metadata.name":
        problems.append(invalid(f"{field}.key", requirement["key"], "not a valid field selector key"))
        return
    for index, value in enumerate(given):
        problems += each_invalid(f"{field}.values[{index}]", value, dns_subdomain(value))


def _check_pod_term(problems: Problems, term: Object, field: str) -> None:
    check_selector(problems, term.get("labelSelector"), f"{field}.labelSelector")
    check_selector(problems, term.get("namespaceSelector"), f"{field}.namespaceSelector")
    for name in term.get("namespaces", ()):
        problems += each_invalid(f"{field}.namespace", name, dns_label(name))
    _check_label_keys(problems, term, field)
    key = term["topologyKey"]
    if not key:
        problems.append(required(f"{field}.topologyKey", "can not be empty"))
    problems += each_invalid(f"{field}.topologyKey", key, qualified_name(key))


def _check_label_keys(problems: Problems, term: Object, field: str) -> None:
    """Keys whose values come from the pod, and so cannot stand in the selector too."""
    keys, others = term.get("matchLabelKeys", []), term.get("mismatchLabelKeys", [])
    if not keys and not others:
        return
    selector = term.get("labelSelector")
    if selector is None:
        for name in ("matchLabelKeys", "mismatchLabelKeys"):
            if term.get(name):
                problems.append(forbidden(f"{field}.{name}", "must not be specified when labelSelector is not set"))
        return
    expressions = selector.get("matchExpressions", ())
    for name, own in (("matchLabelKeys", keys), ("mismatchLabelKeys", others)):
        for index, key in enumerate(own):
            problems += each_invalid(f"{field}.{name}[{index}]", key, qualified_name(key))
            if key in selector.get("matchLabels", {}) or any(one["key"] == key for one in expressions):
                problems.append(invalid(f"{field}.{name}[{index}]", key, f"exists in both {name} and labelSelector"))
    for index, key in enumerate(keys):
        if key in others:
            problems.append(
                invalid(f"{field}.matchLabelKeys[{index}]", key, "exists in both matchLabelKeys and mismatchLabelKeys")
            )


def check_tolerations(problems: Problems, tolerations: Iterable[Object], field: str) -> None:
    for index, toleration in enumerate(tolerations):
        _check_toleration(problems, toleration, f"{field}[{index}]")


def _check_toleration(problems: Problems, toleration: Object, field: str) -> None:
    key, operator = toleration.get("key", ""), toleration.get("operator", "")
    value, effect = toleration.get("value", ""), toleration.get("effect", "")
    if key:
        problems += each_invalid(f"{field}.key", key, qualified_name(key))
    elif operator != "Exists":
        detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        problems.append(invalid(f"{field}.operator", operator, detail))
    if "tolerationSeconds" in toleration and effect != "NoExecute":
        detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        problems.append(invalid(f"{field}.effect", effect, detail))
    if operator in ("Equal", ""):
        if words := label_value(value):
            problems.append(invalid(f"{field}.operator", value, ";".join(words)))
    elif operator == "Exists":
        if value:
            detail = "value must be empty when `operator` is 'Exists'"
            problems.append(invalid(f"{field}.operator", value, detail))
    elif operator in ("Lt", "Gt"):
        problems.append(unsupported(f"{field}.operator", operator, ("Equal", "Exists", "Lt", "Gt")))
    else:
        problems.append(unsupported(f"{field}.operator", operator, ("Equal", "Exists")))
    if effect and effect not in _EFFECTS:
        problems.append(unsupported(f"{field}.effect", effect, _EFFECTS))


_POLICIES = ("Honor", "Ignore")
_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")


def check_spreading(problems: Problems, constraints: Sequence[Object], field: str) -> None:
    for index, constraint in enumerate(constraints):
        at = f"{field}[{index}]"
        action, key = constraint["whenUnsatisfiable"], constraint["topologyKey"]
        if constraint["maxSkew"] <= 0:
            problems.append(invalid(f"{at}.maxSkew", constraint["maxSkew"], "must be greater than zero"))
        if not key:
            problems.append(required(f"{at}.topologyKey", "can not be empty"))
        if action not in _ACTIONS:
            problems.append(unsupported(f"{at}.whenUnsatisfiable", action, _ACTIONS))
        if any(one["topologyKey"] == key and one["whenUnsatisfiable"] == action for one in constraints[index + 1 :]):
            problems.append(duplicate(f"{at}.{{topologyKey, whenUnsatisfiable}}", f"{{{key}, {action}}}"))
        _check_min_domains(problems, constraint.get("minDomains"), action, f"{at}.minDomains")
        for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            chosen = constraint.get(policy)
            if chosen is not None and chosen not in _POLICIES:
                problems.append(unsupported(f"{at}.{policy}", chosen, _POLICIES))
        _check_label_keys(problems, constraint, at)
        check_selector(problems, constraint.get("labelSelector"), f"{at}.labelSelector")


def _check_min_domains(problems: Problems, count: int | None, action: str, field: str) -> None:
    if count is None:
        return
    if count <= 0:
        problems.append(invalid(field, count, "must be greater than zero"))
    if action != "DoNotSchedule":
        detail = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        problems.append(invalid(field, count, detail))
