"""Which rules a kind has."""

from __future__ import annotations

from functools import lru_cache

# The defaults of shared types register themselves.
from penstock.embedded.kinds import defaults as _defaults  # noqa: F401  # pyright: ignore[reportUnusedImport]
from penstock.embedded.kinds.apiservices import APIServiceRules
from penstock.embedded.kinds.autoscaling import AutoscalerRules
from penstock.embedded.kinds.claims import PersistentVolumeClaimRules
from penstock.embedded.kinds.config import ConfigMapRules, SecretRules
from penstock.embedded.kinds.cronjobs import CronJobRules
from penstock.embedded.kinds.deployments import DeploymentRules, ReplicaSetRules, ReplicationControllerRules
from penstock.embedded.kinds.endpoints import EndpointSliceRules, EndpointsRules
from penstock.embedded.kinds.events import EventRules, NewEventRules
from penstock.embedded.kinds.jobs import JobRules
from penstock.embedded.kinds.namespaces import (
    LimitRangeRules,
    NamespaceRules,
    ResourceQuotaRules,
    ServiceAccountRules,
)
from penstock.embedded.kinds.networking import IngressClassRules, IngressRules, NetworkPolicyRules
from penstock.embedded.kinds.nodes import NodeRules
from penstock.embedded.kinds.pods.rules import PodRules, PodTemplateRules
from penstock.embedded.kinds.policies import AdmissionPolicyBindingRules, AdmissionPolicyRules
from penstock.embedded.kinds.policy import DisruptionBudgetRules, LeaseRules, PriorityClassRules, RuntimeClassRules
from penstock.embedded.kinds.rbac import ClusterRoleBindingRules, ClusterRoleRules, RoleBindingRules, RoleRules
from penstock.embedded.kinds.registration import WebhookConfigurationRules
from penstock.embedded.kinds.rules import ClusterRules, Rules
from penstock.embedded.kinds.services import ServiceRules
from penstock.embedded.kinds.sets import ControllerRevisionRules, DaemonSetRules, StatefulSetRules
from penstock.embedded.kinds.sparse import ClusterStatusRules, CountedRules, CountedStatusRules, StatusRules
from penstock.embedded.kinds.storage import (
    CSIDriverRules,
    CSIStorageCapacityRules,
    PersistentVolumeRules,
    StorageClassRules,
    VolumeAttachmentRules,
)

_APPS, _RBAC, _STORAGE = "apps", "rbac.authorization.k8s.io", "storage.k8s.io"
_ADMISSION, _NETWORKING = "admissionregistration.k8s.io", "networking.k8s.io"

_RULES: dict[tuple[str, str], type[Rules]] = {
    ("", "ConfigMap"): ConfigMapRules,
    ("", "Endpoints"): EndpointsRules,
    ("", "Event"): EventRules,
    ("", "LimitRange"): LimitRangeRules,
    ("", "Namespace"): NamespaceRules,
    ("", "Node"): NodeRules,
    ("", "PersistentVolume"): PersistentVolumeRules,
    ("", "PersistentVolumeClaim"): PersistentVolumeClaimRules,
    ("", "Pod"): PodRules,
    ("", "PodTemplate"): PodTemplateRules,
    ("", "ReplicationController"): ReplicationControllerRules,
    ("", "ResourceQuota"): ResourceQuotaRules,
    ("", "Secret"): SecretRules,
    ("", "Service"): ServiceRules,
    ("", "ServiceAccount"): ServiceAccountRules,
    (_ADMISSION, "MutatingAdmissionPolicy"): AdmissionPolicyRules,
    (_ADMISSION, "MutatingAdmissionPolicyBinding"): AdmissionPolicyBindingRules,
    (_ADMISSION, "MutatingWebhookConfiguration"): WebhookConfigurationRules,
    (_ADMISSION, "ValidatingAdmissionPolicy"): AdmissionPolicyRules,
    (_ADMISSION, "ValidatingAdmissionPolicyBinding"): AdmissionPolicyBindingRules,
    (_ADMISSION, "ValidatingWebhookConfiguration"): WebhookConfigurationRules,
    ("apiregistration.k8s.io", "APIService"): APIServiceRules,
    (_APPS, "ControllerRevision"): ControllerRevisionRules,
    (_APPS, "DaemonSet"): DaemonSetRules,
    (_APPS, "Deployment"): DeploymentRules,
    (_APPS, "ReplicaSet"): ReplicaSetRules,
    (_APPS, "StatefulSet"): StatefulSetRules,
    ("autoscaling", "HorizontalPodAutoscaler"): AutoscalerRules,
    ("batch", "CronJob"): CronJobRules,
    ("batch", "Job"): JobRules,
    ("coordination.k8s.io", "Lease"): LeaseRules,
    ("discovery.k8s.io", "EndpointSlice"): EndpointSliceRules,
    ("events.k8s.io", "Event"): NewEventRules,
    (_NETWORKING, "Ingress"): IngressRules,
    (_NETWORKING, "IngressClass"): IngressClassRules,
    (_NETWORKING, "NetworkPolicy"): NetworkPolicyRules,
    ("node.k8s.io", "RuntimeClass"): RuntimeClassRules,
    ("policy", "PodDisruptionBudget"): DisruptionBudgetRules,
    (_RBAC, "ClusterRole"): ClusterRoleRules,
    (_RBAC, "ClusterRoleBinding"): ClusterRoleBindingRules,
    (_RBAC, "Role"): RoleRules,
    (_RBAC, "RoleBinding"): RoleBindingRules,
    ("scheduling.k8s.io", "PriorityClass"): PriorityClassRules,
    (_STORAGE, "CSIDriver"): CSIDriverRules,
    (_STORAGE, "CSIStorageCapacity"): CSIStorageCapacityRules,
    (_STORAGE, "StorageClass"): StorageClassRules,
    (_STORAGE, "VolumeAttachment"): VolumeAttachmentRules,
}


_SPARSE: dict[tuple[str, str], type[Rules]] = {
    ("apiextensions.k8s.io", "CustomResourceDefinition"): CountedStatusRules,
    ("certificates.k8s.io", "CertificateSigningRequest"): ClusterStatusRules,
    ("flowcontrol.apiserver.k8s.io", "FlowSchema"): CountedStatusRules,
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"): CountedStatusRules,
    (_NETWORKING, "IPAddress"): ClusterRules,
    (_NETWORKING, "ServiceCIDR"): ClusterStatusRules,
    ("resource.k8s.io", "DeviceClass"): CountedRules,
    ("resource.k8s.io", "ResourceClaim"): StatusRules,
    ("resource.k8s.io", "ResourceSlice"): CountedRules,
    (_STORAGE, "CSINode"): ClusterRules,
    (_STORAGE, "VolumeAttributesClass"): ClusterRules,
}


@lru_cache(None)
def rules(group: str, kind: str, *, namespaced: bool = True) -> Rules:
    """The rules of a kind; `namespaced` counts only for kinds that are not built in."""
    found = _RULES.get((group, kind)) or _SPARSE.get((group, kind))
    if found is not None:
        return found()
    return Rules() if namespaced else ClusterRules()
