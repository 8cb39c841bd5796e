"""Which built-in types live in a namespace, for the API versions that kustomize 5 knows.

Kinds that came later are missing on purpose: kustomize gives them a namespace, and so do we.
"""

_CLUSTER = """
admissionregistration.k8s.io/v1,v1beta1 MutatingWebhookConfiguration ValidatingWebhookConfiguration
apiextensions.k8s.io/v1,v1beta1 CustomResourceDefinition
apiregistration.k8s.io/v1,v1beta1 APIService
certificates.k8s.io/v1,v1beta1 CertificateSigningRequest
flowcontrol.apiserver.k8s.io/v1beta1 FlowSchema PriorityLevelConfiguration
networking.k8s.io/v1,v1beta1 IngressClass
node.k8s.io/v1,v1beta1 RuntimeClass
policy/v1beta1 PodSecurityPolicy
rbac.authorization.k8s.io/v1,v1beta1 ClusterRole ClusterRoleBinding
scheduling.k8s.io/v1,v1beta1 PriorityClass
storage.k8s.io/v1,v1beta1 CSIDriver CSINode StorageClass VolumeAttachment
/v1 ComponentStatus Namespace Node NodeProxyOptions PersistentVolume
"""

_NAMESPACED = """
apps/v1 ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet
autoscaling/v1 HorizontalPodAutoscaler Scale
autoscaling/v2beta1,v2beta2 HorizontalPodAutoscaler
batch/v1 CronJob Job
batch/v1beta1 CronJob
coordination.k8s.io/v1,v1beta1 Lease
discovery.k8s.io/v1,v1beta1 EndpointSlice
events.k8s.io/v1,v1beta1 Event
extensions/v1beta1 Ingress
networking.k8s.io/v1 Ingress NetworkPolicy
networking.k8s.io/v1beta1 Ingress
policy/v1,v1beta1 PodDisruptionBudget
rbac.authorization.k8s.io/v1,v1beta1 Role RoleBinding
storage.k8s.io/v1beta1 CSIStorageCapacity
/v1 ConfigMap Endpoints Event LimitRange PersistentVolumeClaim Pod PodAttachOptions PodExecOptions
/v1 PodPortForwardOptions PodProxyOptions PodTemplate ReplicationController ResourceQuota Secret Service
/v1 ServiceAccount ServiceProxyOptions
"""


def _types(lines: str, *, namespaced: bool) -> dict[tuple[str, str], bool]:
    found: dict[tuple[str, str], bool] = {}
    for line in lines.split("\n"):
        head, *kinds = line.split() or [""]
        group, _, versions = head.rpartition("/")
        for version in versions.split(","):
            api_version = f"{group}/{version}" if group else version
            found.update({(api_version, kind): namespaced for kind in kinds})
    return found


NAMESPACED = _types(_CLUSTER, namespaced=False) | _types(_NAMESPACED, namespaced=True)
