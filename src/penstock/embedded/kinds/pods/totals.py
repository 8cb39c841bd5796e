"""Resources of a pod as a whole, and what its containers need together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.embedded.kinds.pods.requirements import check_requirements, claim_names
from penstock.embedded.kinds.problems import Problems, forbidden, invalid, unsupported
from penstock.embedded.kinds.resources import HUGE_PAGES, check_name, is_huge_page, may_overcommit
from penstock.schema.quantity import Quantity, parse

if TYPE_CHECKING:
    from penstock.kube.resources import Object

Amounts = dict[str, Quantity]


def is_total(name: str) -> bool:
    """Whether a pod as a whole can have this resource."""
    return name in ("cpu", "memory") or is_huge_page(name)


def together(spec: Object, kind: str) -> Amounts:
    """The requests or limits of all containers. Init containers count as far as one needs more than all others."""
    total: Amounts = {}
    for container in spec.get("containers") or ():
        _add(total, _amounts(container, kind))
    sidecars: Amounts = {}
    most: Amounts = {}
    for container in spec.get("initContainers", ()):
        needed = _amounts(container, kind)
        if container.get("restartPolicy") == "Always":
            _add(total, needed)
            _add(sidecars, needed)
            needed = sidecars
        else:
            _add(needed, sidecars)
        _raise(most, needed)
    _raise(total, most)
    return total


def needed(spec: Object) -> Amounts:
    """What the pod takes of a node: its own requests where it has some, and its overhead."""
    total = together(spec, "requests")
    own = spec.get("resources", {}).get("requests", {})
    total |= {name: parse(amount) for name, amount in own.items() if is_total(name)}
    _add(total, {name: parse(amount) for name, amount in spec.get("overhead", {}).items()})
    return total


def fill_totals(spec: Object) -> None:
    """Requests that a pod with limits of its own does not name, and limits of huge pages."""
    own: Object = spec.get("resources", {})
    if not own.get("limits") and not own.get("requests"):
        return
    limits, requests = dict(own.get("limits", {})), dict(own.get("requests", {}))
    for name, amount in together(spec, "limits").items():
        if is_huge_page(name) and name not in requests:
            limits.setdefault(name, str(amount))
    if limits:
        own["limits"] = limits
        for name, amount in together(spec, "requests").items():
            if is_total(name) and may_overcommit(name):
                requests.setdefault(name, str(amount))
        requests = {**{name: amount for name, amount in limits.items() if is_total(name)}, **requests}
    if requests:
        own["requests"] = requests


def check_totals(problems: Problems, spec: Object, field: str) -> None:
    """Resources of the pod, in themselves and beside those of its containers."""
    if spec.get("os", {}).get("name") == "windows":
        problems.append(forbidden(field, "may not be set for a windows pod"))
        return
    own: Object = spec["resources"]
    if "claims" in own:
        problems.append(forbidden(f"{field}.claims", "claims may not be set for Resources at pod-level"))
    check_requirements(problems, own, field, claim_names(spec), check_name=_check_name)
    limits: dict[str, str] = own.get("limits", {})
    _check_together(problems, spec, own.get("requests", {}), field, "requests")
    _check_together(problems, spec, {name: limits[name] for name in limits if is_huge_page(name)}, field, "limits")
    containers: list[Object] = spec.get("containers") or []
    for index, container in enumerate(containers):
        for name, amount in container["resources"].get("limits", {}).items():
            if name in limits and parse(amount).nano > parse(limits[name]).nano:
                detail = f"must be less than or equal to pod limits of {limits[name]}"
                problems.append(invalid(f"{field}.containers[{index}][{name}].limits", amount, detail))


def _check_name(problems: Problems, name: str, field: str) -> None:
    before = len(problems)
    check_name(problems, name, field)
    if len(problems) == before and not is_total(name):
        problems.append(unsupported(field, name, ("cpu", HUGE_PAGES, "memory")))


def _check_together(problems: Problems, spec: Object, own: dict[str, str], field: str, kind: str) -> None:
    for name, amount in together(spec, kind).items():
        if name in own and amount.nano > parse(own[name]).nano:
            detail = f"must be greater than or equal to aggregate container {kind} of {amount}"
            problems.append(invalid(f"{field}.{kind}[{name}]", own[name], detail))


def _amounts(container: Object, kind: str) -> Amounts:
    return {name: parse(amount) for name, amount in container["resources"].get(kind, {}).items()}


def _add(total: Amounts, more: Amounts) -> None:
    for name, amount in more.items():
        known = total.get(name)
        if known is None or not known.nano:
            total[name] = amount
        else:
            total[name] = Quantity(known.nano + amount.nano, known.format)


def _raise(total: Amounts, other: Amounts) -> None:
    for name, amount in other.items():
        if name not in total or amount.nano > total[name].nano:
            total[name] = amount
