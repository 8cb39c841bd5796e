"""The fields that kustomize's transformers change unless a configuration says otherwise.

A line is a path and the kinds it holds for; `POD/` stands for the way to the pod spec of the kind. A kind may
carry `@version`, `/group` and, when the field is made if missing, `+`; `*` is any kind.
"""

from collections.abc import Iterator

from penstock.kustomize.fieldspecs import FieldSpec, FieldSpecs
from penstock.kustomize.ids import Gvk

_TEMPLATED = "spec/template/spec"
_POD_SPECS = {
    "Pod": "spec",
    "PodTemplate": "template/spec",
    "CronJob": "spec/jobTemplate/spec/template/spec",
}
_PODS = "Pod@v1 PodTemplate Deployment ReplicaSet DaemonSet StatefulSet Job CronJob"
_ACCOUNTS = "Pod StatefulSet Deployment ReplicationController CronJob Job DaemonSet"
_RUNNING = "CronJob DaemonSet Deployment Job ReplicaSet StatefulSet Pod"
_TERM = "affinity/{0}/{1}DuringSchedulingIgnoredDuringExecution/{2}labelSelector/matchLabels"

NAMES = "metadata/name *"

NAMESPACES = """
metadata/name Namespace+
spec/service/namespace APIService/apiregistration.k8s.io+
spec/conversion/webhook/clientConfig/service/namespace CustomResourceDefinition/apiextensions.k8s.io
"""

TEMPLATE_LABELS = """
metadata/labels *+
spec/template/metadata/labels ReplicationController@v1+ Deployment+ ReplicaSet+ DaemonSet+
spec/template/metadata/labels StatefulSet/apps+ Job/batch+
spec/volumeClaimTemplates[]/metadata/labels StatefulSet/apps+
spec/jobTemplate/metadata/labels CronJob/batch+
spec/jobTemplate/spec/template/metadata/labels CronJob/batch+
"""

LABELS = (
    """
spec/selector Service@v1+ ReplicationController@v1+
spec/selector/matchLabels Deployment+ ReplicaSet+ DaemonSet+ StatefulSet/apps+
spec/selector/matchLabels Job/batch PodDisruptionBudget/policy
spec/jobTemplate/spec/selector/matchLabels CronJob/batch
spec/podSelector/matchLabels NetworkPolicy/networking.k8s.io
spec/ingress/from/podSelector/matchLabels NetworkPolicy/networking.k8s.io
spec/egress/to/podSelector/matchLabels NetworkPolicy/networking.k8s.io
POD/topologySpreadConstraints/labelSelector/matchLabels Deployment/apps StatefulSet/apps
"""
    + "".join(
        f"POD/{_TERM.format(affinity, *term)} Deployment/apps StatefulSet/apps\n"
        for affinity in ("podAffinity", "podAntiAffinity")
        for term in (("preferred", "podAffinityTerm/"), ("required", ""))
    )
    + TEMPLATE_LABELS
)

ANNOTATIONS = """
metadata/annotations *+
spec/template/metadata/annotations ReplicationController@v1+ Deployment+ ReplicaSet+ DaemonSet+
spec/template/metadata/annotations StatefulSet+ Job/batch+
spec/jobTemplate/metadata/annotations CronJob/batch+
spec/jobTemplate/spec/template/metadata/annotations CronJob/batch+
"""

REPLICAS = "spec/replicas Deployment+ ReplicationController+ ReplicaSet+ StatefulSet+"

IMAGES = """
spec/containers[]/image *+
spec/initContainers[]/image *+
spec/volumes[]/image/reference *+
spec/template/spec/containers[]/image *+
spec/template/spec/initContainers[]/image *+
spec/template/spec/volumes[]/image/reference *+
"""

