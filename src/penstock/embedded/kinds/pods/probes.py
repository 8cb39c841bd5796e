"""Probes and life cycle hooks of containers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.embedded.kinds.names import http_header, port_name, port_number
from penstock.embedded.kinds.problems import (
    Problems,
    each_invalid,
    forbidden,
    invalid,
    non_negative,
    required,
    unsupported,
)

if TYPE_CHECKING:
    from penstock.kube.resources import Object


def check_life(problems: Problems, container: Object, spec: Object, field: str) -> None:
    """Hooks and probes."""
    if lifecycle := container.get("lifecycle"):
        for hook in ("postStart", "preStop"):
            if hook in lifecycle:
                _check_handler(problems, lifecycle[hook], spec, f"{field}.lifecycle.{hook}")
        if "stopSignal" in lifecycle and "os" not in spec:
            detail = "may not be set for containers with empty `spec.os.name`"
            problems.append(forbidden(f"{field}.lifecycle.stopSignal", detail))
    for kind in ("livenessProbe", "readinessProbe", "startupProbe"):
        probe = container.get(kind)
        if probe is None:
            continue
        at = f"{field}.{kind}"
        _check_probe(problems, probe, spec, at)
        if kind == "readinessProbe":
            if "terminationGracePeriodSeconds" in probe:
                detail = "must not be set for readinessProbes"
                where = f"{at}.terminationGracePeriodSeconds"
                problems.append(invalid(where, probe["terminationGracePeriodSeconds"], detail))
        elif probe["successThreshold"] != 1:
            problems.append(invalid(f"{at}.successThreshold", probe["successThreshold"], "must be 1"))


_PROBE_NUMBERS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")


def _check_probe(problems: Problems, probe: Object, spec: Object, field: str) -> None:
    _check_handler(problems, probe, spec, field)
    for name in _PROBE_NUMBERS:
        non_negative(problems, probe.get(name, 0), f"{field}.{name}")
    grace = probe.get("terminationGracePeriodSeconds")
    if grace is not None and grace <= 0:
        problems.append(invalid(f"{field}.terminationGracePeriodSeconds", grace, "must be greater than 0"))


def _check_handler(problems: Problems, handler: Object, spec: Object, field: str) -> None:
    chosen = ""
    for kind in ("exec", "httpGet", "tcpSocket", "grpc", "sleep"):
        action = handler.get(kind)
        if action is None:
            continue
        at = f"{field}.{kind}"
        if chosen:
            problems.append(forbidden(at, "may not specify more than 1 handler type"))
            continue
        chosen = kind
        if kind == "exec":
            if not action.get("command"):
                problems.append(required(f"{at}.command"))
        elif kind == "sleep":
            grace = spec["terminationGracePeriodSeconds"]
            if not 0 <= action["seconds"] <= grace:
                detail = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
                problems.append(invalid(at, action["seconds"], detail))
        else:
            check_port(problems, action["port"], f"{at}.port")
            if kind == "httpGet":
                _check_http(problems, action, at)
    if not chosen:
        problems.append(required(field, "must specify a handler type"))


def _check_http(problems: Problems, action: Object, field: str) -> None:
    if action["scheme"] not in ("HTTP", "HTTPS"):
        problems.append(unsupported(f"{field}.scheme", action["scheme"], ("HTTP", "HTTPS")))
    for header in action.get("httpHeaders", ()):
        problems += each_invalid(f"{field}.httpHeaders", header["name"], http_header(header["name"]))


def check_port(problems: Problems, port: int | str, field: str) -> None:
    """A port by number or by name."""
    words = port_number(port) if isinstance(port, int) else port_name(port)
    problems += each_invalid(field, port, words)
