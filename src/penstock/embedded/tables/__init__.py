"""Server-side tables: the columns that people know from `kubectl get`, for built-in and custom resources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.embedded.tables import cluster, custom, network, pods, workloads
from penstock.embedded.tables.columns import definitions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.embedded.server.ports import Context, Plugins, ServedResource
    from penstock.kube.resources import Object

__all__ = ["install"]

ROWS: dict[str, Callable[[Object, float], list[Any]]] = {
    "/configmaps": cluster.config_map,
    "/endpoints": network.endpoints,
    "/events": cluster.event,
    "/namespaces": cluster.namespace,
    "/nodes": cluster.node,
    "/persistentvolumeclaims": cluster.claim,
    "/persistentvolumes": cluster.volume,
    "/pods": pods.cells,
    "/podtemplates": workloads.pod_template,
    "/replicationcontrollers": workloads.replica_set,
    "/resourcequotas": cluster.quota,
    "/secrets": cluster.secret,
    "/serviceaccounts": cluster.plain,
    "/services": network.service,
    "apiregistration.k8s.io/apiservices": cluster.api_service,
    "apps/controllerrevisions": cluster.revision,
    "apps/daemonsets": workloads.daemon_set,
    "apps/deployments": workloads.deployment,
    "apps/replicasets": workloads.replica_set,
    "apps/statefulsets": workloads.stateful_set,
    "events.k8s.io/events": cluster.event,
    "autoscaling/horizontalpodautoscalers": workloads.autoscaler,
    "batch/cronjobs": workloads.cron_job,
    "batch/jobs": workloads.job,
    "certificates.k8s.io/certificatesigningrequests": cluster.signing_request,
    "networking.k8s.io/ingressclasses": network.ingress_class,
    "networking.k8s.io/ingresses": network.ingress,
    "networking.k8s.io/ipaddresses": network.ip_address,
    "networking.k8s.io/networkpolicies": network.network_policy,
    "networking.k8s.io/servicecidrs": network.service_cidr,
    "policy/poddisruptionbudgets": workloads.disruption_budget,
    "rbac.authorization.k8s.io/clusterrolebindings": cluster.binding,
    "rbac.authorization.k8s.io/rolebindings": cluster.binding,
    "storage.k8s.io/csidrivers": cluster.csi_driver,
    "storage.k8s.io/csinodes": cluster.csi_node,
    "storage.k8s.io/storageclasses": cluster.storage_class,
    "storage.k8s.io/volumeattachments": cluster.attachment,
    "storage.k8s.io/volumeattributesclasses": cluster.attributes_class,
    "admissionregistration.k8s.io/mutatingadmissionpolicies": cluster.admission_policy,
    "admissionregistration.k8s.io/mutatingadmissionpolicybindings": cluster.admission_binding,
    "admissionregistration.k8s.io/mutatingwebhookconfigurations": cluster.webhooks,
    "admissionregistration.k8s.io/validatingadmissionpolicies": cluster.admission_policy,
    "admissionregistration.k8s.io/validatingadmissionpolicybindings": cluster.admission_binding,
    "admissionregistration.k8s.io/validatingwebhookconfigurations": cluster.webhooks,
    "scheduling.k8s.io/priorityclasses": cluster.priority_class,
    "coordination.k8s.io/leases": cluster.lease,
    "node.k8s.io/runtimeclasses": cluster.runtime_class,
    "discovery.k8s.io/endpointslices": network.endpoint_slice,
    "resource.k8s.io/deviceclasses": cluster.plain,
    "resource.k8s.io/resourceclaims": cluster.resource_claim,
    "resource.k8s.io/resourceclaimtemplates": cluster.plain,
    "resource.k8s.io/resourceslices": cluster.resource_slice,
    "flowcontrol.apiserver.k8s.io/flowschemas": cluster.flow_schema,
    "flowcontrol.apiserver.k8s.io/prioritylevelconfigurations": cluster.priority_level,
}


class KnownTables:
    """Tables for all resources; those without columns of their own show name and time of creation."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now

    def columns(self, resource: ServedResource) -> Sequence[Object]:
        if resource.custom:
            return custom.columns(resource.columns)
        return definitions(f"{resource.group}/{resource.plural}")

    def cells(self, resource: ServedResource, obj: Object) -> Sequence[Any]:
        if resource.custom:
            return custom.cells(obj, resource.columns, self._now())
        row = ROWS.get(f"{resource.group}/{resource.plural}")
        if row is None:
            metadata = obj["metadata"]
            return [metadata["name"], metadata.get("creationTimestamp")]
        return row(obj, self._now())

    def conditions(self, resource: ServedResource, obj: Object) -> Sequence[Object]:
        return pods.conditions(obj) if resource.kind == "Pod" and not resource.group else ()


def install(plugins: Plugins, context: Context) -> None:
    """Answer clients that ask for tables."""
    plugins.tables = KnownTables(context.now)
