"""Warnings about objects that the API server takes: what will not do what it seems to say.

Clients get them as headers of the answer. Most look at the pod template, and only when something of the spec changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.embedded.kinds.ips import cidr_warnings
from penstock.embedded.kinds.keypairs import key_pair_warnings
from penstock.embedded.kinds.names import dns_label
from penstock.embedded.kinds.networkwarnings import NETWORK_WARNINGS, STATUS_WARNINGS
from penstock.embedded.kinds.pods.warnings import (
    OLD_LABELS,
    OLD_VOLUMES,
    SHOWN,
    claim_warnings,
    node_term_warnings,
    pod_warnings,
)
from penstock.schema.quantity import parse

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.kube.resources import Object

    Warn = Callable[[Object, Object | None], list[str]]

_NAME = "metadata.name: this is used in {}, which can result in surprising behavior; a DNS label is recommended: [{}]"
_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
_VOLUME_ANNOTATIONS = {
    _CLASS_ANNOTATION: 'deprecated since v1.8; use "storageClassName" attribute instead',
    "volume.beta.kubernetes.io/mount-options": 'deprecated since v1.31; use "mountOptions" attribute instead',
}
_OLD_SOURCES = ("cephfs", "photonPersistentDisk", "scaleIO", "storageos", "glusterfs", "rbd")
_RECYCLE = "The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning."
_MOUNTABLE = "kubernetes.io/enforce-mountable-secrets"
_TOKENS = (
    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible "
    "logging of tokens in volume attributes"
)
_TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"


def warnings(group: str, kind: str, new: Object, old: Object | None, subresource: str = "") -> list[str]:
    """What to say about an object that is valid; `old` is None when it is new."""
    if subresource:
        told = STATUS_WARNINGS.get((group, kind)) if subresource == "status" else None
        return [] if told is None else told(new)
    warn = _WARNINGS.get((group, kind))
    return [] if warn is None else warn(new, old)


def _counted(obj: Object) -> int | None:
    generation: int | None = obj["metadata"].get("generation")
    return generation


def _unchanged(new: Object, old: Object | None) -> bool:
    return old is not None and _counted(new) == _counted(old)


def _name(new: Object, old: Object | None, used: str = "Pod names and hostnames") -> list[str]:
    words = [] if old is not None else dns_label(new["metadata"]["name"])
    return [_NAME.format(used, " ".join(words))] if words else []


def _workload(new: Object, old: Object | None) -> list[str]:
    if _unchanged(new, old):
        return []
    return [*_name(new, old), *pod_warnings(new["spec"]["template"], "spec.template")]


def _controller(new: Object, old: Object | None) -> list[str]:
    """A ReplicationController: the server looks at the old template when it changes."""
    template = (old or new)["spec"].get("template")
    if _unchanged(new, old) or template is None:
        return _name(new, old)
    return [*_name(new, old), *pod_warnings(template, "spec.template")]


def _stateful_set(new: Object, old: Object | None) -> list[str]:
    spec = new["spec"]
    found = [] if _unchanged(new, old) else pod_warnings(spec["template"], "spec.template")
    for index, claim in enumerate(spec.get("volumeClaimTemplates", ())):
        at = f"spec.volumeClaimTemplates[{index}]"
        found += claim_warnings(claim["spec"], at if old is None else f"{at}.Spec")
    if spec.get("revisionHistoryLimit", 0) < 0:
        words = "a negative value retains all historical revisions; a value >= 0 is recommended"
        found.append(f"spec.revisionHistoryLimit: {words}")
    return found


def _daemon_set(new: Object, old: Object | None) -> list[str]:
    if old is not None and _template_generation(new) == _template_generation(old):
        return []
    return pod_warnings(new["spec"]["template"], "spec.template")


def _template_generation(obj: Object) -> str:
    counted: str = obj["metadata"].get("annotations", {}).get(_TEMPLATE_GENERATION, "0")
    return counted


def _job(new: Object, old: Object | None) -> list[str]:
    return [] if _unchanged(new, old) else [*_name(new, old), *_job_spec(new["spec"], "spec")]


def _cron_job(new: Object, old: Object | None) -> list[str]:
    at = "spec.jobTemplate.spec"
    found = [] if _unchanged(new, old) else [*_name(new, old), *_job_spec(new["spec"]["jobTemplate"]["spec"], at)]
    if old is not None and "TZ" in new["spec"]["schedule"]:
        page = "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/"
        found.append(
            f"cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see {page} for more details"
        )
    return found


def _job_spec(spec: Object, at: str) -> list[str]:
    found: list[str] = []
    many = spec.get("completions", 0) > 100_000 and spec.get("parallelism", 0) > 10_000
    if spec.get("completionMode") == "Indexed" and many:
        found.append(
            f"{at}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, "
            "Kubernetes might not be able to track completedIndexes when a big number of indexes fail"
        )
    return [*found, *pod_warnings(spec["template"], f"{at}.template")]


def _pod(new: Object, old: Object | None) -> list[str]:
    return [] if old is not None else [*_name(new, old, "the Pod's hostname"), *pod_warnings(new, "")]


def _claim(new: Object, _: Object | None) -> list[str]:
    found: list[str] = []
    if _CLASS_ANNOTATION in new["metadata"].get("annotations", {}):
        words = 'deprecated since v1.8; use "storageClassName" attribute instead'
        found.append(f"metadata.annotations[{_CLASS_ANNOTATION}]: {words}")
    return [*found, *claim_warnings(new["spec"], "spec")]


def _volume(new: Object, _: Object | None) -> list[str]:
    spec, annotations = new["spec"], new["metadata"].get("annotations", {})
    found = [
        f"metadata.annotations[{key}]: {words}" for key, words in _VOLUME_ANNOTATIONS.items() if key in annotations
    ]
    if spec["persistentVolumeReclaimPolicy"] == "Recycle":
        found.append(f"spec.persistentVolumeReclaimPolicy: {_RECYCLE}")
    terms = spec.get("nodeAffinity", {}).get("required", {}).get("nodeSelectorTerms") or ()
    for index, term in enumerate(terms):
        found += node_term_warnings(term, f"spec.nodeAffinity.required.nodeSelectorTerms[{index}]")
    return found + [f"spec.{SHOWN.get(name, name)}: {OLD_VOLUMES[name]}" for name in _OLD_SOURCES if name in spec]


def _storage_class(new: Object, _: Object | None) -> list[str]:
    return [
        f"allowedTopologies[{index}].matchLabelExpressions[{position}].key: {OLD_LABELS[one['key']]}"
        for index, term in enumerate(new.get("allowedTopologies", ()))
        for position, one in enumerate(term.get("matchLabelExpressions", ()))
        if one["key"] in OLD_LABELS
    ]


def _runtime_class(new: Object, _: Object | None) -> list[str]:
    keys = new.get("scheduling", {}).get("nodeSelector", {})
    return [f"scheduling.nodeSelector: {OLD_LABELS[key]}" for key in keys if key in OLD_LABELS]


def _service_account(new: Object, old: Object | None) -> list[str]:
    if old is not None and _MOUNTABLE in old["metadata"].get("annotations", {}):
        return []
    if _MOUNTABLE not in new["metadata"].get("annotations", {}):
        return []
    words = "deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
    return [f"metadata.annotations[{_MOUNTABLE}]: {words}"]


def _capacity(new: Object, _: Object | None) -> list[str]:
    topology: Object = new.get("nodeTopology", {})
    labels = [key for key in topology.get("matchLabels", {}) if key in OLD_LABELS]
    return [
        *node_term_warnings(topology, "nodeTopology"),
        *(f"nodeTopology.matchLabels.{key}: {OLD_LABELS[key]}" for key in labels),
    ]


def _driver(new: Object, old: Object | None) -> list[str]:
    asked = new["spec"].get("tokenRequests")
    if not asked or "serviceAccountTokenInSecrets" in new["spec"]:
        return []
    return [_TOKENS] if old is None or old["spec"].get("tokenRequests") != asked else []


def _node(new: Object, _: Object | None) -> list[str]:
    spec, found = new["spec"], list[str]()
    if "configSource" in spec:
        found.append("spec.configSource: the feature is removed")
    if spec.get("externalID"):
        found.append("spec.externalID: this field is deprecated, and is unused by Kubernetes")
    for index, text in enumerate(spec.get("podCIDRs", ())):
        found += cidr_warnings(text, f"spec.podCIDRs[{index}]")
    return found


def _quota(new: Object, old: Object | None) -> list[str]:
    hard: dict[str, str] = new["spec"].get("hard", {})
    found: list[str] = []
    for name in ("cpu", "memory", "storage", "ephemeral-storage") if old is None else ():
        asked, limit = f"requests.{name}", f"limits.{name}"
        if asked not in hard and name in ("cpu", "memory"):
            asked = name
        if asked in hard and limit in hard and parse(hard[asked]).nano > parse(hard[limit]).nano:
            found.append(f"ResourceQuota {asked} ({hard[asked]}) should be less than {limit} ({hard[limit]})")
    return found


_WARNINGS: dict[tuple[str, str], Warn] = {
    ("", "Node"): _node,
    ("", "PersistentVolume"): _volume,
    ("", "PersistentVolumeClaim"): _claim,
    ("", "Pod"): _pod,
    ("", "PodTemplate"): lambda new, old: [] if _unchanged(new, old) else pod_warnings(new["template"], "template"),
    ("", "ReplicationController"): _controller,
    ("", "ResourceQuota"): _quota,
    ("", "Secret"): key_pair_warnings,
    ("", "ServiceAccount"): _service_account,
    ("apps", "DaemonSet"): _daemon_set,
    ("apps", "Deployment"): _workload,
    ("apps", "ReplicaSet"): _workload,
    ("apps", "StatefulSet"): _stateful_set,
    ("batch", "CronJob"): _cron_job,
    ("batch", "Job"): _job,
    ("node.k8s.io", "RuntimeClass"): _runtime_class,
    ("storage.k8s.io", "CSIDriver"): _driver,
    ("storage.k8s.io", "CSIStorageCapacity"): _capacity,
    ("storage.k8s.io", "StorageClass"): _storage_class,
    **NETWORK_WARNINGS,
}
