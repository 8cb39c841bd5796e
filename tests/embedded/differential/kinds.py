"""The kinds that take part, each with a maker of random objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.embedded.differential import widgets, workloads
from tests.embedded.differential.making import LETTERS, NAMES, few, some, words

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


def _service_status(random: Random) -> Object:
    return {
        "status": some(random, loadBalancer=lambda each: {"ingress": [{"ip": each.choice(("10.1.2.3", "10.1.2.4"))}]})
    }


KINDS = (
    Kind("apps/v1", "Deployment", "deployments", workloads.deployment, workloads.status, scale=True),
    Kind("apps/v1", "StatefulSet", "statefulsets", workloads.stateful_set, workloads.status, scale=True),
    Kind("apps/v1", "DaemonSet", "daemonsets", workloads.daemon_set),
    Kind("batch/v1", "Job", "jobs", workloads.job),
    Kind("batch/v1", "CronJob", "cronjobs", workloads.cron_job),
    Kind("v1", "Service", "services", _service, _service_status),
    Kind("v1", "ConfigMap", "configmaps", _config_map),
    Kind("v1", "Secret", "secrets", _secret),
    Kind("v1", "ServiceAccount", "serviceaccounts", _service_account),
    Kind("v1", "PersistentVolumeClaim", "persistentvolumeclaims", _claim),
    Kind("v1", "ResourceQuota", "resourcequotas", _quota),
    Kind("networking.k8s.io/v1", "Ingress", "ingresses", _ingress, _service_status),
    Kind("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies", _network_policy),
    Kind("rbac.authorization.k8s.io/v1", "Role", "roles", _role),
    Kind("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings", _role_binding),
    Kind("autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", _autoscaler),
    Kind("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", _disruption_budget),
    Kind("scheduling.k8s.io/v1", "PriorityClass", "priorityclasses", _priority_class, namespaced=False),
    Kind("example.penstock.dev/v1", "Widget", "widgets", widgets.widget, widgets.status, scale=True),
)
