"""Names and amounts of compute resources, as requests, limits and quotas have them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.embedded.kinds.names import qualified_name
from penstock.embedded.kinds.problems import NOT_NEGATIVE, Problems, each_invalid, invalid
from penstock.schema.quantity import parse

if TYPE_CHECKING:
    from collections.abc import Mapping

HUGE_PAGES = "hugepages-"
CONTAINER = frozenset({"cpu", "memory", "ephemeral-storage"})
_COUNTED = frozenset(
    {
        "pods",
        "resourcequotas",
        "services",
        "replicationcontrollers",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "services.nodeports",
        "services.loadbalancers",
    }
)
_QUOTA = _COUNTED | {
    *CONTAINER,
    "requests.cpu",
    "requests.memory",
    "requests.storage",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
}
_STANDARD = _QUOTA | {"storage"}


def is_huge_page(name: str) -> bool:
    return name.startswith(HUGE_PAGES)


def is_native(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


def is_extended(name: str) -> bool:
    if is_native(name) or name.startswith("requests."):
        return False
    return not qualified_name(f"requests.{name}")


def is_counted(name: str) -> bool:
    """Whether only whole numbers make sense."""
    return name in _COUNTED or is_extended(name)


def may_overcommit(name: str) -> bool:
    return is_native(name) and not is_huge_page(name)


def is_quota(name: str) -> bool:
    return name in _QUOTA or name.startswith((HUGE_PAGES, "requests.hugepages-"))


def check_name(problems: Problems, name: str, field: str) -> bool:
    """A resource name of any sort; false when it is no label key, so that callers say nothing more."""
    if words := qualified_name(name):
        problems += each_invalid(field, name, words)
        return False
    if "/" not in name and name not in _STANDARD and not name.startswith((HUGE_PAGES, "requests.hugepages-")):
        problems.append(invalid(field, name, "must be a standard resource type or fully qualified"))
    return True


def check_container_name(problems: Problems, name: str, field: str) -> None:
    check_name(problems, name, field)
    if "/" not in name:
        if name not in CONTAINER and not is_huge_page(name):
            problems.append(invalid(field, name, "must be a standard resource for containers"))
    elif not is_native(name) and not is_extended(name):
        problems.append(invalid(field, name, "doesn't follow extended resource name standard"))


def check_quota_name(problems: Problems, name: str, field: str) -> None:
    check_name(problems, name, field)
    if "/" not in name and not is_quota(name):
        problems.append(invalid(field, name, "must be a standard resource for quota"))


def check_amount(problems: Problems, name: str, amount: str, field: str) -> None:
    quantity = parse(amount)
    if quantity.nano < 0:
        problems.append(invalid(field, amount, NOT_NEGATIVE))
    if is_counted(name) and quantity.milli % 1000:
        problems.append(invalid(field, amount, "must be an integer"))


def check_quota_amounts(problems: Problems, amounts: Mapping[str, str], field: str) -> None:
    for name, amount in amounts.items():
        check_quota_name(problems, name, f"{field}[{name}]")
        check_amount(problems, name, amount, f"{field}[{name}]")
