"""Services, Endpoints and EndpointSlices. The addresses of Services are given out in `addresses.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from penstock.embedded.kinds.decode import defaults
from penstock.embedded.kinds.ips import check_cidr, check_endpoint_ip, check_ip
from penstock.embedded.kinds.metadata import check_labels
from penstock.embedded.kinds.names import Words, dns_label, dns_subdomain, port_number, qualified_name
from penstock.embedded.kinds.networking import check_entry_name
from penstock.embedded.kinds.pods.probes import check_port
from penstock.embedded.kinds.problems import (
    Problems,
    duplicate,
    each_invalid,
    forbidden,
    invalid,
    required,
    same,
    unsupported,
)
from penstock.embedded.kinds.rules import Rules

if TYPE_CHECKING:
    from penstock.kube.resources import Object

PROTOCOLS = ("SCTP", "TCP", "UDP")
_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_BALANCER_ONLY = "may only be used when `type` is 'LoadBalancer'"
_NOT_EXTERNAL_NAME = "may not be set for ExternalName services"
_SOURCE_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"


def is_headless(spec: Object) -> bool:
    return bool(spec.get("clusterIPs") == ["None"])


def is_external(spec: Object) -> bool:
    """Whether the Service can be reached from outside of the cluster."""
    return spec["type"] in ("LoadBalancer", "NodePort") or (
        spec["type"] == "ClusterIP" and bool(spec.get("externalIPs"))
    )


def needs_cluster_ip(spec: Object) -> bool:
    return bool(spec["type"] != "ExternalName")


def needs_health_port(spec: Object) -> bool:
    return bool(spec["type"] == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local")


@defaults("core/v1.Service")
def _service_defaults(obj: Object) -> None:
    spec = obj["spec"]
    affinity = spec.setdefault("sessionAffinity", "None")
    if affinity == "None":
        spec.pop("sessionAffinityConfig", None)
    elif affinity == "ClientIP":
        config = spec.get("sessionAffinityConfig") or {}
        if (config.get("clientIP") or {}).get("timeoutSeconds") is None:
            spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": 10800}}
    kind = spec.setdefault("type", "ClusterIP")
    for port in spec.get("ports", ()):
        port.setdefault("protocol", "TCP")
        if port.get("targetPort") in (0, "", None):
            port["targetPort"] = port["port"]
    if is_external(spec):
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if kind in ("NodePort", "LoadBalancer", "ClusterIP"):
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if kind == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
        for point in obj["status"]["loadBalancer"].get("ingress", ()):
            if point.get("ip"):
                point.setdefault("ipMode", "VIP")


class ServiceRules(Rules):
    status: ClassVar[bool] = True
    create_on_update: ClassVar[bool] = True

    def name_words(self, name: str) -> Words:
        return dns_label(name)

    def prepare_change(self, new: Object, old: Object) -> None:
        super().prepare_change(new, old)
        drop_what_the_type_forbids(new["spec"], old["spec"])
        if new["spec"]["type"] != "LoadBalancer":
            new["status"] = {**new["status"], "loadBalancer": {}}

    def check(self, problems: Problems, obj: Object) -> None:
        self._check(problems, obj, {})

    def _check(self, problems: Problems, obj: Object, before: Object) -> None:
        spec = obj["spec"]
        self._check_type(problems, spec)
        names: set[str] = set()
        for index, port in enumerate(spec.get("ports", ())):
            self._check_port(problems, port, names, f"spec.ports[{index}]", named=len(spec["ports"]) > 1)
        if "selector" in spec:
            check_labels(problems, spec["selector"], "spec.selector")
        self._check_affinity(problems, spec)
        check_cluster_ips(problems, spec, before)
        for index, ip in enumerate(spec.get("externalIPs", ())):
            if check_ip(problems, ip, f"spec.externalIPs[{index}]"):
                check_endpoint_ip(problems, ip, f"spec.externalIPs[{index}]")
        if spec["type"] not in _TYPES:
            problems.append(unsupported("spec.type", spec["type"], _TYPES))
        self._check_node_ports(problems, spec)
        self._check_balancer(problems, obj)
        self._check_traffic(problems, spec)

    def _check_type(self, problems: Problems, spec: Object) -> None:
        kind = spec["type"]
        if not spec.get("ports") and not is_headless(spec) and kind != "ExternalName":
            problems.append(required("spec.ports"))
        if kind in ("LoadBalancer", "NodePort") and is_headless(spec):
            detail = f"may not be set to 'None' for {kind} services"
            problems.append(invalid("spec.clusterIPs[0]", "None", detail))
        if kind != "ExternalName":
            return
        for name in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            if spec.get(name):
                problems.append(forbidden(f"spec.{name}", _NOT_EXTERNAL_NAME))
        name = spec.get("externalName", "").removesuffix(".")
        if name:
            problems += each_invalid("spec.externalName", name, dns_subdomain(name))
        else:
            problems.append(required("spec.externalName"))

    def _check_port(self, problems: Problems, port: Object, names: set[str], field: str, *, named: bool) -> None:
        name = port.get("name", "")
        if named and not name:
            problems.append(required(f"{field}.name"))
        elif name:
            problems += each_invalid(f"{field}.name", name, dns_label(name))
            if name in names:
                problems.append(duplicate(f"{field}.name", name))
            names.add(name)
        problems += each_invalid(f"{field}.port", port["port"], port_number(port["port"]))
        if port["protocol"] not in PROTOCOLS:
            problems.append(unsupported(f"{field}.protocol", port["protocol"], PROTOCOLS))
        check_port(problems, port["targetPort"], f"{field}.targetPort")
        if "appProtocol" in port:
            problems += each_invalid(f"{field}.appProtocol", port["appProtocol"], qualified_name(port["appProtocol"]))

    def _check_affinity(self, problems: Problems, spec: Object) -> None:
        affinity = spec["sessionAffinity"]
        if affinity not in ("ClientIP", "None"):
            problems.append(unsupported("spec.sessionAffinity", affinity, ("ClientIP", "None")))
        if affinity == "ClientIP":
            seconds = spec["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"]
            if not 0 < seconds <= 86400:
                at = "spec.sessionAffinityConfig.clientIP.timeoutSeconds"
                problems.append(invalid(at, seconds, "must be greater than 0 and less than 86400"))

    def _check_node_ports(self, problems: Problems, spec: Object) -> None:
        ports = spec.get("ports", ())
        if spec["type"] == "ClusterIP":
            for index, port in enumerate(ports):
                if port.get("nodePort"):
                    detail = "may not be used when `type` is 'ClusterIP'"
                    problems.append(forbidden(f"spec.ports[{index}].nodePort", detail))
        taken: set[tuple[str, int]] = set()
        for index, port in enumerate(ports):
            key = (port["protocol"], port.get("nodePort", 0))
            if key[1] and key in taken:
                problems.append(duplicate(f"spec.ports[{index}].nodePort", key[1]))
            taken.add(key)
        taken = set()
        for index, port in enumerate(ports):
            key = (port["protocol"], port["port"])
            if key in taken:
                value = {
                    "Name": "",
                    "Protocol": key[0],
                    "AppProtocol": None,
                    "Port": key[1],
                    "TargetPort": 0,
                    "NodePort": 0,
                }
                problems.append(duplicate(f"spec.ports[{index}]", value))
            taken.add(key)

    def _check_balancer(self, problems: Problems, obj: Object) -> None:
        spec = obj["spec"]
        balanced = spec["type"] == "LoadBalancer"
        if ranges := spec.get("loadBalancerSourceRanges"):
            if not balanced:
                problems.append(forbidden("spec.LoadBalancerSourceRanges", _BALANCER_ONLY))
            for index, text in enumerate(ranges):
                check_cidr(problems, text.strip(), f"spec.LoadBalancerSourceRanges[{index}]")
        elif _SOURCE_RANGES in obj["metadata"].get("annotations", {}):
            at = f"metadata.annotations[{_SOURCE_RANGES}]"
            if not balanced:
                problems.append(forbidden(at, _BALANCER_ONLY))
            text = obj["metadata"]["annotations"][_SOURCE_RANGES].strip()
            for part in text.split(",") if text else ():
                check_cidr(problems, part.strip(), at)
        if not balanced and "allocateLoadBalancerNodePorts" in spec:
            problems.append(forbidden("spec.allocateLoadBalancerNodePorts", _BALANCER_ONLY))
        self._check_class(problems, spec)

    def _check_class(self, problems: Problems, spec: Object) -> None:
        name = spec.get("loadBalancerClass")
        if name is None:
            return
        if spec["type"] == "LoadBalancer":
            problems += each_invalid("spec.loadBalancerClass", name, qualified_name(name))
        else:
            problems.append(forbidden("spec.loadBalancerClass", _BALANCER_ONLY))

    def _check_traffic(self, problems: Problems, spec: Object) -> None:
        policy = spec.get("externalTrafficPolicy", "")
        if not is_external(spec):
            if policy:
                detail = "may only be set for externally-accessible services"
                problems.append(invalid("spec.externalTrafficPolicy", policy, detail))
        elif policy not in ("Cluster", "Local"):
            problems.append(unsupported("spec.externalTrafficPolicy", policy, ("Cluster", "Local")))
        port = spec.get("healthCheckNodePort", 0)
        if not needs_health_port(spec):
            if port:
                detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
                problems.append(invalid("spec.healthCheckNodePort", port, detail))
        elif not port:
            problems.append(required("spec.healthCheckNodePort"))
        else:
            problems += each_invalid("spec.healthCheckNodePort", port, port_number(port))
        inside = spec.get("internalTrafficPolicy")
        if inside is not None and inside not in ("Cluster", "Local"):
            problems.append(unsupported("spec.internalTrafficPolicy", inside, ("Cluster", "Local")))
        wanted = spec.get("trafficDistribution")
        allowed = ("PreferClose", "PreferSameZone", "PreferSameNode")
        if wanted is not None and wanted not in allowed:
            problems.append(unsupported("spec.trafficDistribution", wanted, allowed))

    def check_update(self, problems: Problems, new: Object, old: Object) -> None:
        self.check_metadata_update(problems, new, old)
        spec, before = new["spec"], old["spec"]
        _check_same_ips(problems, spec, before)
        _check_same_families(problems, spec, before)
        if spec["type"] == before["type"] == "LoadBalancer":
            name = spec.get("loadBalancerClass")
            same(problems, name, before.get("loadBalancerClass"), "spec.loadBalancerClass", "may not change once set")
        self._check_class(problems, spec)
        moved = spec.get("healthCheckNodePort") != before.get("healthCheckNodePort")
        if moved and needs_health_port(spec) and needs_health_port(before):
            problems.append(forbidden("spec.healthCheckNodePort", "field is immutable"))
        self._check(problems, new, before)

    def check_status(self, problems: Problems, new: Object, old: Object) -> None:
        super().check_status(problems, new, old)
        points = new["status"]["loadBalancer"].get("ingress", ())
        if points and new["spec"]["type"] != "LoadBalancer":
            detail = "may only be used when `spec.type` is 'LoadBalancer'"
            problems.append(forbidden("status.loadBalancer.ingress", detail))
            return
        for index, point in enumerate(points):
            at, ip, mode = f"status.loadBalancer.ingress[{index}]", point.get("ip"), point.get("ipMode")
            if ip:
                check_ip(problems, ip, f"{at}.ip")
            if mode is None:
                if ip:
                    problems.append(required(f"{at}.ipMode", "must be specified when `ip` is set"))
            elif not ip:
                problems.append(forbidden(f"{at}.ipMode", "may not be specified when `ip` is not set"))
            elif mode not in ("Proxy", "VIP"):
                problems.append(unsupported(f"{at}.ipMode", mode, ("Proxy", "VIP")))
            check_entry_name(problems, point.get("hostname", ""), f"{at}.hostname")


def check_cluster_ips(problems: Problems, spec: Object, before: Object) -> None:
    """How `clusterIP`, `clusterIPs` and the IP families fit together; what was there `before` passes for an address."""
    if spec["type"] == "ExternalName":
        return
    first, ips, families = spec.get("clusterIP", ""), spec.get("clusterIPs", []), spec.get("ipFamilies", [])
    if first and not ips:
        problems.append(required("spec.clusterIPs"))
    elif first and ips[0] != first:
        problems.append(invalid("spec.clusterIPs", ips, "first value must match `clusterIP`"))
    elif not first and ips:
        problems.append(invalid("spec.clusterIPs", ips, "must be empty when `clusterIP` is not specified"))
    for index, family in enumerate(families):
        if family not in ("IPv4", "IPv6"):
            problems.append(unsupported(f"spec.ipFamilies[{index}]", family, ("IPv4", "IPv6")))
        if family in families[:index]:
            problems.append(duplicate(f"spec.ipFamilies[{index}]", family))
    policy = spec.get("ipFamilyPolicy")
    policies = ("PreferDualStack", "RequireDualStack", "SingleStack")
    if policy is not None and policy not in policies:
        problems.append(unsupported("spec.ipFamilyPolicy", policy, policies))
    sound = True
    for index, ip in enumerate(ips):
        if index == 0 and ip == "None":
            if len(ips) > 1:
                sound = False
                problems.append(invalid("spec.clusterIPs", ips, "'None' must be the first and only value"))
        else:
            known = ip in before.get("clusterIPs", ())
            sound = (known or check_ip(problems, ip, f"spec.clusterIPs[{index}]")) and sound
    if len(ips) > 2:
        problems.append(invalid("spec.clusterIPs", ips, "may only hold up to 2 values"))
    if sound:
        _check_families(problems, spec, ips, families)


def _check_families(problems: Problems, spec: Object, ips: list[str], families: list[str]) -> None:
    if len(ips) > 1 and len({":" in ip for ip in ips}) < 2:
        problems.append(invalid("spec.clusterIPs", ips, "may specify no more than one IP for each IP family"))
    if is_headless(spec):
        return
    for index, (ip, family) in enumerate(zip(ips, families, strict=False)):
        if family in ("IPv4", "IPv6") and (family == "IPv6") != (":" in ip):
            detail = f"expected an {family} value as indicated by `ipFamilies[{index}]`"
            problems.append(invalid(f"spec.clusterIPs[{index}]", ip, detail))


def _check_same_ips(problems: Problems, spec: Object, before: Object) -> None:
    if "ExternalName" in (spec["type"], before["type"]) or (is_headless(spec) and is_headless(before)):
        return
    ips, old = spec.get("clusterIPs"), before.get("clusterIPs", [])
    now = ips or []
    fixed = "may not change once set"
    if len(now) == len(old):
        for index, ip in enumerate(old):
            if ip != now[index]:
                problems.append(invalid(f"spec.clusterIPs[{index}]", ips, fixed))
        return
    if not now:
        problems.append(invalid("spec.clusterIPs[0]", ips, "primary clusterIP can not be unset"))
    elif old and now[0] != old[0]:
        problems.append(invalid("spec.clusterIPs[0]", ips, fixed))
    if len(old) > len(now) == 1 and spec.get("ipFamilyPolicy") != "SingleStack":
        detail = "must be set to 'SingleStack' when releasing the secondary clusterIP"
        problems.append(invalid("spec.ipFamilyPolicy", spec.get("ipFamilyPolicy"), detail))


def _check_same_families(problems: Problems, spec: Object, before: Object) -> None:
    if "ExternalName" in (spec["type"], before["type"]) or is_headless(spec) or is_headless(before):
        return
    now, old = spec.get("ipFamilies", []), before.get("ipFamilies", [])
    if now and old and now[0] != old[0]:
        problems.append(invalid("spec.ipFamilies[0]", now, "may not change once set"))


def drop_what_the_type_forbids(spec: Object, before: Object) -> None:
    """When a Service changes its type, what the user did not touch and the new type cannot have goes silently."""
    if needs_cluster_ip(before) and not needs_cluster_ip(spec):
        if all(spec.get(name) == before.get(name) for name in ("clusterIP", "clusterIPs")):
            spec.pop("clusterIP", None)
            spec.pop("clusterIPs", None)
        for name in ("ipFamilies", "ipFamilyPolicy"):
            if spec.get(name) == before.get(name):
                spec.pop(name, None)
    node_types = ("NodePort", "LoadBalancer")
    if before["type"] in node_types and spec["type"] not in node_types:
        old_ports = {port.get("nodePort", 0) for port in before.get("ports", ())}
        if {port["nodePort"] for port in spec.get("ports", ()) if "nodePort" in port} <= old_ports:
            for port in spec.get("ports", ()):
                port.pop("nodePort", None)
    same_port = spec.get("healthCheckNodePort") == before.get("healthCheckNodePort")
    if same_port and needs_health_port(before) and not needs_health_port(spec):
        spec.pop("healthCheckNodePort", None)
    if before["type"] == "LoadBalancer" and spec["type"] != "LoadBalancer":
        for name in ("allocateLoadBalancerNodePorts", "loadBalancerClass"):
            if spec.get(name) == before.get(name):
                spec.pop(name, None)
    same_policy = spec.get("externalTrafficPolicy") == before.get("externalTrafficPolicy")
    if same_policy and is_external(before) and not is_external(spec):
        spec.pop("externalTrafficPolicy", None)
