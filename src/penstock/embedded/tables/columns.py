"""The columns of every resource that has some of its own, as the real server names them.

A column is its name; after it `:i`, `:b` or `:d` for integers, booleans and dates, and `+` when it is shown only with
`-o wide`.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.kube.resources import Object

_TYPES = {"i": "integer", "b": "boolean", "d": "date"}
DEFAULT = "Name|Created At:d"
_NAMING = ("Name", "Attacher")

_EVENTS = "Last Seen|Type|Reason|Object|Subobject+|Source+|Message|First Seen+|Count+|Name+"
_BINDINGS = "Name|Role|Age|Users+|Groups+|ServiceAccounts+"
_REPLICAS = "Name|Desired:i|Current:i|Ready:i|Age|Containers+|Images+|Selector+"
_AUTOSCALERS = "Name|Reference|Targets|MinPods|MaxPods|Replicas|Age"

COLUMNS: dict[str, str] = {
    "/configmaps": "Name|Data|Age",
    "/endpoints": "Name|Endpoints|Age",
    "/events": _EVENTS,
    "/namespaces": "Name|Status|Age",
    "/nodes": ("Name|Status|Roles|Age|Version|Internal-IP+|External-IP+|OS-Image+|Kernel-Version+|Container-Runtime+"),
    "/persistentvolumeclaims": (
        "Name|Status|Volume|Capacity|Access Modes|StorageClass|VolumeAttributesClass|Age|VolumeMode+"
    ),
    "/persistentvolumes": (
        "Name|Capacity|Access Modes|Reclaim Policy|Status|Claim|StorageClass|VolumeAttributesClass|Reason|Age"
        "|VolumeMode+"
    ),
    "/pods": "Name|Ready|Status|Restarts|Age|IP+|Node+|Nominated Node+|Readiness Gates+",
    "/podtemplates": "Name|Containers|Images|Pod Labels",
    "/replicationcontrollers": _REPLICAS,
    "/resourcequotas": "Name|Request|Limit|Age",
    "/secrets": "Name|Type|Data|Age",
    "/serviceaccounts": "Name|Age",
    "/services": "Name|Type|Cluster-IP|External-IP|Port(s)|Age|Selector+",
    "apiregistration.k8s.io/apiservices": "Name|Service|Available|Age",
    "apps/controllerrevisions": "Name|Controller|Revision|Age",
    "apps/daemonsets": (
        "Name|Desired:i|Current:i|Ready:i|Up-to-date:i|Available:i|Node Selector|Age|Containers+|Images+|Selector+"
    ),
    "apps/deployments": "Name|Ready|Up-to-date|Available|Age|Containers+|Images+|Selector+",
    "apps/replicasets": _REPLICAS,
    "apps/statefulsets": "Name|Ready|Age|Containers+|Images+",
    "events.k8s.io/events": _EVENTS,
    "autoscaling/horizontalpodautoscalers": _AUTOSCALERS,
    "batch/cronjobs": "Name|Schedule|Timezone|Suspend:b|Active:i|Last Schedule|Age|Containers+|Images+|Selector+",
    "batch/jobs": "Name|Status|Completions|Duration|Age|Containers+|Images+|Selector+",
    "certificates.k8s.io/certificatesigningrequests": "Name|Age|SignerName|Requestor|RequestedDuration|Condition",
    "networking.k8s.io/ingressclasses": "Name|Controller|Parameters|Age",
    "networking.k8s.io/ingresses": "Name|Class|Hosts|Address|Ports|Age",
    "networking.k8s.io/ipaddresses": "Name|ParentRef",
    "networking.k8s.io/networkpolicies": "Name|Pod-Selector|Age",
    "networking.k8s.io/servicecidrs": "Name|CIDRs|Age",
    "policy/poddisruptionbudgets": "Name|Min Available|Max Unavailable|Allowed Disruptions:i|Age",
    "rbac.authorization.k8s.io/clusterrolebindings": _BINDINGS,
    "rbac.authorization.k8s.io/rolebindings": _BINDINGS,
    "storage.k8s.io/csidrivers": (
        "Name|AttachRequired:b|PodInfoOnMount:b|StorageCapacity:b|TokenRequests|RequiresRepublish:b|Modes|Age"
    ),
    "storage.k8s.io/csinodes": "Name|Drivers:i|Age",
    "storage.k8s.io/storageclasses": "Name|Provisioner|ReclaimPolicy|VolumeBindingMode|AllowVolumeExpansion|Age",
    "storage.k8s.io/volumeattachments": "Name|Attacher|PV|Node|Attached:b|Age",
    "storage.k8s.io/volumeattributesclasses": "Name|DriverName|Age",
    "admissionregistration.k8s.io/mutatingadmissionpolicies": "Name|Mutations:i|ParamKind|Age",
    "admissionregistration.k8s.io/mutatingadmissionpolicybindings": "Name|PolicyName|ParamRef|Age",
    "admissionregistration.k8s.io/mutatingwebhookconfigurations": "Name|Webhooks:i|Age",
    "admissionregistration.k8s.io/validatingadmissionpolicies": "Name|Validations:i|ParamKind|Age",
    "admissionregistration.k8s.io/validatingadmissionpolicybindings": "Name|PolicyName|ParamRef|Age",
    "admissionregistration.k8s.io/validatingwebhookconfigurations": "Name|Webhooks:i|Age",
    "scheduling.k8s.io/priorityclasses": "Name|Value:i|Global-Default:b|Age|PreemptionPolicy",
    "coordination.k8s.io/leases": "Name|Holder|Age",
    "node.k8s.io/runtimeclasses": "Name|Handler|Age",
    "discovery.k8s.io/endpointslices": "Name|AddressType|Ports|Endpoints|Age",
    "resource.k8s.io/deviceclasses": "Name|Age",
    "resource.k8s.io/resourceclaims": "Name|State|Age",
    "resource.k8s.io/resourceclaimtemplates": "Name|Age",
    "resource.k8s.io/resourceslices": "Name|Node|Driver|Pool|Age",
    "flowcontrol.apiserver.k8s.io/flowschemas": (
        "Name|PriorityLevel|MatchingPrecedence|DistinguisherMethod|Age|MissingPL"
    ),
    "flowcontrol.apiserver.k8s.io/prioritylevelconfigurations": (
        "Name|Type|NominalConcurrencyShares|Queues|HandSize|QueueLengthLimit|Age"
    ),
}


@cache
def definitions(path: str) -> tuple[Object, ...]:
    """The columnDefinitions of a resource, by `group/plural`."""
    return tuple(_definition(text) for text in COLUMNS.get(path, DEFAULT).split("|"))


def _definition(text: str) -> Object:
    wide = text.endswith("+")
    name, _, kind = text.removesuffix("+").partition(":")
    return definition(name, _TYPES.get(kind, "string"), priority=int(wide))


def definition(name: str, kind: str, *, form: str = "", description: str = "", priority: int = 0) -> Object:
    """One columnDefinition; the first column, Name, is the one that people click on."""
    return {
        "name": name,
        "type": kind,
        "format": "name" if name in _NAMING and not form else form,
        "description": description,
        "priority": priority,
    }
