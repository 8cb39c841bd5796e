"""Requests and limits of containers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.embedded.kinds.names import dns_label
from penstock.embedded.kinds.problems import (
    FieldProblem,
    Problems,
    duplicate,
    each_invalid,
    forbidden,
    invalid,
    one_of,
    required,
)
from penstock.embedded.kinds.resources import check_amount, check_container_name, is_huge_page, may_overcommit
from penstock.schema.quantity import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.kube.resources import Object


def check_requirements(
    problems: Problems,
    resources: Object,
    field: str,
    claims: Sequence[str] = (),
    *,
    check_name: Callable[[Problems, str, str], None] = check_container_name,
) -> None:
    """Requests and limits of a container, or of whatever may have resources of these names."""
    limits, requests = resources.get("limits", {}), resources.get("requests", {})
    for name, amount in limits.items():
        at = f"{field}.limits[{name}]"
        check_name(problems, name, at)
        check_amount(problems, name, amount, at)
        _check_huge_page(problems, name, amount, at)
    for name, amount in requests.items():
        at = f"{field}.requests[{name}]"
        check_name(problems, name, at)
        check_amount(problems, name, amount, at)
        limit = limits.get(name)
        if limit is not None:
            _check_pair(problems, name, amount, limit, f"{field}.requests")
        elif not may_overcommit(name):
            problems.append(required(f"{field}.limits", "Limit must be set for non overcommitable resources"))
        _check_huge_page(problems, name, amount, at)
    names = {*limits, *requests}
    if any(is_huge_page(name) for name in names) and not names & {"cpu", "memory"}:
        problems.append(forbidden(field, "HugePages require cpu or memory"))
    if "claims" in resources:
        _check_claims(problems, resources["claims"], claims, f"{field}.claims")


def _check_pair(problems: Problems, name: str, request: str, limit: str, field: str) -> None:
    if request == limit:
        return
    low, high = parse(request).nano, parse(limit).nano
    if low != high and not may_overcommit(name):
        problems.append(invalid(field, request, f"must be equal to {name} limit of {limit}"))
    elif low > high:
        problems.append(invalid(field, request, f"must be less than or equal to {name} limit of {limit}"))


def _check_huge_page(problems: Problems, name: str, amount: str, field: str) -> None:
    if not is_huge_page(name):
        return
    try:
        size = parse(name.partition("-")[2])
    except ValueError:
        size = None
    if size is None or size.nano <= 0 or not size.is_whole or parse(amount).value % size.value:
        problems.append(invalid(field, amount, f"{amount} is not positive integer multiple of {name}"))


def _check_claims(problems: Problems, used: Sequence[Object], known: Sequence[str], field: str) -> None:
    seen: set[str] = set()
    for index, claim in enumerate(used):
        at, name = f"{field}[{index}]", claim["name"]
        if not name:
            problems.append(required(at))
            continue
        _check_once(problems, claim, seen, at)
        if name not in known:
            listed = f": {', '.join(sorted(known))}" if known else " which is empty"
            words = f'Not found: "{name}": must be one of the names in pod.spec.resourceClaims{listed}'
            problems.append(FieldProblem("FieldValueNotFound", at, words))


def _check_once(problems: Problems, claim: Object, seen: set[str], field: str) -> None:
    """A claim is used as a whole, or requests of it are, each once."""
    name, request = claim["name"], claim.get("request", "")
    if name in seen:
        problems.append(duplicate(field, name))
        return
    key = f"{name}/{request}" if request else name
    if request:
        problems += each_invalid(f"{field}.request", request, dns_label(request))
    if key in seen:
        problems.append(duplicate(field, key))
    elif not request:
        problems += [duplicate(field, name) for other in seen if other.startswith(f"{name}/")]
    seen.add(key)


def claim_names(spec: Object) -> list[str]:
    """The claims of devices that containers of a pod may use."""
    return [claim["name"] for claim in spec.get("resourceClaims", ()) if claim["name"]]


def check_resize(problems: Problems, policies: Sequence[Object], spec: Object, field: str) -> None:
    seen: set[str] = set()
    for index, policy in enumerate(policies):
        resource, restart = policy["resourceName"], policy["restartPolicy"]
        if resource in seen:
            problems.append(duplicate(f"{field}[{index}]", resource))
        seen.add(resource)
        one_of(problems, resource, ("cpu", "memory"), field)
        one_of(problems, restart, ("NotRequired", "RestartContainer"), field)
        if spec["restartPolicy"] == "Never" and restart != "NotRequired":
            detail = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
            problems.append(invalid(field, restart, detail))
