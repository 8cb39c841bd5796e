"""The kinds that take part, each with a maker of random objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.embedded.differential import gadgets, statuses, widgets, workloads
from tests.embedded.differential.making import LETTERS, NAMES, few, some, words
from tests.embedded.differential.sampled import either, like_sample

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from penstock.kube.resources import Object


@dataclass(frozen=True)
class Kind:
    """A kind that takes part, with a maker of random objects without metadata."""

    api_version: str
    kind: str
    plural: str
    make: Callable[[Random], Object]
    status: Callable[[Random], Object] | None = None
    scale: bool = False
    namespaced: bool = True
    sibling: Kind | None = None
    """The same objects in another version or group."""

    @property
    def custom(self) -> bool:
        return self.api_version.startswith("example.")


def _port(random: Random, name: str) -> Object:
    return {
        "name": name,
        "port": {"a": 80, "b": 443, "c": 8080}[name],
        **some(random, targetPort=(80, "web"), protocol="TCP"),
    }


def _service(random: Random) -> Object:
    return {
        "spec": {
            "ports": few(_port)(random),
            **some(
                random,
                selector=words("x", "y"),
                type=("ClusterIP", "NodePort"),
                sessionAffinity=("None", "ClientIP"),
                publishNotReadyAddresses=(True, False),
                internalTrafficPolicy=("Cluster", "Local"),
            ),
        }
    }


def _config_map(random: Random) -> Object:
    return some(random, data=words("1", "2", ""), binaryData=lambda each: {"d": each.choice(("YQ==", "Yg=="))})


def _secret(random: Random) -> Object:
    return some(
        random,
        data=lambda each: {name: each.choice(("YQ==", "Yg==")) for name in each.sample(LETTERS, 2)},
        type="Opaque",
    )


def _rule(random: Random, name: str) -> Object:
    return {
        "host": f"{name}.example.com",
        "http": {
            "paths": [
                {
                    "path": f"/{path}",
                    "pathType": random.choice(("Prefix", "Exact")),
                    "backend": {"service": {"name": random.choice(NAMES), "port": {"number": 80}}},
                }
                for path in random.sample(LETTERS, random.randint(1, 2))
            ]
        },
    }


def _ingress(random: Random) -> Object:
    return {
        "spec": {
            "rules": few(_rule)(random),
            **some(
                random,
                ingressClassName=("nginx", "other"),
                tls=([{"hosts": ["a.example.com"], "secretName": "a"}], [{"hosts": ["b.example.com"]}]),
                defaultBackend={"service": {"name": "web", "port": {"name": "http"}}},
            ),
        }
    }


def _policy_rule(random: Random, name: str) -> Object:
    return {
        "apiGroups": [random.choice(("", "apps"))],
        "resources": [{"a": "pods", "b": "secrets", "c": "deployments"}[name]],
        "verbs": random.choice((["get"], ["get", "list"], ["*"])),
    }


def _role(random: Random) -> Object:
    return {"rules": few(_policy_rule)(random)}


def _subject(random: Random, name: str) -> Object:
    return random.choice(
        (
            {"kind": "User", "name": name, "apiGroup": "rbac.authorization.k8s.io"},
            {"kind": "ServiceAccount", "name": name, "namespace": "default"},
        )
    )


def _role_binding(random: Random) -> Object:
    return {
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "web"},
        **some(random, subjects=few(_subject)),
    }


def _network_policy(random: Random) -> Object:
    peers: tuple[Object, ...] = (
        {"podSelector": {"matchLabels": {"a": "b"}}},
        {"namespaceSelector": {}},
        {"ipBlock": {"cidr": "10.0.0.0/8"}},
    )
    return {
        "spec": {
            "podSelector": random.choice(({}, {"matchLabels": {"app": "web"}})),
            **some(
                random,
                ingress=lambda each: [{"from": [each.choice(peers)], **some(each, ports=[{"port": 80}])}],
                egress=lambda each: [{"to": [each.choice(peers)]}],
                policyTypes=(["Ingress"], ["Ingress", "Egress"]),
            ),
        }
    }


def _service_account(random: Random) -> Object:
    return some(
        random,
        automountServiceAccountToken=(True, False),
        imagePullSecrets=few(lambda _, name: {"name": name}),
        secrets=few(lambda _, name: {"name": name}),
    )


def _claim(random: Random) -> Object:
    return {
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": random.choice(("1Gi", "1024Mi"))}},
            **some(random, storageClassName="fast", volumeMode="Filesystem"),
        }
    }


def _autoscaler(random: Random) -> Object:
    return {
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "maxReplicas": random.choice((3, 5)),
            **some(
                random,
                minReplicas=(1, 2),
                metrics=lambda each: [
                    {
                        "type": "Resource",
                        "resource": {
                            "name": "cpu",
                            "target": {"type": "Utilization", "averageUtilization": each.choice((50, 80))},
                        },
                    }
                ],
            ),
        }
    }


def _disruption_budget(random: Random) -> Object:
    return {
        "spec": {
            "selector": workloads.SELECTOR,
            **some(random, minAvailable=(1, "50%"), unhealthyPodEvictionPolicy="AlwaysAllow"),
        }
    }


def _priority_class(random: Random) -> Object:
    return {
        "value": 10,
        **some(random, description=("x", "y"), globalDefault=False, preemptionPolicy="PreemptLowerPriority"),
    }


def _quota(random: Random) -> Object:
    return {
        "spec": {
            "hard": {
                name: random.choice(("1", "2", "0.5k")) for name in random.sample(("pods", "services", "secrets"), 2)
            }
        }
    }


def _old_autoscaler(random: Random) -> Object:
    return {
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "maxReplicas": random.choice((3, 5)),
            **some(random, minReplicas=(1, 2), targetCPUUtilizationPercentage=(50, 80)),
        }
    }


_ABOUT = {"kind": "Pod", "name": "x", "namespace": "{namespace}"}
_NEW_GADGET = Kind("example.penstock.dev/v2", "Gadget", "gadgets", gadgets.gadget, widgets.status, scale=True)
_OLD_AUTOSCALER = Kind(
    "autoscaling/v1", "HorizontalPodAutoscaler", "horizontalpodautoscalers", _old_autoscaler, statuses.autoscaler
)
_NEW_EVENT = Kind("events.k8s.io/v1", "Event", "events", like_sample("events.k8s.io/v1", "Event", regarding=_ABOUT))


def _rich(api_version: str, kind: str, plural: str, make: Callable[[Random], Object], *more: Any, **flags: Any) -> Kind:
    """A kind with both a maker and a sample."""
    return Kind(api_version, kind, plural, either(make, like_sample(api_version, kind)), *more, **flags)


def _sampled(api_version: str, kind: str, plural: str, *more: Any, **flags: Any) -> Kind:
    return Kind(api_version, kind, plural, like_sample(api_version, kind), *more, **flags)


def _everywhere(api_version: str, kind: str, plural: str, *more: Any) -> Kind:
    return _sampled(api_version, kind, plural, *more, namespaced=False)


_APPS, _RBAC, _NETWORKING = "apps/v1", "rbac.authorization.k8s.io/v1", "networking.k8s.io/v1"
_ADMISSION, _STORAGE = "admissionregistration.k8s.io/v1", "storage.k8s.io/v1"

KINDS = (
    _rich(_APPS, "Deployment", "deployments", workloads.deployment, workloads.status, scale=True),
    _rich(_APPS, "StatefulSet", "statefulsets", workloads.stateful_set, workloads.status, scale=True),
    _rich(_APPS, "DaemonSet", "daemonsets", workloads.daemon_set, statuses.daemon_set),
    _rich("batch/v1", "Job", "jobs", workloads.job, statuses.job),
    _rich("batch/v1", "CronJob", "cronjobs", workloads.cron_job, statuses.cron_job),
    Kind("v1", "Service", "services", _service, statuses.service),
    Kind("v1", "ConfigMap", "configmaps", _config_map),
    Kind("v1", "Secret", "secrets", _secret),
    Kind("v1", "ServiceAccount", "serviceaccounts", _service_account),
    _rich("v1", "PersistentVolumeClaim", "persistentvolumeclaims", _claim, statuses.claim),
    _rich("v1", "ResourceQuota", "resourcequotas", _quota, statuses.quota),
    _rich(_NETWORKING, "Ingress", "ingresses", _ingress, statuses.service),
    _rich(_NETWORKING, "NetworkPolicy", "networkpolicies", _network_policy),
    _rich(_RBAC, "Role", "roles", _role),
    _rich(_RBAC, "RoleBinding", "rolebindings", _role_binding),
    _sampled("autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", statuses.autoscaler),
    # The older version keeps what it has no field for in annotations, which the embedded server does not.
    Kind(
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
        _autoscaler,
        statuses.autoscaler,
        sibling=_OLD_AUTOSCALER,
    ),
    _rich("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", _disruption_budget, statuses.budget),
    Kind("scheduling.k8s.io/v1", "PriorityClass", "priorityclasses", _priority_class, namespaced=False),
    Kind("example.penstock.dev/v1", "Widget", "widgets", widgets.widget, widgets.status, scale=True),
    Kind(
        "example.penstock.dev/v1",
        "Gadget",
        "gadgets",
        gadgets.gadget,
        widgets.status,
        scale=True,
        sibling=_NEW_GADGET,
    ),
    Kind("v1", "Pod", "pods", either(workloads.pod, like_sample("v1", "Pod")), statuses.pod),
    _sampled("v1", "PodTemplate", "podtemplates"),
    _sampled(_APPS, "ReplicaSet", "replicasets", workloads.status, scale=True),
    _sampled("v1", "ReplicationController", "replicationcontrollers", workloads.status, scale=True),
    _sampled(_APPS, "ControllerRevision", "controllerrevisions"),
    _sampled("coordination.k8s.io/v1", "Lease", "leases"),
    _sampled("discovery.k8s.io/v1", "EndpointSlice", "endpointslices"),
    _sampled("v1", "Endpoints", "endpoints"),
    Kind("v1", "Event", "events", like_sample("v1", "Event", involvedObject=_ABOUT), sibling=_NEW_EVENT),
    _everywhere(_NETWORKING, "IngressClass", "ingressclasses"),
    _everywhere(_RBAC, "ClusterRole", "clusterroles"),
    _everywhere(_RBAC, "ClusterRoleBinding", "clusterrolebindings"),
    _everywhere("v1", "PersistentVolume", "persistentvolumes", statuses.volume),
    _everywhere(_STORAGE, "StorageClass", "storageclasses"),
    _everywhere(_STORAGE, "CSIDriver", "csidrivers"),
    _everywhere("node.k8s.io/v1", "RuntimeClass", "runtimeclasses"),
    _everywhere("v1", "Node", "nodes", statuses.node),
    _everywhere(_ADMISSION, "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings"),
    _everywhere(_ADMISSION, "ValidatingWebhookConfiguration", "validatingwebhookconfigurations"),
    _everywhere(_ADMISSION, "MutatingWebhookConfiguration", "mutatingwebhookconfigurations"),
)
