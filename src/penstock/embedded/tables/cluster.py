"""Rows of configuration, storage, access and the cluster itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.embedded.tables.durations import human, since
from penstock.embedded.tables.workloads import NONE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.kube.resources import Object

_MODES = (("ReadWriteOnce", "RWO"), ("ReadOnlyMany", "ROX"), ("ReadWriteMany", "RWX"), ("ReadWriteOncePod", "RWOP"))
_UNSET = "<unset>"


def age(obj: Object, now: float) -> str:
    return since(obj["metadata"].get("creationTimestamp"), now)


def _name(obj: Object) -> str:
    return str(obj["metadata"]["name"])


def plain(obj: Object, now: float) -> list[Any]:
    return [_name(obj), age(obj, now)]


def config_map(obj: Object, now: float) -> list[Any]:
    return [_name(obj), len(obj.get("data") or ()) + len(obj.get("binaryData") or ()), age(obj, now)]


def secret(obj: Object, now: float) -> list[Any]:
    return [_name(obj), obj.get("type", ""), len(obj.get("data") or ()), age(obj, now)]


def namespace(obj: Object, now: float) -> list[Any]:
    return [_name(obj), (obj.get("status") or {}).get("phase", ""), age(obj, now)]


def event(obj: Object, now: float) -> list[Any]:
    series: Object = obj.get("series") or {}
    about: Object = obj.get("involvedObject") or obj.get("regarding") or {}
    first = obj.get("firstTimestamp") or obj.get("deprecatedFirstTimestamp") or obj.get("eventTime")
    last = series.get("lastObservedTime") or obj.get("lastTimestamp") or obj.get("deprecatedLastTimestamp") or first
    count = series.get("count") or obj.get("count") or obj.get("deprecatedCount") or 1
    message = (obj.get("message") or obj.get("note") or "").strip()
    return [
        since(last, now),
        obj.get("type", ""),
        obj.get("reason", ""),
        f"{about.get('kind', '').lower()}/{about['name']}" if about.get("name") else about.get("kind", "").lower(),
        about.get("fieldPath", ""),
        _source(obj),
        message,
        since(first, now),
        count,
        _name(obj),
    ]


def _source(obj: Object) -> str:
    source: Object = obj.get("source") or obj.get("deprecatedSource") or {}
    component = source.get("component") or obj.get("reportingComponent") or obj.get("reportingController") or ""
    host = source.get("host") or obj.get("reportingInstance") or ""
    return ", ".join(part for part in (component, host) if part)


def node(obj: Object, now: float) -> list[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    info: Object = status.get("nodeInfo") or {}
    addresses: dict[str, str] = {each["type"]: each["address"] for each in reversed(status.get("addresses") or ())}
    words = [
        "Ready" if each["status"] == "True" else "NotReady"
        for each in status.get("conditions") or ()
        if each["type"] == "Ready"
    ] or ["Unknown"]
    if spec.get("unschedulable"):
        words.append("SchedulingDisabled")
    return [
        _name(obj),
        ",".join(words),
        _roles(obj["metadata"].get("labels") or {}),
        age(obj, now),
        info.get("kubeletVersion", ""),
        addresses.get("InternalIP", NONE),
        addresses.get("ExternalIP", NONE),
        info.get("osImage") or "<unknown>",
        info.get("kernelVersion") or "<unknown>",
        info.get("containerRuntimeVersion") or "<unknown>",
    ]


def _roles(labels: dict[str, str]) -> str:
    prefix = "node-role.kubernetes.io/"
    roles = {key.removeprefix(prefix) for key in labels if key.startswith(prefix)}
    if labels.get("kubernetes.io/role"):
        roles.add(labels["kubernetes.io/role"])
    return ",".join(sorted(roles - {""})) or NONE


def access_modes(modes: Sequence[str]) -> str:
    return ",".join(short for name, short in _MODES if name in modes)


def claim(obj: Object, now: float) -> list[Any]:
    spec, status = obj["spec"], obj.get("status") or {}
    bound = spec.get("volumeName", "")
    phase = "Terminating" if obj["metadata"].get("deletionTimestamp") else status.get("phase", "")
    return [
        _name(obj),
        phase,
        bound,
        (status.get("capacity") or {}).get("storage", "") if bound else "",
        access_modes(status.get("accessModes") or ()) if bound else "",
        _class(obj, "volume.beta.kubernetes.io/storage-class"),
        spec.get("volumeAttributesClassName") or _UNSET,
        age(obj, now),
        spec.get("volumeMode") or _UNSET,
    ]


def _class(obj: Object, annotation: str) -> str:
    annotations = obj["metadata"].get("annotations") or {}
    return str(annotations.get(annotation) or obj["spec"].get("storageClassName") or "")


def volume(obj: Object, now: float) -> list[Any]:
    spec, status = obj["spec"], obj.get("status") or {}
    reference: Object = spec.get("claimRef") or {}
    phase = "Terminating" if obj["metadata"].get("deletionTimestamp") else status.get("phase", "")
    return [
        _name(obj),
        (spec.get("capacity") or {}).get("storage", "0"),
        access_modes(spec.get("accessModes") or ()),
        spec.get("persistentVolumeReclaimPolicy", ""),
        phase,
        f"{reference.get('namespace', '')}/{reference['name']}" if reference.get("name") else "",
        _class(obj, "volume.beta.kubernetes.io/storage-class"),
        spec.get("volumeAttributesClassName") or _UNSET,
        status.get("reason", ""),
        age(obj, now),
        spec.get("volumeMode") or _UNSET,
    ]


def storage_class(obj: Object, now: float) -> list[Any]:
    annotations = obj["metadata"].get("annotations") or {}
    marks = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")
    default = " (default)" if any(annotations.get(mark) == "true" for mark in marks) else ""
    return [
        f"{_name(obj)}{default}",
        obj.get("provisioner", ""),
        obj.get("reclaimPolicy", "Delete"),
        obj.get("volumeBindingMode", "Immediate"),
        bool(obj.get("allowVolumeExpansion", False)),
        age(obj, now),
    ]


def quota(obj: Object, now: float) -> list[Any]:
    status: Object = obj.get("status") or {}
    hard, used = status.get("hard") or {}, status.get("used") or {}
    limits = [name for name in sorted(hard) if name.startswith("limits.")]
    requests = [name for name in sorted(hard) if not name.startswith("limits.")]
    told = [", ".join(f"{name}: {used.get(name, '0')}/{hard[name]}" for name in names) for names in (requests, limits)]
    return [_name(obj), *told, age(obj, now)]


def binding(obj: Object, now: float) -> list[Any]:
    role: Object = obj.get("roleRef") or {}
    named: dict[str, list[str]] = {"User": [], "Group": [], "ServiceAccount": []}
    for subject in obj.get("subjects") or ():
        space = f"{subject.get('namespace', '')}/" if subject["kind"] == "ServiceAccount" else ""
        named.setdefault(subject["kind"], []).append(f"{space}{subject['name']}")
    people = [", ".join(named[kind]) for kind in ("User", "Group", "ServiceAccount")]
    return [_name(obj), f"{role.get('kind', '')}/{role.get('name', '')}", age(obj, now), *people]


def api_service(obj: Object, now: float) -> list[Any]:
    service = (obj.get("spec") or {}).get("service")
    found = next(
        (each for each in (obj.get("status") or {}).get("conditions") or () if each["type"] == "Available"), None
    )
    available = "Unknown" if found is None else found["status"]
    if found is not None and found["status"] != "True":
        available = f"{found['status']} ({found.get('reason', '')})"
    return [_name(obj), f"{service['namespace']}/{service['name']}" if service else "Local", available, age(obj, now)]


def revision(obj: Object, now: float) -> list[Any]:
    owners = [each for each in obj["metadata"].get("ownerReferences") or () if each.get("controller")]
    controller = NONE
    if owners:
        group = owners[0]["apiVersion"].rpartition("/")[0]
        controller = f"{owners[0]['kind'].lower()}{'.' + group if group else ''}/{owners[0]['name']}"
    return [_name(obj), controller, obj.get("revision", 0), age(obj, now)]


def lease(obj: Object, now: float) -> list[Any]:
    return [_name(obj), (obj.get("spec") or {}).get("holderIdentity", ""), age(obj, now)]


def runtime_class(obj: Object, now: float) -> list[Any]:
    return [_name(obj), obj.get("handler", ""), age(obj, now)]


def priority_class(obj: Object, now: float) -> list[Any]:
    policy = obj.get("preemptionPolicy", "")
    return [_name(obj), obj.get("value", 0), bool(obj.get("globalDefault", False)), age(obj, now), policy]


def webhooks(obj: Object, now: float) -> list[Any]:
    return [_name(obj), len(obj.get("webhooks") or ()), age(obj, now)]


def admission_policy(obj: Object, now: float) -> list[Any]:
    spec: Object = obj.get("spec") or {}
    kind: Object | None = spec.get("paramKind")
    count = len(spec.get("validations") or spec.get("mutations") or ())
    return [_name(obj), count, f"{kind['apiVersion']}/{kind['kind']}" if kind else _UNSET, age(obj, now)]


def admission_binding(obj: Object, now: float) -> list[Any]:
    spec: Object = obj.get("spec") or {}
    reference: Object | None = spec.get("paramRef")
    text = _UNSET
    if reference is not None:
        text = (
            f"{reference['namespace']}/{reference.get('name', '')}"
            if reference.get("namespace")
            else reference.get("name", "*")
        )
    return [_name(obj), spec.get("policyName", ""), text, age(obj, now)]


def csi_driver(obj: Object, now: float) -> list[Any]:
    spec: Object = obj.get("spec") or {}
    requests = spec.get("tokenRequests") or ()
    modes = spec.get("volumeLifecycleModes") or ()
    return [
        _name(obj),
        bool(spec.get("attachRequired", True)),
        bool(spec.get("podInfoOnMount", False)),
        bool(spec.get("storageCapacity", False)),
        ",".join(each.get("audience") or "<unset>" for each in requests) or _UNSET,
        bool(spec.get("requiresRepublish", False)),
        ",".join(modes) or NONE,
        age(obj, now),
    ]


def csi_node(obj: Object, now: float) -> list[Any]:
    return [_name(obj), len((obj.get("spec") or {}).get("drivers") or ()), age(obj, now)]


def attachment(obj: Object, now: float) -> list[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    source = (spec.get("source") or {}).get("persistentVolumeName", "")
    return [
        _name(obj),
        spec.get("attacher", ""),
        source,
        spec.get("nodeName", ""),
        bool(status.get("attached", False)),
        age(obj, now),
    ]


def attributes_class(obj: Object, now: float) -> list[Any]:
    return [_name(obj), obj.get("driverName", ""), age(obj, now)]


def signing_request(obj: Object, now: float) -> list[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    words = [each["type"] for each in status.get("conditions") or ()]
    order = [word for word in ("Approved", "Denied", "Failed") if word in words] or ["Pending"]
    if status.get("certificate"):
        order.append("Issued")
    seconds = spec.get("expirationSeconds")
    return [
        _name(obj),
        age(obj, now),
        spec.get("signerName") or NONE,
        spec.get("username", ""),
        human(seconds) if seconds else NONE,
        ",".join(order),
    ]


def flow_schema(obj: Object, now: float) -> list[Any]:
    spec: Object = obj.get("spec") or {}
    dangling = next(
        (each["status"] for each in (obj.get("status") or {}).get("conditions") or () if each["type"] == "Dangling"),
        "?",
    )
    return [
        _name(obj),
        spec["priorityLevelConfiguration"]["name"],
        spec.get("matchingPrecedence", 0),
        (spec.get("distinguisherMethod") or {}).get("type") or NONE,
        age(obj, now),
        dangling,
    ]


def priority_level(obj: Object, now: float) -> list[Any]:
    spec: Object = obj.get("spec") or {}
    limited: Object = spec.get("limited") or {}
    queuing: Object = (limited.get("limitResponse") or {}).get("queuing") or {}
    shares = limited.get("nominalConcurrencyShares", NONE)
    queues = [queuing.get(name, NONE) for name in ("queues", "handSize", "queueLengthLimit")]
    return [_name(obj), spec.get("type", ""), shares, *queues, age(obj, now)]


def resource_claim(obj: Object, now: float) -> list[Any]:
    status: Object = obj.get("status") or {}
    words = ["deleted"] if obj["metadata"].get("deletionTimestamp") else []
    words.append("allocated" if status.get("allocation") else "pending")
    if status.get("reservedFor"):
        words.append("reserved")
    return [_name(obj), ",".join(words), age(obj, now)]


def resource_slice(obj: Object, now: float) -> list[Any]:
    spec: Object = obj.get("spec") or {}
    where = spec.get("nodeName") or NONE
    return [_name(obj), where, spec.get("driver", ""), (spec.get("pool") or {}).get("name", ""), age(obj, now)]