NAME_REFERENCES = {
    "Deployment": "spec/scaleTargetRef/name HorizontalPodAutoscaler",
    "ReplicationController": "spec/scaleTargetRef/name HorizontalPodAutoscaler",
    "ReplicaSet": "spec/scaleTargetRef/name HorizontalPodAutoscaler",
    "StatefulSet": "spec/scaleTargetRef/name HorizontalPodAutoscaler",
    "ConfigMap@v1": rf"""
POD/volumes/configMap/name {_PODS}
POD/containers/env/valueFrom/configMapKeyRef/name {_PODS}
POD/initContainers/env/valueFrom/configMapKeyRef/name {_PODS}
POD/containers/envFrom/configMapRef/name {_PODS}
POD/initContainers/envFrom/configMapRef/name {_PODS}
POD/volumes/projected/sources/configMap/name {_PODS}
spec/configSource/configMap Node
rules/resourceNames Role ClusterRole
metadata/annotations/nginx.ingress.kubernetes.io\/fastcgi-params-configmap Ingress
""",
    "Secret@v1": rf"""
POD/volumes/secret/secretName {_PODS}
POD/containers/env/valueFrom/secretKeyRef/name {_PODS} Service@v1/serving.knative.dev
POD/initContainers/env/valueFrom/secretKeyRef/name {_PODS}
POD/containers/envFrom/secretRef/name {_PODS}
POD/initContainers/envFrom/secretRef/name {_PODS}
POD/imagePullSecrets/name {_PODS}
POD/volumes/projected/sources/secret/name {_PODS}
spec/tls/secretName Ingress
metadata/annotations/ingress.kubernetes.io\/auth-secret Ingress
metadata/annotations/nginx.ingress.kubernetes.io\/auth-secret Ingress
metadata/annotations/nginx.ingress.kubernetes.io\/auth-tls-secret Ingress
imagePullSecrets/name ServiceAccount
parameters/secretName StorageClass
parameters/adminSecretName StorageClass
parameters/userSecretName StorageClass
parameters/secretRef StorageClass
rules/resourceNames Role ClusterRole
spec/azureFile/secretName PersistentVolume
""",
    "Service@v1": """
spec/serviceName StatefulSet/apps
spec/rules/http/paths/backend/serviceName Ingress
spec/backend/serviceName Ingress
spec/rules/http/paths/backend/service/name Ingress
spec/defaultBackend/service/name Ingress
spec/service/name APIService/apiregistration.k8s.io
webhooks/clientConfig/service ValidatingWebhookConfiguration/admissionregistration.k8s.io
webhooks/clientConfig/service MutatingWebhookConfiguration/admissionregistration.k8s.io
""",
    "Role/rbac.authorization.k8s.io": "roleRef/name RoleBinding/rbac.authorization.k8s.io",
    "ClusterRole/rbac.authorization.k8s.io": """
roleRef/name RoleBinding/rbac.authorization.k8s.io ClusterRoleBinding/rbac.authorization.k8s.io
""",
    "ServiceAccount@v1": f"""
subjects RoleBinding/rbac.authorization.k8s.io ClusterRoleBinding/rbac.authorization.k8s.io
POD/serviceAccountName {_ACCOUNTS}
""",
    "PersistentVolumeClaim@v1": f"POD/volumes/persistentVolumeClaim/claimName {_ACCOUNTS}",
    "PersistentVolume@v1": """
spec/volumeName PersistentVolumeClaim
rules/resourceNames ClusterRole
""",
    "StorageClass@v1/storage.k8s.io": """
spec/storageClassName PersistentVolume PersistentVolumeClaim
spec/volumeClaimTemplates/spec/storageClassName StatefulSet
""",
    "PriorityClass@v1/scheduling.k8s.io": f"POD/priorityClassName {_ACCOUNTS}",
    # The version in the group is kustomize's own slip: no object matches it.
    "IngressClass@v1/networking.k8s.io/v1": "spec/ingressClassName Ingress",
    "ValidatingAdmissionPolicy/admissionregistration.k8s.io": """
spec/policyName ValidatingAdmissionPolicyBinding/admissionregistration.k8s.io
""",
}

VARIABLES = (
    "".join(
        f"POD/{containers}/{field} {_RUNNING}\n"
        for containers in ("containers", "initContainers")
        for field in ("args", "command", "env/value", "volumeMounts/mountPath")
    )
    + """
POD/volumes/nfs/server DaemonSet Deployment Job ReplicaSet Pod
spec/jobTemplate/spec/template/volumes/nfs/server CronJob
spec/template/metadata/annotations Deployment
spec/rules/host Ingress
spec/tls/hosts Ingress
spec/tls/secretName Ingress
spec/ports/port Service
spec/ports/targetPort Service
spec/volumeClaimTemplates/spec/nfs/server StatefulSet
spec/nfs/server PersistentVolume
metadata/labels *
metadata/annotations *
"""
)


def parse(table: str) -> FieldSpecs:
    """The field specs of a table."""
    return tuple(spec for line in table.splitlines() if line for spec in _line(line))


def parse_type(text: str) -> Gvk:
    """`Kind@version/group`."""
    kind, _, group = text.partition("/")
    kind, _, version = kind.partition("@")
    return Gvk(group, version, "" if kind == "*" else kind)


def _line(line: str) -> Iterator[FieldSpec]:
    path, *kinds = line.split(" ")
    for text in kinds:
        gvk = parse_type(text.removesuffix("+"))
        full = path.replace("POD", _POD_SPECS.get(gvk.kind, _TEMPLATED), 1) if path.startswith("POD/") else path
        yield FieldSpec(full, gvk.group, gvk.version, gvk.kind, create=text.endswith("+"))
