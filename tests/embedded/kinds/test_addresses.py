"""Cluster IPs and node ports of Services."""

from __future__ import annotations

import ipaddress
import random
from typing import Any

import pytest

from penstock.embedded.kinds import rules
from penstock.embedded.kinds.addresses import RANGE, ServiceAddresses
from penstock.embedded.kinds.nodeports import PORTS
from penstock.embedded.status import StatusError


def service(**spec: Any) -> dict[str, Any]:
    obj = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web"},
        "spec": {"ports": [{"port": 80}], **spec},
    }
    rules("", "Service").default(obj)
    return obj


def given(addresses: ServiceAddresses, **spec: Any) -> dict[str, Any]:
    """A new Service, stored."""
    obj = service(**spec)
    addresses.give(obj)
    addresses.stored(obj, None)
    return obj


@pytest.fixture
def addresses() -> ServiceAddresses:
    return ServiceAddresses(choose=random.Random(1))


def test_a_service_gets_an_address_of_the_range(addresses: ServiceAddresses) -> None:
    spec = given(addresses)["spec"]
    assert ipaddress.IPv4Address(spec["clusterIP"]) in RANGE
    assert (spec["clusterIPs"], spec["ipFamilies"], spec["ipFamilyPolicy"]) == (
        [spec["clusterIP"]],
        ["IPv4"],
        "SingleStack",
    )


def test_no_two_services_share_an_address(addresses: ServiceAddresses) -> None:
    ips = [given(addresses)["spec"]["clusterIP"] for _ in range(500)]
    assert len(set(ips)) == 500


def test_an_address_is_free_again_when_its_service_is_gone(addresses: ServiceAddresses) -> None:
    first = given(addresses, clusterIP="10.0.0.9")
    with pytest.raises(StatusError, match="provided IP is already allocated"):
        given(addresses, clusterIP="10.0.0.9")
    addresses.stored(None, first)
    assert given(addresses, clusterIP="10.0.0.9")["spec"]["clusterIPs"] == ["10.0.0.9"]


@pytest.mark.parametrize("ip", ["10.1.0.1", "10.0.0.0", "10.0.255.255"])
def test_an_address_outside_of_the_range_is_refused(addresses: ServiceAddresses, ip: str) -> None:
    with pytest.raises(StatusError, match="is not in the valid range"):
        given(addresses, clusterIP=ip)


def test_a_headless_service_gets_none(addresses: ServiceAddresses) -> None:
    spec = given(addresses, clusterIP="None", selector={"a": "b"})["spec"]
    assert (spec["clusterIPs"], spec["ipFamilies"]) == (["None"], ["IPv4"])


def test_node_ports_come_from_their_range_and_are_kept(addresses: ServiceAddresses) -> None:
    old = given(addresses, type="NodePort")
    port = old["spec"]["ports"][0]["nodePort"]
    assert port in PORTS
    new = service(type="NodePort", ports=[{"port": 81}])
    addresses.give(new, old)
    assert new["spec"]["ports"][0]["nodePort"] == port
    assert new["spec"]["clusterIP"] == old["spec"]["clusterIP"]


def test_a_taken_node_port_is_refused(addresses: ServiceAddresses) -> None:
    given(addresses, type="NodePort", ports=[{"port": 80, "nodePort": 30080}])
    with pytest.raises(StatusError, match="provided port is already allocated"):
        given(addresses, type="NodePort", ports=[{"port": 80, "nodePort": 30080}])


def ports(*pairs: tuple[int, str, int]) -> list[dict[str, Any]]:
    """Ports with these numbers, protocols and node ports; 0 asks for none."""
    named = [{"name": f"p{index}", "port": pair[0], "protocol": pair[1]} for index, pair in enumerate(pairs)]
    return [port | ({"nodePort": pair[2]} if pair[2] else {}) for port, pair in zip(named, pairs, strict=True)]


def test_one_number_for_two_protocols_has_one_node_port(addresses: ServiceAddresses) -> None:
    spec = given(addresses, type="NodePort", ports=ports((53, "TCP", 0), (53, "UDP", 30053)))["spec"]
    assert [port["nodePort"] for port in spec["ports"]] == [30053, 30053]


def test_a_new_service_cannot_use_a_node_port_twice(addresses: ServiceAddresses) -> None:
    with pytest.raises(StatusError, match=r"ports\[1\].nodePort: Invalid value: 30080: provided port is already alloc"):
        given(addresses, type="NodePort", ports=ports((80, "TCP", 30080), (81, "TCP", 30080)))


def test_two_equal_node_ports_in_a_change_are_an_error_of_the_server(addresses: ServiceAddresses) -> None:
    old = given(addresses, type="NodePort", ports=ports((80, "TCP", 30080)))
    new = service(type="NodePort", ports=ports((80, "TCP", 30080), (81, "TCP", 30080)))
    with pytest.raises(StatusError) as refused:
        addresses.give(new, old)
    assert (refused.value.code, refused.value.message) == (500, "duplicate nodePort: {TCP 30080}")


def test_a_changed_service_can_ask_for_other_node_ports(addresses: ServiceAddresses) -> None:
    given(addresses, type="NodePort", ports=ports((80, "TCP", 30081)))
    old = given(addresses, type="NodePort", ports=ports((80, "TCP", 30080)))
    new = service(type="NodePort", ports=ports((80, "TCP", 30082), (53, "TCP", 30053), (53, "UDP", 30053)))
    addresses.give(new, old)
    assert [port["nodePort"] for port in new["spec"]["ports"]] == [30082, 30053, 30053]
    with pytest.raises(StatusError, match="provided port is already allocated"):
        addresses.give(service(type="NodePort", ports=ports((80, "TCP", 30081))), old)


def test_a_dry_run_gets_what_nobody_can_have(addresses: ServiceAddresses) -> None:
    obj = service(type="NodePort")
    addresses.give(obj, dry_run=True)
    assert (obj["spec"]["clusterIP"], obj["spec"]["ports"][0]["nodePort"]) == ("10.0.0.0", 32769)
