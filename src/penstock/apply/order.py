"""In which order kinds are applied, and what has to be ready before the rest can follow."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from penstock.kube.resources import GroupKind, ObjectRef

if TYPE_CHECKING:
    from collections.abc import Collection

_FIRST = (
    *("CustomResourceDefinition", "Namespace", "ClusterRole", "ClusterClass", "RuntimeClass", "PriorityClass"),
    *("StorageClass", "VolumeSnapshotClass", "IngressClass", "GatewayClass", "ClusterRoleBinding", "ResourceQuota"),
    *("ServiceAccount", "Role", "RoleBinding", "ConfigMap", "Secret", "Service", "LimitRange", "Deployment"),
    *("StatefulSet", "CronJob", "PodDisruptionBudget"),
)
_LAST = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
_OTHERS = len(_FIRST)

_RANKS = {kind: rank for rank, kind in enumerate(_FIRST)} | {
    kind: rank for rank, kind in enumerate(_LAST, start=_OTHERS + 1)
}

_DEFINITIONS = frozenset(
    {
        ("apiextensions.k8s.io", "customresourcedefinition"),
        ("", "namespace"),
        ("rbac.authorization.k8s.io", "clusterrole"),
    }
)


class Stage(IntEnum):
    """What is applied together; a stage begins when the one before it is done."""

    DEFINITIONS = 1
    CLASSES = 2
    CUSTOM = 3
    REST = 4

    @property
    def waits(self) -> bool:
        """Whether its objects have to be Current before the next stage begins."""
        return self in (Stage.DEFINITIONS, Stage.CLASSES)


def rank(kind: str) -> int:
    """The place of a kind; its group does not matter."""
    return _RANKS.get(kind, _OTHERS)


def apply_order(ref: ObjectRef) -> tuple[int, str, str, str, str]:
    """The key by which objects are sorted for an apply; a delete goes the other way round."""
    return rank(ref.kind), ref.group, ref.kind, ref.namespace, ref.name


def stage(ref: ObjectRef, custom: Collection[GroupKind] = ()) -> Stage:
    """The stage of an object; `custom` are the kinds that the operator wants before the rest."""
    if (ref.group, ref.kind.lower()) in _DEFINITIONS:
        return Stage.DEFINITIONS
    if ref.kind.endswith("Class"):
        return Stage.CLASSES
    return Stage.CUSTOM if ref.group_kind in custom else Stage.REST


def parse_kinds(text: str) -> frozenset[GroupKind]:
    """Read a list such as `rbac.authorization.k8s.io/Role,ConfigMap`; without a group, the core group is meant."""
    parts = [item.strip().rpartition("/") for item in text.split(",") if item.strip()]
    return frozenset(GroupKind(group, kind) for group, _, kind in parts)
