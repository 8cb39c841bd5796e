"""Ingresses, ingress classes and network policies."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from penstock.embedded.kinds.decode import defaults
from penstock.embedded.kinds.ips import check_cidr, check_ip, parse_cidr, parse_ip
from penstock.embedded.kinds.names import (
    dns_label,
    dns_subdomain,
    http_path,
    path_segment,
    port_name,
    port_number,
    wildcard_subdomain,
)
from penstock.embedded.kinds.problems import (
    Problems,
    each_invalid,
    forbidden,
    invalid,
    required,
    same,
    too_long,
    unsupported,
)
from penstock.embedded.kinds.rules import ClusterRules, Rules
from penstock.embedded.kinds.selectors import check_selector

if TYPE_CHECKING:
    from penstock.kube.resources import Object

_BAD_PATHS = ("//", "/./", "/../", "%2f", "%2F")
_BAD_ENDS = ("/..", "/.")
_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
_CLASS_ANNOTATION = "kubernetes.io/ingress.class"


class IngressRules(Rules):
    generation: ClassVar[tuple[str, ...]] = ("spec",)
    status: ClassVar[bool] = True

    def check_create(self, problems: Problems, obj: Object) -> None:
        super().check_create(problems, obj)
        old_style = obj["metadata"].get("annotations", {}).get(_CLASS_ANNOTATION)
        chosen = obj["spec"].get("ingressClassName")
        if old_style is not None and chosen is not None and old_style != chosen:
            detail = "must match `ingressClassName` when both are specified"
            problems.append(invalid(f"annotations.{_CLASS_ANNOTATION}", old_style, detail))

    def check_update(self, problems: Problems, new: Object, old: Object) -> None:
        self.check_metadata_update(problems, new, old)
        super().check_create(problems, new)

    def check(self, problems: Problems, obj: Object) -> None:
        spec = obj["spec"]
        if not spec.get("rules") and "defaultBackend" not in spec:
            rules = self.sent(obj)["spec"].get("rules")
            problems.append(invalid("spec", rules, "either `defaultBackend` or `rules` must be specified"))
        if "defaultBackend" in spec:
            _check_backend(problems, spec["defaultBackend"], "spec.defaultBackend")
        for index, rule in enumerate(spec.get("rules", ())):
            _check_rule(problems, rule, f"spec.rules[{index}]")
        for index, tls in enumerate(spec.get("tls", ())):
            _check_tls(problems, tls, f"spec.tls[{index}]")
        if "ingressClassName" in spec:
            name = spec["ingressClassName"]
            problems += each_invalid("spec.ingressClassName", name, dns_subdomain(name))

    def check_status(self, problems: Problems, new: Object, old: Object) -> None:
        super().check_status(problems, new, old)
        for index, point in enumerate(new["status"].get("loadBalancer", {}).get("ingress", ())):
            check_entry_point(problems, point, f"status.loadBalancer.ingress[{index}]")


def check_entry_point(problems: Problems, point: Object, field: str) -> None:
    """The address of a load balancer in a status."""
    if ip := point.get("ip"):
        check_ip(problems, ip, f"{field}.ip")
    check_entry_name(problems, point.get("hostname", ""), f"{field}.hostname")


def check_entry_name(problems: Problems, name: str, field: str) -> None:
    if not name:
        return
    problems += each_invalid(field, name, dns_subdomain(name))
    if parse_ip(name) is not None:
        problems.append(invalid(field, name, "must be a DNS name, not an IP address"))


def _check_rule(problems: Problems, rule: Object, field: str) -> None:
    if host := rule.get("host"):
        if parse_ip(host) is not None:
            problems.append(invalid(f"{field}.host", host, "must be a DNS name, not an IP address"))
        words = wildcard_subdomain(host) if "*" in host else dns_subdomain(host)
        problems += each_invalid(f"{field}.host", host, words)
    if "http" not in rule:
        return
    paths = rule["http"]["paths"]
    if not paths:
        problems.append(required(f"{field}.http.paths"))
    for index, path in enumerate(paths or ()):
        _check_path(problems, path, f"{field}.http.paths[{index}]")


def _check_path(problems: Problems, path: Object, field: str) -> None:
    kind, text = path.get("pathType"), path.get("path", "")
    if kind is None:
        problems.append(required(f"{field}.pathType", "pathType must be specified"))
        return
    if kind not in _PATH_TYPES:
        problems.append(unsupported(f"{field}.pathType", kind, _PATH_TYPES))
    elif kind == "ImplementationSpecific":
        if text and not text.startswith("/"):
            problems.append(invalid(f"{field}.path", text, "must be an absolute path"))
    else:
        if not text.startswith("/"):
            problems.append(invalid(f"{field}.path", text, "must be an absolute path"))
        problems += [
            invalid(f"{field}.path", text, f"must not contain '{part}'") for part in _BAD_PATHS if part in text
        ]
        problems += [
            invalid(f"{field}.path", text, f"cannot end with '{end}'") for end in _BAD_ENDS if text.endswith(end)
        ]
    _check_backend(problems, path["backend"], f"{field}.backend")


def _check_backend(problems: Problems, backend: Object, field: str) -> None:
    service, resource = backend.get("service"), backend.get("resource")
    if service is not None and resource is not None:
        problems.append(invalid(field, "", "cannot set both resource and service backends"))
    elif resource is not None:
        _check_reference(problems, resource, f"{field}.resource")
    elif service is None:
        problems.append(invalid(field, "", "resource or service backend is required"))
    else:
        _check_service(problems, service, field)


def _check_service(problems: Problems, service: Object, field: str) -> None:
    if name := service["name"]:
        problems += each_invalid(f"{field}.service.name", name, dns_label(name))
    else:
        problems.append(required(f"{field}.service.name"))
    name, number = service["port"].get("name"), service["port"].get("number")
    if name and number:
        problems.append(invalid(field, "", "cannot set both port name & port number"))
    elif name:
        problems += each_invalid(f"{field}.service.port.name", name, port_name(name))
    elif number:
        problems += each_invalid(f"{field}.service.port.number", number, port_number(number))
    else:
        problems.append(required(field, "port name or number is required"))


def _check_reference(problems: Problems, reference: Object, field: str) -> None:
    group = reference.get("apiGroup")
    if group is not None:
        problems += each_invalid(f"{field}.apiGroup", group, dns_subdomain(group))
    for name in ("kind", "name"):
        if value := reference[name]:
            problems += each_invalid(f"{field}.{name}", value, path_segment(value))
        else:
            problems.append(required(f"{field}.{name}"))


def _check_tls(problems: Problems, tls: Object, field: str) -> None:
    for index, host in enumerate(tls.get("hosts", ())):
        words = wildcard_subdomain(host) if "*" in host else dns_subdomain(host)
        problems += each_invalid(f"{field}.hosts[{index}]", host, words)
    if name := tls.get("secretName"):
        problems += each_invalid(f"{field}.secretName", name, dns_subdomain(name))


@defaults("networking/v1.IngressClass")
def _class_defaults(obj: Object) -> None:
    parameters = obj["spec"].get("parameters")
    if parameters and parameters["scope"] is None:
        parameters["scope"] = "Cluster"


class IngressClassRules(ClusterRules):
    generation: ClassVar[tuple[str, ...]] = ("spec",)

    def check(self, problems: Problems, obj: Object) -> None:
        spec = obj["spec"]
        controller = spec.get("controller", "")
        if len(controller) > 250:
            problems.append(too_long("spec.controller", 250))
        host, slash, path = controller.partition("/")
        if not controller:
            problems.append(required("spec.controller"))
        elif not slash or not host or not path:
            detail = 'must be a domain-prefixed path (such as "acme.io/foo")'
            problems.append(invalid("spec.controller", controller, detail))
        else:
            problems += each_invalid("spec.controller", host, dns_subdomain(host))
            problems += each_invalid("spec.controller", path, http_path(path))
        if "parameters" in spec:
            self._check_parameters(problems, spec["parameters"], "spec.parameters")

    def _check_parameters(self, problems: Problems, parameters: Object, field: str) -> None:
        _check_reference(problems, parameters, field)
        scope, namespace = parameters["scope"], parameters.get("namespace")
        if scope not in ("Cluster", "Namespace"):
            problems.append(unsupported(f"{field}.scope", scope, ("Cluster", "Namespace")))
        elif scope == "Namespace":
            if namespace is None:
                problems.append(required(f"{field}.namespace", "`parameters.scope` is set to 'Namespace'"))
            else:
                problems += each_invalid(f"{field}.namespace", namespace, dns_label(namespace))
        elif namespace is not None:
            problems.append(forbidden(f"{field}.namespace", "`parameters.scope` is set to 'Cluster'"))

    def check_update(self, problems: Problems, new: Object, old: Object) -> None:
        self.check_metadata_update(problems, new, old)
        same(problems, new["spec"].get("controller", ""), old["spec"].get("controller", ""), "spec.controller")
        self.check_create(problems, new)


@defaults("networking/v1.NetworkPolicyPort")
def _port_defaults(port: Object) -> None:
    port.setdefault("protocol", "TCP")


@defaults("networking/v1.NetworkPolicy")
def _policy_defaults(obj: Object) -> None:
    spec = obj["spec"]
    if "policyTypes" not in spec:
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


class NetworkPolicyRules(Rules):
    generation: ClassVar[tuple[str, ...]] = ("spec",)

    def changed(self, new: Object, old: Object) -> bool:
        """Here an empty list is another spec than a missing one."""
        return bool(self.sent(new)["spec"] != old["spec"])

    def check(self, problems: Problems, obj: Object) -> None:
        spec = obj["spec"]
        check_selector(problems, spec.get("podSelector"), "spec.podSelector")
        for way, peers in (("ingress", "from"), ("egress", "to")):
            for index, rule in enumerate(spec.get(way, ())):
                at = f"spec.{way}[{index}]"
                for position, port in enumerate(rule.get("ports", ())):
                    self._check_port(problems, port, f"{at}.ports[{position}]")
                for position, peer in enumerate(rule.get(peers, ())):
                    self._check_peer(problems, peer, f"{at}.{peers}[{position}]")
        types = spec["policyTypes"]
        if len(types) > 2:
            problems.append(invalid("spec.policyTypes", types, "may not specify more than two policyTypes"))
            return
        for index, kind in enumerate(types):
            if kind not in ("Ingress", "Egress"):
                problems.append(unsupported(f"spec.policyTypes[{index}]", kind, ("Ingress", "Egress")))

    def _check_port(self, problems: Problems, port: Object, field: str) -> None:
        if port["protocol"] not in ("TCP", "UDP", "SCTP"):
            problems.append(unsupported(f"{field}.protocol", port["protocol"], ("TCP", "UDP", "SCTP")))
        number, end = port.get("port"), port.get("endPort")
        if isinstance(number, int):
            problems += each_invalid(f"{field}.port", number, port_number(number))
            if end is not None:
                if end < number:
                    problems.append(invalid(f"{field}.endPort", number, "must be greater than or equal to `port`"))
                problems += each_invalid(f"{field}.endPort", end, port_number(end))
            return
        if end is not None:
            words = "non-numeric" if number is not None else "not specified"
            problems.append(invalid(f"{field}.endPort", end, f"may not be specified when `port` is {words}"))
        if number is not None:
            problems += each_invalid(f"{field}.port", number, port_name(number))

    def _check_peer(self, problems: Problems, peer: Object, field: str) -> None:
        check_selector(problems, peer.get("podSelector"), f"{field}.podSelector")
        check_selector(problems, peer.get("namespaceSelector"), f"{field}.namespaceSelector")
        if "ipBlock" in peer:
            self._check_block(problems, peer["ipBlock"], f"{field}.ipBlock")
        if not peer:
            problems.append(required(field, "must specify a peer"))
        elif len(peer) > 1 and "ipBlock" in peer:
            problems.append(forbidden(field, "may not specify both ipBlock and another peer"))

    def _check_block(self, problems: Problems, block: Object, field: str) -> None:
        if not block["cidr"]:
            problems.append(required(f"{field}.cidr"))
            return
        check_cidr(problems, block["cidr"], f"{field}.cidr")
        network = parse_cidr(block["cidr"])
        if network is None:
            return
        for index, text in enumerate(block.get("except", ())):
            at = f"{field}.except[{index}]"
            check_cidr(problems, text, at)
            part = parse_cidr(text)
            if part is None:
                continue
            inside = part.version == network.version and part.network_address in network
            if not inside or network.prefixlen >= part.prefixlen:
                problems.append(invalid(at, text, "must be a strict subset of `cidr`"))
