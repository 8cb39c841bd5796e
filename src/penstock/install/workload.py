"""What runs: the Deployment of the controllers, its service account, its Service, and who may talk to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.install.options import NAME

if TYPE_CHECKING:
    from penstock.install.options import InstallOptions
    from penstock.kube import Object

PORTS = {"artifacts": 9090, "metrics": 8080, "healthz": 9440}
USER = 65532
"""The user that the image is made for; no right of it is needed."""
SCRATCH = "/scratch"
"""Where temporary files go: nothing else of the image can be written."""
_SELECTOR = {"app": NAME}


def service_account(options: InstallOptions) -> Object:
    account: Object = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": _metadata(options)}
    if options.image_pull_secret:
        account["imagePullSecrets"] = [{"name": options.image_pull_secret}]
    return account


def service(options: InstallOptions) -> Object:
    """Where everybody in the cluster fetches artifacts."""
    port = {"name": "http", "port": 80, "protocol": "TCP", "targetPort": "artifacts"}
    spec = {"type": "ClusterIP", "selector": dict(_SELECTOR), "ports": [port]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": _metadata(options), "spec": spec}


def deployment(options: InstallOptions) -> Object:
    pod: Object = {
        "serviceAccountName": NAME,
        "terminationGracePeriodSeconds": 30,
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "securityContext": {"fsGroup": 1337},
        "containers": [_container(options)],
        "volumes": [{"name": "data", "emptyDir": {}}, {"name": "temp", "emptyDir": {}}],
    }
    annotations = {"prometheus.io/scrape": "true", "prometheus.io/port": str(PORTS["metrics"])}
    template = {"metadata": {"labels": {**options.labels(NAME), **_SELECTOR}, "annotations": annotations}, "spec": pod}
    spec: dict[str, Any] = {"replicas": options.replicas, "selector": {"matchLabels": dict(_SELECTOR)}}
    if options.replicas == 1:
        spec["strategy"] = {"type": "Recreate"}  # a second one would only wait for the lease of the first
    spec["template"] = template
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": _metadata(options), "spec": spec}


def network_policies(options: InstallOptions) -> list[Object]:
    """Out to everywhere; in only for artifacts from the own namespace, and for metrics."""
    egress = {
        "podSelector": {"matchLabels": dict(_SELECTOR)},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [{"from": [{"podSelector": {}}]}],
        "egress": [{}],
    }
    scraping = {
        "podSelector": {"matchLabels": dict(_SELECTOR)},
        "policyTypes": ["Ingress"],
        "ingress": [{"from": [{"namespaceSelector": {}}], "ports": [{"port": PORTS["metrics"], "protocol": "TCP"}]}],
    }
    return [_policy(options, f"{NAME}-traffic", egress), _policy(options, f"{NAME}-scraping", scraping)]


def _policy(options: InstallOptions, name: str, spec: Object) -> Object:
    metadata = _metadata(options) | {"name": name}
    return {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": metadata, "spec": spec}


def _container(options: InstallOptions) -> Object:
    security = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
        "runAsNonRoot": True,
        "runAsUser": USER,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    return {
        "name": "manager",
        "image": options.full_image,
        "imagePullPolicy": "IfNotPresent",
        "args": _arguments(options),
        "env": [
            _field("RUNTIME_NAMESPACE", "metadata.namespace"),
            _field("POD_NAME", "metadata.name"),
            _field("POD_IP", "status.podIP"),
            *({"name": name, "value": SCRATCH} for name in ("HOME", "TMPDIR")),
        ],
        "ports": [{"name": name, "containerPort": port, "protocol": "TCP"} for name, port in PORTS.items()],
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": "healthz"}},
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": "healthz"}},
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "1Gi"}},
        "securityContext": security,
        "volumeMounts": [{"name": "data", "mountPath": "/data"}, {"name": "temp", "mountPath": SCRATCH}],
    }


def _arguments(options: InstallOptions) -> list[str]:
    alone = options.replicas == 1
    # Of several replicas, each serves the artifacts that it made itself.
    where = f"{NAME}.$(RUNTIME_NAMESPACE).svc.{options.cluster_domain}." if alone else f"$(POD_IP):{PORTS['artifacts']}"
    tenancy = [
        "--no-cross-namespace-refs",
        "--no-remote-bases",
        "--default-service-account=default",
        "--tenant-reads",
    ]
    return [
        "controller",
        f"--components={','.join(options.components)}",
        f"--{'' if options.watch_all_namespaces else 'no-'}watch-all-namespaces",
        f"--log-level={options.log_level}",
        "--log-encoding=json",
        "--storage-path=/data",
        f"--storage-addr=:{PORTS['artifacts']}",
        f"--storage-adv-addr={where}",
        "--enable-leader-election" if alone else "--share-work",
        *(tenancy if options.multi_tenant else ()),
        *options.arguments,
    ]


def _metadata(options: InstallOptions) -> Object:
    return {"name": NAME, "namespace": options.namespace, "labels": options.labels(NAME)}


def _field(name: str, path: str) -> Object:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}
