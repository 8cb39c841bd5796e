"""What a set brings by itself: an object that the server refuses now may be fine once an earlier stage is there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from penstock.apply.order import Stage
from penstock.apply.plan import Refused, Settled, Write
from penstock.kube.errors import (
    DiscoveryUnknown,
    Forbidden,
    Invalid,
    NamespaceTerminating,
    NoMatch,
    NotFound,
    NotServed,
)
from penstock.kube.resources import GroupKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from penstock.apply.plan import Step
    from penstock.kube.errors import KubeError

_RBAC = "rbac.authorization.k8s.io"


class Providers:
    """The objects of a set that others may be waiting for."""

    def __init__(self, steps: Iterable[Step]) -> None:
        self._steps = [step for step in steps if step.stage is not Stage.REST]
        self._kinds = {kind for step in self._steps if not _is_skipped(step) for kind in defined(step)}
        self._changing = {
            GroupKind(_group(version), kind) for step in self._brought() for version, kind in defined(step)
        }

    def explain(self, step: Step, error: KubeError) -> bool:
        """Whether an earlier stage of the set may make the error go away."""
        kind = (str(step.desired.get("apiVersion")), step.ref.kind)
        match error:
            case NoMatch() | DiscoveryUnknown() | NotServed():
                return kind in self._kinds
            case NamespaceTerminating():
                return False
            case NotFound() if error.status.kind == "namespaces":
                return self._brings_namespace(error.status.name)
            case NotFound():
                return self._names(step, str(error))
            case Forbidden():
                return (
                    kind in self._kinds
                    or self._brings_namespace(step.ref.namespace)
                    or self._names(step, str(error))
                    or any(other.ref.group == _RBAC for other in self._before(step))
                )
            case Invalid():
                return step.ref.group_kind in self._changing
            case _:
                return False

    def _brought(self) -> Iterator[Step]:
        """What is not there yet, or not as it will be."""
        return (step for step in self._steps if not isinstance(step.outcome, Settled))

    def _before(self, step: Step) -> Iterator[Step]:
        return (other for other in self._brought() if other.stage < step.stage)

    def _brings_namespace(self, name: str) -> bool:
        return any(other.ref.kind == "Namespace" and other.ref.name == name for other in self._brought())

    def _names(self, step: Step, message: str) -> bool:
        """Whether the message is about an object that an earlier stage creates, such as a Role or a PriorityClass."""
        return any(
            re.search(rf"(?<![\w.-]){re.escape(other.ref.name)}(?![\w.-])", message) is not None
            for other in self._before(step)
            if isinstance(other.outcome, Refused)
            or (isinstance(other.outcome, Write) and other.outcome.action == "created")
        )


def defined(step: Step) -> list[tuple[str, str]]:
    """The kinds, as apiVersion and kind, that a CRD brings."""
    if step.ref.kind != "CustomResourceDefinition":
        return []
    spec = step.desired.get("spec") or {}
    kind = (spec.get("names") or {}).get("kind") or ""
    return [(f"{spec.get('group')}/{one.get('name')}", kind) for one in spec.get("versions") or () if one.get("served")]


def cluster_scoped(steps: Iterable[Step]) -> set[GroupKind]:
    """The kinds that CRDs of the set define outside of namespaces."""
    return {
        GroupKind(_group(version), kind)
        for step in steps
        if (step.desired.get("spec") or {}).get("scope") == "Cluster"
        for version, kind in defined(step)
    }


def _is_skipped(step: Step) -> bool:
    return isinstance(step.outcome, Settled) and step.outcome.change.action == "skipped"


def _group(api_version: str) -> str:
    return api_version.rpartition("/")[0]
