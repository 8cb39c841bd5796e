"""Endpoints and EndpointSlices: where the pods behind a Service are."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from penstock.embedded.kinds.decode import defaults
from penstock.embedded.kinds.ips import check_endpoint_ip, check_ip
from penstock.embedded.kinds.names import Words, dns_label, dns_subdomain, label_value, port_number, qualified_name
from penstock.embedded.kinds.problems import (
    Problems,
    duplicate,
    each_invalid,
    invalid,
    required,
    same,
    too_many,
    unsupported,
)
from penstock.embedded.kinds.rules import Rules
from penstock.embedded.kinds.services import PROTOCOLS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.kube.resources import Object


@defaults("core/v1.EndpointPort")
def _endpoint_port_defaults(port: Object) -> None:
    port.setdefault("protocol", "TCP")


class EndpointsRules(Rules):
    create_on_update: ClassVar[bool] = True

    def check_update(self, problems: Problems, new: Object, old: Object) -> None:
        self.check_metadata_update(problems, new, old)
        self.check_metadata(problems, new)
        if new.get("subsets") != old.get("subsets"):
            self.check(problems, new)

    def check(self, problems: Problems, obj: Object) -> None:
        for index, subset in enumerate(obj.get("subsets", ())):
            at = f"subsets[{index}]"
            if not subset.get("addresses") and not subset.get("notReadyAddresses"):
                problems.append(required(at, "must specify `addresses` or `notReadyAddresses`"))
            for kind in ("addresses", "notReadyAddresses"):
                for position, address in enumerate(subset.get(kind, ())):
                    self._check_address(problems, address, f"{at}.{kind}[{position}]")
            ports = subset.get("ports", ())
            for position, port in enumerate(ports):
                self._check_port(problems, port, f"{at}.ports[{position}]", named=len(ports) > 1)

    def _check_address(self, problems: Problems, address: Object, field: str) -> None:
        check_ip(problems, address["ip"], f"{field}.ip")
        check_endpoint_ip(problems, address["ip"], f"{field}.ip")
        if name := address.get("hostname"):
            problems += each_invalid(f"{field}.hostname", name, dns_label(name))
        if "nodeName" in address:
            problems += each_invalid(f"{field}.nodeName", address["nodeName"], dns_subdomain(address["nodeName"]))

    def _check_port(self, problems: Problems, port: Object, field: str, *, named: bool) -> None:
        name = port.get("name", "")
        if named and not name:
            problems.append(required(f"{field}.name"))
        elif name:
            problems += each_invalid(f"{field}.name", name, dns_label(name))
        problems += each_invalid(f"{field}.port", port["port"], port_number(port["port"]))
        if port["protocol"] not in PROTOCOLS:
            problems.append(unsupported(f"{field}.protocol", port["protocol"], PROTOCOLS))
        if "appProtocol" in port:
            problems += each_invalid(f"{field}.appProtocol", port["appProtocol"], qualified_name(port["appProtocol"]))


@defaults("discovery/v1.EndpointPort")
def _slice_port_defaults(port: Object) -> None:
    port.setdefault("name", "")
    port.setdefault("protocol", "TCP")


class EndpointSliceRules(Rules):
    generation: ClassVar[tuple[str, ...]] = ("endpoints", "ports", "addressType")

    def changed(self, new: Object, old: Object) -> bool:
        return super().changed(new, old) or new["metadata"].get("labels") != old["metadata"].get("labels")

    def check(self, problems: Problems, obj: Object) -> None:
        kind = obj["addressType"]
        if not kind:
            problems.append(required("addressType"))
        elif kind not in ("FQDN", "IPv4", "IPv6"):
            problems.append(unsupported("addressType", kind, ("FQDN", "IPv4", "IPv6")))
        self._check_ports(problems, obj.get("ports") or ())
        endpoints = obj["endpoints"] or ()
        if len(endpoints) > 1000:
            problems.append(too_many("endpoints", len(endpoints), 1000))
            return
        for index, endpoint in enumerate(endpoints):
            self._check_endpoint(problems, endpoint, kind, f"endpoints[{index}]")

    def _check_ports(self, problems: Problems, ports: list[Object] | tuple[Object, ...]) -> None:
        names: set[str] = set()
        for index, port in enumerate(ports):
            at, name = f"ports[{index}]", port["name"]
            if name:
                problems += each_invalid(f"{at}.name", name, dns_label(name))
            if name in names:
                problems.append(duplicate(f"{at}.name", name))
            names.add(name)
            if port["protocol"] not in PROTOCOLS:
                problems.append(unsupported(f"{at}.protocol", port["protocol"], PROTOCOLS))
            if "appProtocol" in port:
                value = port["appProtocol"]
                problems += each_invalid(f"{at}.appProtocol", value, qualified_name(value))

    def _check_endpoint(self, problems: Problems, endpoint: Object, kind: str, field: str) -> None:
        addresses = endpoint["addresses"] or ()
        if not addresses:
            problems.append(required(f"{field}.addresses", "must contain at least 1 address"))
        elif len(addresses) > 100:
            problems.append(too_many(f"{field}.addresses", len(addresses), 100))
        for index, address in enumerate(addresses):
            self._check_address(problems, address, kind, f"{field}.addresses", index)
        if "nodeName" in endpoint:
            problems += each_invalid(f"{field}.nodeName", endpoint["nodeName"], dns_subdomain(endpoint["nodeName"]))
        if "hostname" in endpoint:
            problems += each_invalid(f"{field}.hostname", endpoint["hostname"], dns_label(endpoint["hostname"]))
        for kind, rule in (("forZones", label_value), ("forNodes", dns_subdomain)):
            if not self._check_hints(problems, endpoint.get("hints", {}).get(kind, ()), rule, f"{field}.hints.{kind}"):
                break

    def _check_hints(
        self, problems: Problems, hints: Sequence[Object], rule: Callable[[str], Words], field: str
    ) -> bool:
        """Whether there are few enough of them to look any further."""
        if len(hints) > 8:
            problems.append(too_many(field, len(hints), 8))
            return False
        names = [hint["name"] for hint in hints]
        for index, name in enumerate(names):
            if name in names[:index]:
                problems.append(duplicate(f"{field}[{index}].name", name))
            problems += each_invalid(f"{field}[{index}].name", name, rule(name))
        return True

    def _check_address(self, problems: Problems, address: str, kind: str, field: str, index: int) -> None:
        at = f"{field}[{index}]"
        if kind in ("IPv4", "IPv6"):
            if not check_ip(problems, address, at, canonical=kind == "IPv6"):
                return
            if (":" in address) != (kind == "IPv6"):
                problems.append(invalid(field, address, f"must be an {kind} address"))
            check_endpoint_ip(problems, address, at)
        elif kind == "FQDN":
            name = address.removesuffix(".")
            if words := dns_subdomain(name):
                problems.append(invalid(at, name, ",".join(words)))
            elif "." not in name:
                detail = "should be a domain with at least two segments separated by dots"
                problems.append(invalid(at, name, detail))

    def check_update(self, problems: Problems, new: Object, old: Object) -> None:
        self.check_create(problems, new)
        same(problems, new["addressType"], old["addressType"], "addressType")
