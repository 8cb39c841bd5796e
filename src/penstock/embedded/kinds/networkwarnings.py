"""Warnings about Services, endpoints, policies and addresses that are written in an unusual way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.embedded.kinds.ips import cidr_warnings, ip_warnings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from penstock.kube.resources import Object

    Warn = Callable[[Object, Object | None], list[str]]

_HINTS = "service.kubernetes.io/topology-aware-hints"
_CLASS = "kubernetes.io/ingress.class"
_MANAGED = "endpointslice.kubernetes.io/managed-by"
_CONTROLLERS = ("endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io")
_ENDPOINTS_MANAGED, _ENDPOINTS_CONTROLLER = "endpoints.kubernetes.io/managed-by", "endpoint-controller"


def _service(new: Object, _: Object | None) -> list[str]:
    spec, found = new["spec"], list[str]()
    if _HINTS in new["metadata"].get("annotations", {}):
        found.append(f"annotation {_HINTS} is deprecated, please use service.kubernetes.io/topology-mode instead")
    headless = spec["type"] == "ClusterIP" and spec.get("clusterIP") == "None"
    external = spec["type"] == "ExternalName"
    if spec.get("clusterIP") and not headless:
        found += _each(ip_warnings, spec.get("clusterIPs", ()), "spec.clusterIPs")
    if headless:
        ignored = [name for name in ("loadBalancerIP", "externalIPs") if spec.get(name)]
        if spec.get("sessionAffinity") != "None":
            ignored.append("SessionAffinity")
        found += [f"spec.{name} is ignored for headless services" for name in ignored]
    found += _each(ip_warnings, spec.get("externalIPs", ()), "spec.externalIPs")
    if spec.get("externalIPs") and not headless and not external:
        found.append("spec.externalIPs is deprecated and may no longer be implemented in some clusters")
    if address := spec.get("loadBalancerIP"):
        found += ip_warnings(address, "spec.loadBalancerIP")
    found += _each(cidr_warnings, spec.get("loadBalancerSourceRanges", ()), "spec.loadBalancerSourceRanges")
    if external and spec.get("externalIPs"):
        found.append('spec.externalIPs is ignored when spec.type is "ExternalName"')
    if not external and spec.get("externalName"):
        found.append('spec.externalName is ignored when spec.type is not "ExternalName"')
    if spec.get("trafficDistribution") == "PreferClose":
        found.append('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"')
    return found


def _each(warn: Callable[[str, str], list[str]], texts: Iterable[str], field: str) -> list[str]:
    return [line for index, text in enumerate(texts) for line in warn(text, f"{field}[{index}]")]


def _ingress(new: Object, old: Object | None) -> list[str]:
    if old is not None or _CLASS not in new["metadata"].get("annotations", {}) or "ingressClassName" in new["spec"]:
        return []
    return [f"annotation \"{_CLASS}\" is deprecated, please use 'spec.ingressClassName' instead"]


def _balanced(new: Object) -> list[str]:
    """A write to the status of a Service or an Ingress."""
    at = "status.loadBalancer.ingress"
    ingress = new.get("status", {}).get("loadBalancer", {}).get("ingress", ())
    return [line for index, one in enumerate(ingress) for line in ip_warnings(one.get("ip", ""), f"{at}[{index}]")]


def _pod_status(new: Object) -> list[str]:
    return [
        line
        for field in ("podIPs", "hostIPs")
        for index, one in enumerate(new.get("status", {}).get(field, ()))
        for line in ip_warnings(one.get("ip", ""), f"status.{field}[{index}].ip")
    ]


def _policy(new: Object, _: Object | None) -> list[str]:
    found: list[str] = []
    for direction, peers in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(new["spec"].get(direction, ())):
            for place, peer in enumerate(rule.get(peers, ())):
                if (block := peer.get("ipBlock")) is not None:
                    at = f"spec.{direction}[{index}].{peers}[{place}].ipBlock"
                    found += cidr_warnings(block["cidr"], f"{at}.cidr")
                    found += _each(cidr_warnings, block.get("except", ()), f"{at}.except")
    return found


def _slice(new: Object, old: Object | None) -> list[str]:
    found: list[str] = []
    if old is None and new["addressType"] == "FQDN":
        found.append("spec.addressType: FQDN endpoints are deprecated")
    if new["metadata"].get("labels", {}).get(_MANAGED) in _CONTROLLERS:
        return found
    for index, endpoint in enumerate(new.get("endpoints") or ()):
        found += _each(ip_warnings, endpoint["addresses"] or (), f"endpoints[{index}].addresses")
    return found


def _endpoints(new: Object, _: Object | None) -> list[str]:
    if new["metadata"].get("labels", {}).get(_ENDPOINTS_MANAGED) == _ENDPOINTS_CONTROLLER:
        return []
    return [
        line
        for index, subset in enumerate(new.get("subsets", ()))
        for part in ("addresses", "notReadyAddresses")
        for place, one in enumerate(subset.get(part, ()))
        for line in ip_warnings(one["ip"], f"subsets[{index}].{part}[{place}].ip")
    ]


NETWORK_WARNINGS: dict[tuple[str, str], Warn] = {
    ("", "Endpoints"): _endpoints,
    ("", "Service"): _service,
    ("discovery.k8s.io", "EndpointSlice"): _slice,
    ("networking.k8s.io", "Ingress"): _ingress,
    ("networking.k8s.io", "NetworkPolicy"): _policy,
}
STATUS_WARNINGS: dict[tuple[str, str], Callable[[Object], list[str]]] = {
    ("", "Pod"): _pod_status,
    ("", "Service"): _balanced,
    ("networking.k8s.io", "Ingress"): _balanced,
}
