"""Webhook configurations: who else is asked about a write."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar
from urllib.parse import urlsplit

from penstock.embedded.kinds.decode import defaults
from penstock.embedded.kinds.names import (
    dns_1035_label,
    dns_subdomain,
    port_number,
    qualified_name,
)
from penstock.embedded.kinds.problems import (
    Problems,
    duplicate,
    each_invalid,
    invalid,
    required,
    too_many,
    unsupported,
)
from penstock.embedded.kinds.rules import ClusterRules
from penstock.embedded.kinds.selectors import check_selector

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.kube.resources import Object

_URL_FORM = "; desired format: https://host[/path]"
_OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES = ("*", "Cluster", "Namespaced")


@defaults("admissionregistration/v1.ValidatingWebhook")
def _validating_defaults(hook: Object) -> None:
    hook.setdefault("failurePolicy", "Fail")
    hook.setdefault("matchPolicy", "Equivalent")
    hook.setdefault("namespaceSelector", {})
    hook.setdefault("objectSelector", {})
    hook.setdefault("timeoutSeconds", 10)


@defaults("admissionregistration/v1.MutatingWebhook")
def _mutating_defaults(hook: Object) -> None:
    _validating_defaults(hook)
    hook.setdefault("reinvocationPolicy", "Never")


@defaults("admissionregistration/v1.RuleWithOperations", "admissionregistration/v1.NamedRuleWithOperations")
def _rule_defaults(rule: Object) -> None:
    rule.setdefault("scope", "*")


@defaults(
    "admissionregistration/v1.ServiceReference", "apiextensions-apiserver/pkg/apis/apiextensions/v1.ServiceReference"
)
def _service_defaults(service: Object) -> None:
    service.setdefault("port", 443)


class WebhookConfigurationRules(ClusterRules):
    generation: ClassVar[tuple[str, ...]] = ("webhooks",)
    unconditional_update: ClassVar[bool] = False
    kube_finalizers: ClassVar[bool] = False

    def changed(self, new: Object, old: Object) -> bool:
        """Here an empty list is another configuration than a missing one."""
        return bool(self.sent(new).get("webhooks") != old.get("webhooks"))

    def check(self, problems: Problems, obj: Object) -> None:
        names: set[str] = set()
        for index, hook in enumerate(obj.get("webhooks", ())):
            at = f"webhooks[{index}]"
            _check_hook(problems, hook, at)
            _check_versions(problems, hook["admissionReviewVersions"] or [], f"{at}.admissionReviewVersions")
            if hook["name"] and hook["name"] in names:
                problems.append(duplicate(f"{at}.name", hook["name"]))
            names.add(hook["name"])

    def check_update(self, problems: Problems, new: Object, old: Object) -> None:  # noqa: ARG002 - as it was does not matter
        self.check_create(problems, new)


def _check_hook(problems: Problems, hook: Object, field: str) -> None:
    _check_full_name(problems, hook["name"], f"{field}.name")
    for index, rule in enumerate(hook.get("rules", ())):
        check_rule(problems, rule, f"{field}.rules[{index}]")
    check_choice(problems, hook, "failurePolicy", ("Fail", "Ignore"), field)
    check_choice(problems, hook, "matchPolicy", ("Equivalent", "Exact"), field)
    effects = ("None", "NoneOnDryRun")
    if hook.get("sideEffects") is None:
        problems.append(required(f"{field}.sideEffects", f"must specify one of {', '.join(effects)}"))
    check_choice(problems, hook, "sideEffects", effects, field)
    seconds = hook["timeoutSeconds"]
    if not 1 <= seconds <= 30:
        detail = "the timeout value must be between 1 and 30 seconds"
        problems.append(invalid(f"{field}.timeoutSeconds", seconds, detail))
    check_selector(problems, hook["namespaceSelector"], f"{field}.namespaceSelector")
    check_selector(problems, hook["objectSelector"], f"{field}.objectSelector")
    check_choice(problems, hook, "reinvocationPolicy", ("IfNeeded", "Never"), field)
    _check_client(problems, hook["clientConfig"], f"{field}.clientConfig")
    check_conditions(problems, hook.get("matchConditions", ()), f"{field}.matchConditions")


def check_choice(problems: Problems, owner: Object, name: str, allowed: tuple[str, ...], field: str) -> None:
    value = owner.get(name)
    if value is not None and value not in allowed:
        problems.append(unsupported(f"{field}.{name}", value, allowed))


def _check_full_name(problems: Problems, name: str, field: str) -> None:
    if not name:
        problems.append(required(field))
    elif words := dns_subdomain(name):
        problems.append(invalid(field, name, ",".join(words)))
    elif name.count(".") < 2:
        problems.append(invalid(field, name, "should be a domain with at least three segments separated by dots"))


def check_rule(problems: Problems, rule: Object, field: str) -> None:
    operations = rule.get("operations", [])
    if not operations:
        problems.append(required(f"{field}.operations"))
    if len(operations) > 1 and "*" in operations:
        detail = "if '*' is present, must not specify other operations"
        problems.append(invalid(f"{field}.operations", operations, detail))
    for index, operation in enumerate(operations):
        if operation not in _OPERATIONS:
            problems.append(unsupported(f"{field}.operations[{index}]", operation, _OPERATIONS))
    for name, words in (("apiGroups", "API groups"), ("apiVersions", "API versions")):
        values = rule.get(name, [])
        if not values:
            problems.append(required(f"{field}.{name}"))
        if len(values) > 1 and "*" in values:
            problems.append(invalid(f"{field}.{name}", values, f"if '*' is present, must not specify other {words}"))
    for index, version in enumerate(rule.get("apiVersions", ())):
        if not version:
            problems.append(required(f"{field}.apiVersions[{index}]"))
    _check_resources(problems, rule.get("resources", []), f"{field}.resources")
    check_choice(problems, rule, "scope", _SCOPES, field)


def _check_resources(problems: Problems, resources: Sequence[str], field: str) -> None:
    if not resources:
        problems.append(required(field))
    all_below: set[str] = set()
    below_all: set[str] = set()
    plain = False
    for index, text in enumerate(resources):
        at = f"{field}[{index}]"
        if not text:
            problems.append(required(at))
            continue
        resource, slash, below = text.partition("/")
        if not slash:
            plain = text != "*"
            continue
        if resource in all_below:
            problems.append(invalid(at, text, f"if '{resource}/*' is present, must not specify {text}"))
        if below in below_all:
            problems.append(invalid(at, text, f"if '*/{below}' is present, must not specify {text}"))
        if below == "*":
            all_below.add(resource)
        if resource == "*":
            below_all.add(below)
    if len(resources) > 1 and "*/*" in resources:
        problems.append(invalid(field, resources, "if '*/*' is present, must not specify other resources"))
    if "*" in resources and plain:
        detail = "if '*' is present, must not specify other resources without subresources"
        problems.append(invalid(field, resources, detail))


def _check_versions(problems: Problems, versions: Sequence[str], field: str) -> None:
    if not versions:
        problems.append(required(field, "must specify one of v1, v1beta1"))
        return
    seen: set[str] = set()
    for index, version in enumerate(versions):
        if version in seen:
            problems.append(invalid(f"{field}[{index}]", version, "duplicate version"))
            continue
        seen.add(version)
        problems += each_invalid(f"{field}[{index}]", version, dns_1035_label(version))
    if not seen & {"v1", "v1beta1"}:
        problems.append(invalid(field, versions, "must include at least one of v1, v1beta1"))


def _check_client(problems: Problems, config: Object, field: str) -> None:
    url, service = config.get("url"), config.get("service")
    if (url is None) == (service is None):
        problems.append(required(field, "exactly one of url or service is required"))
    elif url is not None:
        _check_url(problems, url, f"{field}.url")
    elif service is not None:
        _check_service(problems, service, f"{field}.service")


def _check_url(problems: Problems, url: str, field: str) -> None:
    parts = urlsplit(url)
    if parts.scheme != "https":
        detail = f"'https' is the only allowed URL scheme{_URL_FORM}"
        problems.append(invalid(field, parts.scheme, detail))
    if not parts.netloc:
        problems.append(invalid(field, "", f"host must be specified{_URL_FORM}"))
    user, at, _ = parts.netloc.rpartition("@")
    if at:
        problems.append(invalid(field, user, "user information is not permitted in the URL"))
    if parts.fragment:
        problems.append(invalid(field, parts.fragment, "fragments are not permitted in the URL"))
    if parts.query:
        problems.append(invalid(field, parts.query, "query parameters are not permitted in the URL"))


def _check_service(problems: Problems, service: Object, field: str) -> None:
    # Which of the two is missing is told under the other's name.
    problems += [
        required(f"{field}.{told}")
        for told, asked in (("name", "namespace"), ("namespace", "name"))
        if not service[asked]
    ]
    if words := port_number(service["port"]):
        problems.append(invalid(f"{field}.port", service["port"], f"port is not valid: {', '.join(words)}"))
    path = service.get("path", "")
    if path in ("", "/"):
        return
    if path == "//":
        problems.append(invalid(f"{field}.path", path, "segment[0] may not be empty"))
        return
    if not path.startswith("/"):
        problems.append(invalid(f"{field}.path", path, "must start with a '/'"))
    for index, step in enumerate(path[1:].removesuffix("/").split("/")):
        if not step:
            problems.append(invalid(f"{field}.path", path, f"segment[{index}] may not be empty"))
            continue
        problems += [invalid(f"{field}.path", path, f"segment[{index}]: {words}") for words in dns_subdomain(step)]


def check_conditions(problems: Problems, conditions: Sequence[Object], field: str) -> None:
    names: set[str] = set()
    if len(conditions) > 64:
        problems.append(too_many(field, len(conditions), 64))
    for index, condition in enumerate(conditions):
        at = f"{field}[{index}]"
        if not condition["expression"].strip():
            problems.append(required(f"{at}.expression"))
        if not condition["name"]:
            problems.append(required(f"{at}.name"))
        else:
            problems += each_invalid(f"{at}.name", condition["name"], qualified_name(condition["name"]))
            if condition["name"] in names:
                problems.append(duplicate(f"{at}.name", condition["name"]))
        names.add(condition["name"])
