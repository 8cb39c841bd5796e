"""What a Service is given: cluster IPs and node ports.

A write is one synchronous step, so choosing is enough: what was chosen counts as taken when the Service is stored. A
dry run gets what the API server gives there, which is never an address that anybody could have.
"""

from __future__ import annotations

import ipaddress
import random
from typing import TYPE_CHECKING

from penstock.embedded.kinds.ips import parse_ip
from penstock.embedded.kinds.nodeports import NodePorts, wants_ports
from penstock.embedded.kinds.problems import FieldProblem, Problems, invalid
from penstock.embedded.kinds.services import check_cluster_ips, needs_cluster_ip, needs_health_port
from penstock.embedded.status import internal_error
from penstock.embedded.status import invalid as invalid_status

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.kube.resources import Object

RANGE = ipaddress.IPv4Network("10.0.0.0/16")
STATIC = 256
"""Addresses at the beginning of the range are left to those who ask for one."""
_ONLY_IPV4 = "this cluster is not configured for dual-stack services"


class ServiceAddresses:
    """The cluster IPs and node ports that are taken; fed with every Service that is stored or deleted."""

    def __init__(self, services: Iterable[Object] = (), *, choose: random.Random | None = None) -> None:
        self._ips: set[str] = set()
        self._random = choose or random.Random()  # noqa: S311 - an address is no secret
        self._ports = NodePorts(self._random)
        for service in services:
            self.stored(service, None)

    def stored(self, service: Object | None, old: Object | None) -> None:
        """A Service was created (no `old`), changed, or deleted (no `service`)."""
        if old is not None:
            self._ips.difference_update(_ips_of(old))
        if service is not None:
            self._ips.update(_ips_of(service))
        self._ports.stored(service, old)

    def give(self, service: Object, old: Object | None = None, *, dry_run: bool = False) -> None:
        """Fill in what a new or changed Service needs; 422 for an address or port that it cannot have."""
        spec = service["spec"]
        if old is not None:
            _keep_given(spec, old["spec"])
        elif spec.get("clusterIP") and not spec.get("clusterIPs"):
            spec["clusterIPs"] = [spec["clusterIP"]]
        if spec["type"] == "ExternalName":
            spec.pop("internalTrafficPolicy", None)
        else:
            _choose_families(service, old)
        before = old["spec"] if old is not None else {}
        self._give_ip(service, before, dry_run=dry_run)
        self._ports.give(service, old, dry_run=dry_run)

    def _give_ip(self, service: Object, before: Object, *, dry_run: bool) -> None:
        spec = service["spec"]
        ips = spec.get("clusterIPs", [])
        if not needs_cluster_ip(spec) or ips[:1] == ["None"]:
            return
        if before and needs_cluster_ip(before):
            return  # what it has it keeps; one that came into being by its status has none until its type changes
        if not ips:
            chosen = str(RANGE.network_address) if dry_run else self._free_ip()
            spec["clusterIP"], spec["clusterIPs"] = chosen, [chosen]
            return
        for ip in ips:
            if words := self._refusal(ip, dry_run=dry_run):
                detail = f"failed to allocate IP {ip}: {words}"
                raise _refused(service, [invalid("spec.clusterIPs", ips, detail)])

    def _refusal(self, ip: str, *, dry_run: bool) -> str:
        address = parse_ip(ip)
        ends = (RANGE.network_address, RANGE.broadcast_address)
        if not isinstance(address, ipaddress.IPv4Address) or address not in RANGE or address in ends:
            return f"the provided IP ({ip}) is not in the valid range. The range of valid IPs is {RANGE}"
        return "provided IP is already allocated" if not dry_run and ip in self._ips else ""

    def _free_ip(self) -> str:
        first, count = int(RANGE.network_address), RANGE.num_addresses
        for _ in range(64):
            ip = str(ipaddress.IPv4Address(first + self._random.randrange(STATIC, count - 1)))
            if ip not in self._ips:
                return ip
        for offset in (*range(STATIC, count - 1), *range(1, STATIC)):
            ip = str(ipaddress.IPv4Address(first + offset))
            if ip not in self._ips:
                return ip
        raise internal_error("failed to allocate a serviceIP: range is full")


def _refused(service: Object, problems: list[FieldProblem]) -> Exception:
    return invalid_status("Service", service["metadata"].get("name", ""), problems)


def _ips_of(service: Object) -> list[str]:
    return [ip for ip in service["spec"].get("clusterIPs", ()) if ip != "None"]


