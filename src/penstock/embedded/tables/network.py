"""Rows of Services, endpoints, Ingresses and other network things."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.embedded.tables.durations import since
from penstock.embedded.tables.workloads import NONE, labels_text, selector_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.kube.resources import Object

_FEW = 3


def _age(obj: Object, now: float) -> str:
    return since(obj["metadata"].get("creationTimestamp"), now)


def service(obj: Object, now: float) -> list[Any]:
    spec = obj["spec"]
    ports = [_port(port) for port in spec.get("ports") or ()]
    return [
        obj["metadata"]["name"],
        spec.get("type", ""),
        (spec.get("clusterIPs") or [spec.get("clusterIP") or NONE])[0] or NONE,
        _outside(obj),
        ",".join(ports) or NONE,
        _age(obj, now),
        labels_text(spec.get("selector")),
    ]


def _port(port: Object) -> str:
    node = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port['port']}{node}/{port.get('protocol', 'TCP')}"


def _outside(obj: Object) -> str:
    """Where a Service can be reached from outside of the cluster."""
    spec = obj["spec"]
    external: list[str] = spec.get("externalIPs") or []
    match spec.get("type"):
        case "ExternalName":
            return str(spec.get("externalName", ""))
        case "LoadBalancer":
            given = [*_balancers(obj), *external]
            return ",".join(given) or "<pending>"
        case _:
            return ",".join(external) or NONE


def _balancers(obj: Object) -> list[str]:
    points = ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
    return [each.get("ip") or each.get("hostname") or "" for each in points]


def endpoints(obj: Object, now: float) -> list[Any]:
    return [obj["metadata"]["name"], _endpoint_text(obj.get("subsets") or ()), _age(obj, now)]


def _endpoint_text(subsets: Sequence[Object]) -> str:
    found: list[str] = []
    for subset in subsets:
        ports = subset.get("ports") or ()
        for address in subset.get("addresses") or ():
            found += [f"{address['ip']}:{port['port']}" for port in ports] or [address["ip"]]
    if not found:
        return NONE
    more = len(found) - _FEW
    return ",".join(found[:_FEW]) + (f" + {more} more..." if more > 0 else "")


def endpoint_slice(obj: Object, now: float) -> list[Any]:
    ports = [str(port["port"]) for port in obj.get("ports") or () if port.get("port")]
    addresses = [address for each in obj.get("endpoints") or () for address in each.get("addresses") or ()]
    return [
        obj["metadata"]["name"],
        obj.get("addressType", ""),
        _few(ports) if ports else "<unset>",
        _few(addresses) if addresses else "<unset>",
        _age(obj, now),
    ]


def _few(values: list[str]) -> str:
    more = len(values) - _FEW
    return ",".join(values[:_FEW]) + (f" + {more} more..." if more > 0 else "")


def ingress(obj: Object, now: float) -> list[Any]:
    spec = obj.get("spec") or {}
    hosts = [rule["host"] for rule in spec.get("rules") or () if rule.get("host")]
    more = len(hosts) - _FEW
    shown = ",".join(hosts[:_FEW]) + (f" + {more} more..." if more > 0 else "")
    return [
        obj["metadata"]["name"],
        spec.get("ingressClassName") or NONE,
        shown or "*",
        ",".join(_balancers(obj)),
        "80, 443" if spec.get("tls") else "80",
        _age(obj, now),
    ]


def ingress_class(obj: Object, now: float) -> list[Any]:
    spec = obj.get("spec") or {}
    parameters = spec.get("parameters")
    text = NONE
    if parameters:
        group = f".{parameters['apiGroup']}" if parameters.get("apiGroup") else ""
        text = f"{parameters['kind']}{group}/{parameters['name']}"
    return [obj["metadata"]["name"], spec.get("controller", ""), text, _age(obj, now)]


def network_policy(obj: Object, now: float) -> list[Any]:
    return [obj["metadata"]["name"], selector_text((obj.get("spec") or {}).get("podSelector")), _age(obj, now)]


def ip_address(obj: Object, now: float) -> list[Any]:
    parent = (obj.get("spec") or {}).get("parentRef") or {}
    parts = (parent.get("group"), parent.get("resource"), parent.get("namespace"), parent.get("name"))
    # The real server sends an age too, though it names no column for it.
    return [obj["metadata"]["name"], "/".join(part for part in parts if part) or NONE, _age(obj, now)]


def service_cidr(obj: Object, now: float) -> list[Any]:
    return [obj["metadata"]["name"], ",".join((obj.get("spec") or {}).get("cidrs") or ()), _age(obj, now)]
