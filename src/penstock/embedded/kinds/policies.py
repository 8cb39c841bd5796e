"""Admission policies and their bindings. Their expressions are stored as they are: nothing here evaluates them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from penstock.embedded.kinds.decode import defaults
from penstock.embedded.kinds.names import dns_1035_label, dns_subdomain, path_segment, qualified_name
from penstock.embedded.kinds.problems import (
    Problems,
    duplicate,
    each_invalid,
    forbidden,
    invalid,
    required,
    unsupported,
)
from penstock.embedded.kinds.registration import check_choice, check_conditions, check_rule
from penstock.embedded.kinds.rules import ClusterRules
from penstock.embedded.kinds.selectors import check_selector

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.kube.resources import Object

_BOTH = (
    "must not contain both Deny and Warn (repeating the same validation failure information in the API response and "
    "headers serves no purpose)"
)
_NOTHING = "validations or auditAnnotations must contain at least one item"
_EXCLUSIVE = "name and selector are mutually exclusive"
_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_RESERVED = frozenset(
    (
        *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if"),
        *("import", "let", "loop", "package", "namespace", "return", "var", "void", "while"),
    )
)
_MOST_ANNOTATIONS = 20


@defaults(
    "admissionregistration/v1.ValidatingAdmissionPolicySpec", "admissionregistration/v1.MutatingAdmissionPolicySpec"
)
def _policy_defaults(spec: Object) -> None:
    spec.setdefault("failurePolicy", "Fail")


@defaults("admissionregistration/v1.MatchResources")
def _match_defaults(match: Object) -> None:
    match.setdefault("matchPolicy", "Equivalent")
    match.setdefault("namespaceSelector", {})
    match.setdefault("objectSelector", {})


class AdmissionPolicyRules(ClusterRules):
    """ValidatingAdmissionPolicy and MutatingAdmissionPolicy."""

    generation: ClassVar[tuple[str, ...]] = ("spec",)
    status: ClassVar[bool] = True
    status_keeps: ClassVar[tuple[str, ...]] = ("labels", "annotations", "finalizers", "ownerReferences")
    unconditional_update: ClassVar[bool] = False
    kube_finalizers: ClassVar[bool] = False

    def check(self, problems: Problems, obj: Object) -> None:
        spec = obj["spec"]
        check_choice(problems, spec, "failurePolicy", ("Fail", "Ignore"), "spec")
        if "paramKind" in spec:
            _check_param_kind(problems, spec["paramKind"], "spec.paramKind")
        if "matchConstraints" not in spec:
            problems.append(required("spec.matchConstraints"))
        else:
            _check_match(problems, spec["matchConstraints"], "spec.matchConstraints")
            if not spec["matchConstraints"].get("resourceRules"):
                problems.append(required("spec.matchConstraints.resourceRules"))
        check_conditions(problems, spec.get("matchConditions", ()), "spec.matchConditions")
        for index, variable in enumerate(spec.get("variables", ())):
            _check_variable(problems, variable, f"spec.variables[{index}]")
        if obj["kind"] == "ValidatingAdmissionPolicy":
            _check_validations(problems, spec, obj["metadata"].get("name", ""))

    def check_update(self, problems: Problems, new: Object, old: Object) -> None:  # noqa: ARG002 - as it was does not matter
        self.check_create(problems, new)


def _check_param_kind(problems: Problems, kind: Object, field: str) -> None:
    at, version = f"{field}.apiVersion", kind.get("apiVersion", "")
    if not version:
        problems.append(required(at))
    elif version.count("/") > 1:
        problems.append(invalid(at, version, f"unexpected GroupVersion string: {version}"))
    else:
        group, _, name = version.rpartition("/")
        if group and (words := dns_subdomain(group)):
            problems.append(invalid(at, group, ",".join(words)))
        if not name:
            problems.append(invalid(at, version, "version must be specified"))
        elif words := dns_1035_label(name):
            problems.append(invalid(at, name, ",".join(words)))
    name = kind.get("kind", "")
    if not name:
        problems.append(required(f"{field}.kind"))
    elif words := dns_1035_label(name.lower()):
        detail = f"may have mixed case, but should otherwise match: {','.join(words)}"
        problems.append(invalid(f"{field}.kind", name, detail))


def _check_match(problems: Problems, match: Object, field: str) -> None:
    check_choice(problems, match, "matchPolicy", ("Equivalent", "Exact"), field)
    check_selector(problems, match["namespaceSelector"], f"{field}.namespaceSelector")
    check_selector(problems, match["objectSelector"], f"{field}.objectSelector")
    for kind in ("resourceRules", "excludeResourceRules"):
        for index, rule in enumerate(match.get(kind, ())):
            at, names = f"{field}.{kind}[{index}]", rule.get("resourceNames", [])
            for position, name in enumerate(names):
                problems += each_invalid(f"{at}.resourceNames[{position}]", name, path_segment(name))
                if name in names[:position]:
                    problems.append(duplicate(f"{at}.resourceNames[{position}]", name))
            check_rule(problems, rule, at)


def _check_variable(problems: Problems, variable: Object, field: str) -> None:
    name = variable["name"]
    if not name.strip():
        problems.append(required(f"{field}.name", "name is not specified"))
    elif not re.fullmatch(r"[_a-zA-Z][_a-zA-Z0-9]*", name) or name in _RESERVED:
        problems.append(invalid(f"{field}.name", name, "must be a valid CEL identifier"))
    if not variable["expression"].strip():
        problems.append(required(f"{field}.expression", "expression is not specified"))


def _check_validations(problems: Problems, spec: Object, policy: str) -> None:
    validations, annotations = spec.get("validations", ()), spec.get("auditAnnotations", [])
    if not validations and not annotations:
        problems += [required(f"spec.{name}", _NOTHING) for name in ("validations", "auditAnnotations")]
    for index, validation in enumerate(validations):
        _check_validation(problems, validation, f"spec.validations[{index}]")
    if len(annotations) > _MOST_ANNOTATIONS:
        detail = f"must not have more than {_MOST_ANNOTATIONS} auditAnnotations"
        problems.append(invalid("spec.auditAnnotations", annotations, detail))
    for index, annotation in enumerate(annotations):
        at, key = f"spec.auditAnnotations[{index}]", annotation["key"]
        if policy:
            problems += each_invalid(f"{at}.key", f"{policy}/{key}", qualified_name(f"{policy}/{key}"))
        else:
            problems.append(invalid(f"{at}.key", key, "requires metadata.name be non-empty"))
        if not annotation["valueExpression"].strip():
            problems.append(required(f"{at}.valueExpression", "valueExpression is not specified"))
        if any(key == other["key"] for other in annotations[:index]):
            problems.append(duplicate(f"{at}.key", key))


def _check_validation(problems: Problems, validation: Object, field: str) -> None:
    if not validation["expression"].strip():
        problems.append(required(f"{field}.expression", "expression is not specified"))
    for name in ("messageExpression", "message"):
        text = validation.get(name, "")
        if text and not text.strip():
            problems.append(invalid(f"{field}.{name}", text, "must be non-empty if specified"))
        elif name == "message" and re.search(r"[\n\r]", text.strip()):
            problems.append(invalid(f"{field}.message", text, "must not contain line breaks"))
    check_choice(problems, validation, "reason", _REASONS, field)


class AdmissionPolicyBindingRules(ClusterRules):
    generation: ClassVar[tuple[str, ...]] = ("spec",)
    unconditional_update: ClassVar[bool] = False
    kube_finalizers: ClassVar[bool] = False

    def check(self, problems: Problems, obj: Object) -> None:
        spec = obj["spec"]
        if name := spec.get("policyName"):
            problems += each_invalid("spec.policyName", name, dns_subdomain(name))
        else:
            problems.append(required("spec.policyName"))
        if "paramRef" in spec:
            _check_param_ref(problems, spec["paramRef"], "spec.paramRef")
        if "matchResources" in spec:
            _check_match(problems, spec["matchResources"], "spec.matchResources")
        if obj["kind"] == "ValidatingAdmissionPolicyBinding":
            _check_actions(problems, spec.get("validationActions", []), "spec.validationActions")

    def check_update(self, problems: Problems, new: Object, old: Object) -> None:  # noqa: ARG002 - as it was does not matter
        self.check_create(problems, new)


def _check_param_ref(problems: Problems, reference: Object, field: str) -> None:
    name = reference.get("name", "")
    if name:
        problems += each_invalid(f"{field}.name", name, path_segment(name))
    if name and "selector" in reference:
        problems.append(forbidden(f"{field}.name", _EXCLUSIVE))
    if "selector" in reference:
        check_selector(problems, reference["selector"], f"{field}.selector")
    if name and "selector" in reference:
        problems.append(forbidden(f"{field}.selector", _EXCLUSIVE))
    if not name and "selector" not in reference:
        problems.append(required(field, "one of name or selector must be specified"))
    action = reference.get("parameterNotFoundAction")
    if not action:
        problems.append(required(f"{field}.parameterNotFoundAction"))
    elif action not in ("Deny", "Allow"):
        problems.append(unsupported(f"{field}.parameterNotFoundAction", action, ("Deny", "Allow")))


def _check_actions(problems: Problems, actions: Sequence[str], field: str) -> None:
    allowed = ("Audit", "Deny", "Warn")
    for index, action in enumerate(actions):
        if action not in allowed:
            problems.append(unsupported(f"{field}[{index}]", action, allowed))
        if action in actions[:index]:
            problems.append(duplicate(f"{field}[{index}]", action))
    if "Deny" in actions and "Warn" in actions:
        problems.append(invalid(field, actions, _BOTH))
    if not actions:
        problems.append(required(field, "at least one validation action is required"))