def _keep_given(spec: Object, before: Object) -> None:
    """What the Service has already, and the new one does not mention."""
    if needs_cluster_ip(before) and needs_cluster_ip(spec):
        if not spec.get("clusterIP") and before.get("clusterIP"):
            spec["clusterIP"] = before["clusterIP"]
        if not spec.get("clusterIPs") and before.get("clusterIPs"):
            spec["clusterIPs"] = list(before["clusterIPs"])
    if wants_ports(before) and wants_ports(spec):
        _keep_ports(spec, before)
    if needs_health_port(before) and needs_health_port(spec) and "healthCheckNodePort" in before:
        spec.setdefault("healthCheckNodePort", before["healthCheckNodePort"])
    if spec.get("clusterIP") != before.get("clusterIP") and spec.get("clusterIPs") == before.get("clusterIPs"):
        # Only the old, single field was changed.
        if spec.get("clusterIP"):
            spec["clusterIPs"] = [spec["clusterIP"]]
        else:
            spec.pop("clusterIPs", None)


def _keep_ports(spec: Object, before: Object) -> None:
    old = {port.get("name", ""): port.get("nodePort", 0) for port in before.get("ports", ())}
    used = {port["nodePort"] for port in spec.get("ports", ()) if port.get("nodePort")} & set(old.values())
    for port in spec.get("ports", ()):
        number = old.get(port.get("name", ""), 0)
        if not port.get("nodePort") and number and number not in used:
            port["nodePort"] = number


def _choose_families(service: Object, old: Object | None) -> None:
    """One family, IPv4; two only for headless Services without selector, which name no addresses."""
    spec = service["spec"]
    headless = spec.get("clusterIP") == "None"
    before = old["spec"] if old is not None else {}
    if old is not None and _prefers_as_before(spec, before):
        return
    if "ipFamilyPolicy" not in spec:
        standard = "RequireDualStack" if headless and not spec.get("selector") else "SingleStack"
        spec["ipFamilyPolicy"] = before.get("ipFamilyPolicy") or standard
    problems: Problems = []
    check_cluster_ips(problems, spec, before)
    if problems:
        raise _refused(service, problems)
    policy, families = spec["ipFamilyPolicy"], spec.get("ipFamilies", [])
    many = "must be 'RequireDualStack' or 'PreferDualStack' when multiple"
    if policy == "SingleStack":
        if len(spec.get("clusterIPs", ())) == 2:
            problems.append(invalid("spec.ipFamilyPolicy", policy, f"{many} cluster IPs are specified"))
        if len(families) == 2:
            if old is not None and families == before.get("ipFamilies"):
                families = spec["ipFamilies"] = families[:1]
            else:
                problems.append(invalid("spec.ipFamilyPolicy", policy, f"{many} IP families are specified"))
    else:
        _check_released(problems, spec, before)
    _check_configured(problems, spec, families)
    if problems:
        raise _refused(service, problems)
    if headless and not spec.get("selector"):
        families = families or ["IPv4"]
        if len(families) < 2 and policy != "SingleStack":
            families = [*families, "IPv6" if families == ["IPv4"] else "IPv4"]
        spec["ipFamilies"] = families
        return
    if policy == "RequireDualStack":
        problems.append(invalid("spec.ipFamilyPolicy", policy, _ONLY_IPV4))
    problems += [
        invalid(f"spec.ipFamilies[{index}]", family, "not configured on this cluster")
        for index, family in enumerate(families)
        if family != "IPv4"
    ]
    if problems:
        raise _refused(service, problems)
    spec["ipFamilies"] = families or ["IPv4"]


def _prefers_as_before(spec: Object, before: Object) -> bool:
    """Whether a Service that takes what it gets has it already."""
    return (
        spec.get("ipFamilyPolicy") == "PreferDualStack"
        and before.get("ipFamilyPolicy", "PreferDualStack") == "PreferDualStack"
        and all(spec.get(name) == before.get(name) for name in ("type", "clusterIPs", "ipFamilies"))
    )


def _check_released(problems: Problems, spec: Object, before: Object) -> None:
    """Who wants to do without a second address has to say so."""
    for name, what in (("clusterIPs", "cluster IP"), ("ipFamilies", "IP family")):
        if 0 < len(spec.get(name, ())) < len(before.get(name, ())):
            detail = f"must be 'SingleStack' to release the secondary {what}"
            problems.append(invalid("spec.ipFamilyPolicy", spec["ipFamilyPolicy"], detail))


def _check_configured(problems: Problems, spec: Object, families: list[str]) -> None:
    ips = spec.get("clusterIPs", [])
    for index, ip in enumerate(ips):
        if ip != "None" and index >= len(families) and ":" in ip:
            detail = "IPv6 is not configured on this cluster"
            problems.append(invalid(f"spec.clusterIPs[{index}]", ips, detail))
