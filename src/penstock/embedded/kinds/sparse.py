"""Kinds whose defaults and generations are known here, and little else: flow control, devices, definitions.

Their objects are stored as they come, once their types and metadata are right.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from penstock.embedded.kinds.decode import defaults
from penstock.embedded.kinds.rules import ClusterRules, Rules

if TYPE_CHECKING:
    from penstock.kube.resources import Object


@defaults("flowcontrol/v1.FlowSchemaSpec")
def _flow_schema(spec: Object) -> None:
    if not spec["matchingPrecedence"]:
        spec["matchingPrecedence"] = 1000


@defaults("flowcontrol/v1.ExemptPriorityLevelConfiguration")
def _exempt(level: Object) -> None:
    level.setdefault("nominalConcurrencyShares", 0)
    level.setdefault("lendablePercent", 0)


@defaults("flowcontrol/v1.LimitedPriorityLevelConfiguration")
def _limited(level: Object) -> None:
    if level["nominalConcurrencyShares"] is None:
        level["nominalConcurrencyShares"] = 30
    level.setdefault("lendablePercent", 0)


@defaults("flowcontrol/v1.QueuingConfiguration")
def _queuing(queuing: Object) -> None:
    for name, value in (("handSize", 8), ("queues", 64), ("queueLengthLimit", 50)):
        if not queuing[name]:
            queuing[name] = value


@defaults("resource/v1.ExactDeviceRequest", "resource/v1.DeviceSubRequest")
def _device_request(request: Object) -> None:
    if request.setdefault("allocationMode", "ExactCount") == "ExactCount":
        request.setdefault("count", 1)


class CountedRules(ClusterRules):
    """Cluster-scoped, with generations of the spec."""

    generation: ClassVar[tuple[str, ...]] = ("spec",)


class CountedStatusRules(CountedRules):
    """The same, with a status that only its subresource writes."""

    status: ClassVar[bool] = True


class StatusRules(Rules):
    """Namespaced, with a status and without generations."""

    status: ClassVar[bool] = True


class ClusterStatusRules(ClusterRules):
    """Cluster-scoped, with a status and without generations."""

    status: ClassVar[bool] = True
