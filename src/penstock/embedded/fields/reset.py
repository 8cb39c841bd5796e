"""Fields that a request cannot set, whatever it says: status on the object itself, spec on its status.

The server puts their old values back before it stores, so a request that mentions them does not own them.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from penstock.embedded.fields.sets import LEAF, recursive_difference

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.embedded.fields.sets import FieldSet

    Filter = Callable[[FieldSet], FieldSet]

_STATUS: FieldSet = {"f:status": LEAF}
_SPEC: FieldSet = {"f:spec": LEAF}
_SPEC_AND_METADATA: FieldSet = {"f:metadata": LEAF, "f:spec": LEAF}

# Kinds whose object and status reset just status and spec.
_USUAL = frozenset(
    {
        ("apps", "DaemonSet"),
        ("apps", "Deployment"),
        ("apps", "ReplicaSet"),
        ("apps", "StatefulSet"),
        ("autoscaling", "HorizontalPodAutoscaler"),
        ("batch", "CronJob"),
        ("batch", "Job"),
        ("apiextensions.k8s.io", "CustomResourceDefinition"),
        ("", "Namespace"),
        ("", "Node"),
        ("", "PersistentVolume"),
        ("", "PersistentVolumeClaim"),
        ("", "Pod"),
        ("", "ReplicationController"),
        ("", "ResourceQuota"),
        ("", "Service"),
        ("networking.k8s.io", "Ingress"),
        ("policy", "PodDisruptionBudget"),
    }
)
_STATUS_RESETS_METADATA = frozenset(
    {
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
        ("apiregistration.k8s.io", "APIService"),
        ("flowcontrol.apiserver.k8s.io", "FlowSchema"),
        ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"),
        ("networking.k8s.io", "ServiceCIDR"),
        ("resource.k8s.io", "ResourceClaim"),
        ("storage.k8s.io", "VolumeAttachment"),
    }
)
_SPECIAL: dict[tuple[str, str, str], FieldSet] = {
    ("apps", "Deployment", "status"): {"f:spec": LEAF, "f:metadata": {"f:labels": LEAF}},
    ("", "Pod", "status"): {
        "f:spec": LEAF,
        "f:metadata": {"f:deletionTimestamp": LEAF, "f:ownerReferences": LEAF},
    },
    ("", "Namespace", "finalize"): _STATUS,
    ("certificates.k8s.io", "CertificateSigningRequest", ""): {"f:spec": LEAF, "f:status": LEAF},
    ("certificates.k8s.io", "CertificateSigningRequest", "status"): {
        "f:spec": LEAF,
        "f:status": {"f:conditions": LEAF},
    },
    ("certificates.k8s.io", "CertificateSigningRequest", "approval"): {
        "f:spec": LEAF,
        "f:status": {"f:certificate": LEAF},
    },
}


def reset_fields(group: str, kind: str, subresource: str = "") -> FieldSet:
    """What a request to this path of a built-in kind resets."""
    if (group, kind, subresource) in _SPECIAL:
        return _SPECIAL[group, kind, subresource]
    usual = (group, kind) in _USUAL
    with_metadata = (group, kind) in _STATUS_RESETS_METADATA
    if subresource == "":
        return _STATUS if usual or with_metadata else {}
    if subresource == "status":
        return _SPEC if usual else _SPEC_AND_METADATA if with_metadata else {}
    return {}


def custom_reset_fields(subresource: str = "", *, has_status: bool) -> FieldSet:
    """The same for a custom resource, with or without a status subresource."""
    if subresource == "status":
        return _SPEC_AND_METADATA
    return _STATUS if has_status and subresource == "" else {}


@cache
def kept(group: str, kind: str, subresource: str) -> Filter:
    """A filter that takes the reset fields of a built-in kind out of a set."""
    return without(reset_fields(group, kind, subresource))


def without(resets: FieldSet) -> Filter:
    """A filter that takes these fields and all below them out of a set."""
    return lambda fields: recursive_difference(fields, resets)
