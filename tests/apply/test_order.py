"""The order of kinds and stages."""

from __future__ import annotations

import random

import pytest

from penstock.apply.order import Stage, apply_order, stage
from penstock.apply.plan import steps
from penstock.kube import GroupKind, ObjectRef
from penstock.kube.resources import CONFIG_MAPS
from tests.apply.world import obj

RBAC = "rbac.authorization.k8s.io"
KINDS = (
    *("CustomResourceDefinition", "Namespace", "ClusterRole", "ClusterClass", "RuntimeClass", "PriorityClass"),
    *("StorageClass", "VolumeSnapshotClass", "IngressClass", "GatewayClass", "ClusterRoleBinding", "ResourceQuota"),
    *("ServiceAccount", "Role", "RoleBinding", "ConfigMap", "Secret", "Service", "LimitRange", "Deployment"),
    *("StatefulSet", "CronJob", "PodDisruptionBudget", "Widget"),
    *("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"),
)


def test_kinds() -> None:
    refs = [ObjectRef("any", kind, "", "x") for kind in KINDS]
    shuffled = random.Random(3).sample(refs, len(refs))
    assert sorted(shuffled, key=apply_order) == refs


def test_ties_go_by_group_kind_namespace_and_name() -> None:
    refs = [
        ObjectRef("a", "Widget", "b", "b"),
        ObjectRef("b", "Gadget", "a", "a"),
        ObjectRef("b", "Widget", "a", "b"),
        ObjectRef("b", "Widget", "b", "a"),
    ]
    assert sorted(random.Random(5).sample(refs, len(refs)), key=apply_order) == refs


@pytest.mark.parametrize(
    ("group", "kind", "expected"),
    [
        ("apiextensions.k8s.io", "CustomResourceDefinition", Stage.DEFINITIONS),
        ("", "Namespace", Stage.DEFINITIONS),
        ("", "namespace", Stage.DEFINITIONS),
        ("servicebus.azure.com", "Namespace", Stage.REST),
        (RBAC, "ClusterRole", Stage.DEFINITIONS),
        (RBAC, "ClusterRoleBinding", Stage.REST),
        ("storage.k8s.io", "StorageClass", Stage.CLASSES),
        ("example.com", "FooClass", Stage.CLASSES),
        (RBAC, "Role", Stage.CUSTOM),
        ("example.com", "Role", Stage.REST),
        ("apps", "Deployment", Stage.REST),
    ],
)
def test_stages(group: str, kind: str, expected: Stage) -> None:
    assert stage(ObjectRef(group, kind, "", "x"), {GroupKind(RBAC, "Role")}) is expected


def test_of_two_with_one_identity_the_later_one_counts() -> None:
    (step,) = steps([obj(CONFIG_MAPS, "x", "a", data={"v": "1"}), obj(CONFIG_MAPS, "x", "a", data={"v": "2"})])
    assert step.desired["data"] == {"v": "2"}
