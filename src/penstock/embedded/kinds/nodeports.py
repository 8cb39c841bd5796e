"""Node ports of Services: which are taken, and which a new or a changed Service gets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.embedded.kinds.problems import invalid
from penstock.embedded.kinds.services import needs_health_port
from penstock.embedded.status import internal_error, plain_error
from penstock.embedded.status import invalid as invalid_status

if TYPE_CHECKING:
    import random

    from penstock.kube.resources import Object

PORTS = range(30000, 32768)
_TAKEN = "provided port is already allocated"
_OUTSIDE = f"provided port is not in the valid range. The range of valid ports is {PORTS[0]}-{PORTS[-1]}"


class NodePorts:
    """The node ports of all Services; fed with every Service that is stored or deleted."""

    def __init__(self, choose: random.Random) -> None:
        self._taken: set[int] = set()
        self._random = choose

    def __contains__(self, number: int) -> bool:
        return number in self._taken

    def stored(self, service: Object | None, old: Object | None) -> None:
        """A Service was created (no `old`), changed, or deleted (no `service`)."""
        if old is not None:
            self._taken.difference_update(_ports_of(old), _health_port_of(old))
        if service is not None:
            self._taken.update(_ports_of(service), _health_port_of(service))

    def give(self, service: Object, old: Object | None, *, dry_run: bool) -> None:
        """Fill in what a new or changed Service needs; 422 for a port that it cannot have."""
        spec = service["spec"]
        taking = _Taking(self, dry_run=dry_run)
        if spec["type"] in ("NodePort", "LoadBalancer"):
            if old is None:
                _give_first(service, taking)
            else:
                _give_others(service, old, taking)
        if needs_health_port(spec) and not (old is not None and needs_health_port(old["spec"])):
            _give_health_port(spec, taking)

    def free(self, besides: set[int]) -> int:
        """A port that nobody has, chosen at random."""
        for _ in range(64):
            number = self._random.choice(PORTS)
            if number not in self._taken and number not in besides:
                return number
        for number in PORTS:
            if number not in self._taken and number not in besides:
                return number
        raise internal_error("failed to allocate a nodePort: range is full")


class _Taking:
    """What one write takes. A dry run is given numbers that nobody could have, and may ask for any."""

    def __init__(self, ports: NodePorts, *, dry_run: bool) -> None:
        self._ports = ports
        self._dry_run = dry_run
        self._mine: set[int] = set()

    def take(self, number: int) -> str:
        """Take this one; why not, where it cannot be had."""
        if not self._dry_run and number not in PORTS:
            return _OUTSIDE
        if number in self._ports or number in self._mine:
            return _TAKEN
        self._mine.add(number)
        return ""

    def take_any(self) -> int:
        number = (
            max({0, *self._mine} if self._mine else {PORTS.stop}) + 1 if self._dry_run else self._ports.free(self._mine)
        )
        self._mine.add(number)
        return number


def wants_ports(spec: Object) -> bool:
    """Whether the Service gets node ports that it does not name."""
    if spec["type"] == "LoadBalancer":
        return bool(spec.get("allocateLoadBalancerNodePorts", True))
    return bool(spec["type"] == "NodePort")


def _give_first(service: Object, taking: _Taking) -> None:
    """The ports of a new Service. One number, for two protocols, has one node port."""
    spec = service["spec"]
    given: dict[int, int] = {}
    for index, port in enumerate(spec.get("ports", ())):
        wanted, shared = port.get("nodePort", 0), given.get(port["port"], 0)
        if not wanted and not wants_ports(spec):
            continue
        if not shared:
            wanted = next((one["nodePort"] for one in spec["ports"] if _asks(one, port["port"])), 0)
        if not wanted:
            wanted = shared or taking.take_any()
        elif wanted != shared and (why := taking.take(wanted)):
            raise _refused(service, index, wanted, why)
        port["nodePort"] = wanted
        given.setdefault(port["port"], wanted)


def _asks(port: Object, number: int) -> bool:
    return bool(port["port"] == number and port.get("nodePort"))


def _give_others(service: Object, old: Object, taking: _Taking) -> None:
    """The ports of a changed Service, which keeps its own. Two equal ones are more than the API server can take."""
    spec, own = service["spec"], set(_ports_of(old))
    asked: set[int] = set()
    seen: set[tuple[str, int]] = set()
    for index, port in enumerate(spec.get("ports", ())):
        wanted = port.get("nodePort", 0)
        if not wanted and not wants_ports(spec):
            continue
        if not wanted:
            wanted = port["nodePort"] = taking.take_any()
        elif wanted not in own | asked:
            if why := taking.take(wanted):
                raise _refused(service, index, wanted, why)
            asked.add(wanted)
        key = (port["protocol"], wanted)
        if key in seen:
            raise plain_error(f"duplicate nodePort: {{{port['protocol']} {wanted}}}")
        seen.add(key)


def _give_health_port(spec: Object, taking: _Taking) -> None:
    number = spec.get("healthCheckNodePort", 0)
    if not number:
        spec["healthCheckNodePort"] = taking.take_any()
    elif why := taking.take(number):
        raise internal_error(f"failed to allocate requested HealthCheck NodePort {number}: {why}")


def _refused(service: Object, index: int, number: int, why: str) -> Exception:
    problem = invalid(f"spec.ports[{index}].nodePort", number, why)
    return invalid_status("Service", service["metadata"].get("name", ""), [problem])


def _ports_of(service: Object) -> list[int]:
    return [port["nodePort"] for port in service["spec"].get("ports", ()) if port.get("nodePort")]


def _health_port_of(service: Object) -> list[int]:
    number = service["spec"].get("healthCheckNodePort")
    return [number] if number else []
