"""The words for how an object is doing, and small readers for what objects say of themselves."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, cast

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.kube import Object


class HealthStatus(StrEnum):
    """How an object is doing, in the words that users of Flux know."""

    CURRENT = "Current"
    IN_PROGRESS = "InProgress"
    FAILED = "Failed"
    TERMINATING = "Terminating"
    NOT_FOUND = "NotFound"
    UNKNOWN = "Unknown"


class Health(NamedTuple):
    """How an object is doing, and why."""

    status: HealthStatus
    message: str = ""


class Condition(NamedTuple):
    """One entry of `status.conditions`."""

    type: str
    status: str
    reason: str
    message: str


def current(message: str) -> Health:
    return Health(HealthStatus.CURRENT, message)


def in_progress(message: str) -> Health:
    return Health(HealthStatus.IN_PROGRESS, message)


def failed(message: str) -> Health:
    return Health(HealthStatus.FAILED, message)


def part(obj: Object, name: str) -> Object:
    """A part of an object that is a map; empty when it is missing or something else."""
    value = obj.get(name)
    return cast("Object", value) if isinstance(value, dict) else {}


def number(values: Object, name: str, default: int) -> int:
    value = values.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def text(values: Object, name: str, default: str = "") -> str:
    value = values.get(name)
    return value if isinstance(value, str) else default


def conditions(obj: Object) -> Iterator[Condition]:
    """The conditions in their own order; what has another shape is left out."""
    found: Any = part(obj, "status").get("conditions")
    for one in found if isinstance(found, list) else ():
        if isinstance(one, dict):
            yield Condition(text(one, "type"), text(one, "status"), text(one, "reason"), text(one, "message"))


def condition(obj: Object, name: str) -> Condition | None:
    return next((one for one in conditions(obj) if one.type == name), None)
