"""Persistent volumes, storage classes and what CSI drivers register."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, ClassVar

from penstock.embedded.kinds.claims import NOT_POSITIVE, VOLUME_MODES, check_access_modes
from penstock.embedded.kinds.decode import defaults
from penstock.embedded.kinds.difference import difference
from penstock.embedded.kinds.internal import internal_form
from penstock.embedded.kinds.names import dns_subdomain, qualified_name
from penstock.embedded.kinds.pods.disks import check_csi_secrets, check_iscsi
from penstock.embedded.kinds.pods.references import check_no_backsteps
from penstock.embedded.kinds.pods.scheduling import check_node_selector
from penstock.embedded.kinds.pods.volumes import ONE_TYPE, SOURCES, check_driver_name
from penstock.embedded.kinds.problems import (
    IMMUTABLE,
    Problems,
    duplicate,
    each_invalid,
    forbidden,
    invalid,
    required,
    same,
    too_long,
    unsupported,
)
from penstock.embedded.kinds.rules import ClusterRules, reset_status
from penstock.embedded.kinds.selectors import check_selector
from penstock.schema.quantity import parse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.kube.resources import Object

_NEW_LABELS = {
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
}
_EXPANDS = "controllerExpandSecretRef"
_VOLUME_SOURCES = (
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "flocker",
    "nfs",
    "rbd",
    "quobyte",
    "cephfs",
    "iscsi",
    "cinder",
    "fc",
    "flexVolume",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "scaleIO",
    "local",
    "storageos",
    "csi",
)


@defaults("core/v1.PersistentVolume")
def _volume_defaults(obj: Object) -> None:
    obj["status"].setdefault("phase", "Pending")
    obj["spec"].setdefault("persistentVolumeReclaimPolicy", "Retain")
    obj["spec"].setdefault("volumeMode", "Filesystem")


class PersistentVolumeRules(ClusterRules):
    """A volume's source never changes. Its phase begins as Pending; the time of that is the server's."""

    status: ClassVar[bool] = True

    def prepare_create(self, obj: Object) -> None:
        reset_status(obj)
        created = obj["metadata"].get("creationTimestamp")
        if created:
            obj["status"]["lastPhaseTransitionTime"] = created

    def check(self, problems: Problems, obj: Object) -> None:
        spec = obj["spec"]
        modes = spec.get("accessModes", [])
        if not modes:
            problems.append(required("spec.accessModes"))
        check_access_modes(problems, modes, "spec.accessModes")
        self._check_capacity(problems, self.sent(obj)["spec"].get("capacity"))
        policy = spec["persistentVolumeReclaimPolicy"]
        if policy not in ("Delete", "Recycle", "Retain"):
            at = "spec.persistentVolumeReclaimPolicy"
            problems.append(unsupported(at, policy, ("Delete", "Recycle", "Retain")))
        affinity = spec.get("nodeAffinity")
        if affinity is not None:
            if "required" in affinity:
                check_node_selector(problems, affinity["required"], "spec.nodeAffinity.required")
            else:
                detail = "must specify required node constraints"
                problems.append(required("spec.nodeAffinity.required", detail))
        self._check_source(problems, spec)
        path = spec.get("hostPath", {}).get("path", "")
        if path and posixpath.normpath(path) == "/" and policy == "Recycle":
            detail = "may not be 'recycle' for a hostPath mount of '/'"
            problems.append(forbidden("spec.persistentVolumeReclaimPolicy", detail))
        if name := spec.get("storageClassName"):
            problems += each_invalid("spec.storageClassName", name, dns_subdomain(name))
        if spec["volumeMode"] not in VOLUME_MODES:
            problems.append(unsupported("spec.volumeMode", spec["volumeMode"], VOLUME_MODES))

    def _check_capacity(self, problems: Problems, capacity: Object | None) -> None:
        if not capacity:
            problems.append(required("spec.capacity"))
        if list(capacity or ()) != ["storage"]:
            problems.append(unsupported("spec.capacity", capacity, ("storage",)))
        for name, size in (capacity or {}).items():
            if parse(size).nano < 0:
                problems.append(
                    invalid(f"spec.capacity[{name}]", parse(size).value, "must be a valid resource quantity")
                )
            if parse(size).nano <= 0:
                problems.append(invalid(f"spec.capacity[{name}]", size, NOT_POSITIVE))

    def _check_source(self, problems: Problems, spec: Object) -> None:
        chosen = ""
        for kind in _VOLUME_SOURCES:
            if kind not in spec:
                continue
            if chosen:
                problems.append(forbidden(f"spec.{'cephFS' if kind == 'cephfs' else kind}", ONE_TYPE))
                continue
            chosen = kind
            self._check_one(problems, kind, spec, f"spec.{kind}")
        if not chosen:
            problems.append(required("spec", "must specify a volume type"))

    def _check_one(self, problems: Problems, kind: str, spec: Object, field: str) -> None:
        source = spec[kind]
        if kind == "local":
            if not source["path"]:
                problems.append(required(f"{field}.path"))
            else:
                check_no_backsteps(problems, source["path"], f"{field}.path")
            if "nodeAffinity" not in spec:
                problems.append(required("spec.nodeAffinity", "Local volume requires node affinity"))
        elif kind == "csi":
            check_driver_name(problems, source["driver"], f"{field}.driver")
            if not source["volumeHandle"]:
                problems.append(required(f"{field}.volumeHandle"))
            check_csi_secrets(problems, source, field)
        elif kind == "iscsi":
            check_iscsi(problems, source, field, persistent=True)
        else:
            SOURCES[kind](problems, source, field)

    def check_update(self, problems: Problems, new: Object, old: Object) -> None:
        self.check_create(problems, new)
        self.check_create(problems, new)
        if any(_source(new, kind, old) != old["spec"].get(kind) for kind in _VOLUME_SOURCES):
            sent = self.sent(new)["spec"]
            changes = difference("core.PersistentVolumeSpec", old["spec"], sent, upto=("GCEPersistentDisk", "CSI"))
            detail = f"spec.persistentvolumesource is immutable after creation\n{changes}"
            problems.append(forbidden("spec.persistentvolumesource", detail))
        same(problems, new["spec"]["volumeMode"], old["spec"]["volumeMode"], "volumeMode")
        affinity, before = new["spec"].get("nodeAffinity"), old["spec"].get("nodeAffinity")
        if before is not None and not _same_nodes(affinity, before):
            told = self.sent(new)["spec"].get("nodeAffinity")
            value = None if told is None else internal_form("core.VolumeNodeAffinity", told)
            detail = "field is immutable, except for updating from beta label to GA"
            problems.append(invalid("nodeAffinity", value, detail))

    def prepare_status(self, new: Object, old: Object) -> None:
        """The time of the last change of phase is kept; the clock that sets a new one is not ours."""
        super().prepare_status(new, old)
        before = old["status"].get("lastPhaseTransitionTime")
        if before is not None and "lastPhaseTransitionTime" not in new["status"]:
            new["status"]["lastPhaseTransitionTime"] = before


def _source(volume: Object, kind: str, old: Object) -> Object | None:
    """The source of a volume, without the one secret that may come later."""
    source: Object | None = volume["spec"].get(kind)
    before = old["spec"].get(kind)
    if kind != "csi" or source is None or before is None or _EXPANDS in before:
        return source
    return {name: value for name, value in source.items() if name != _EXPANDS}


def _same_nodes(affinity: Object | None, before: Object) -> bool:
    """Whether two node affinities mean the same nodes, where old names of labels may give way to new ones."""
    if affinity is None:
        return False
    terms, old = (one.get("required", {}).get("nodeSelectorTerms") or [] for one in (affinity, before))
    if len(terms) != len(old) or ("required" in affinity) != ("required" in before):
        return False
    return all(_same_term(*pair) for pair in zip(terms, old, strict=True))


def _same_term(term: Object, before: Object) -> bool:
    for name in ("matchExpressions", "matchFields"):
        now, old = term.get(name, []), before.get(name, [])
        if len(now) != len(old):
            return False
        for one, other in zip(now, old, strict=True):
            # Whatever has no new name may lose its name, which is then refused for itself.
            key = one["key"] if one["key"] == _NEW_LABELS.get(other["key"], "") else other["key"]
            if one != {**other, "key": key}:
                return False
    return True


@defaults("storage/v1.StorageClass")
def _class_defaults(obj: Object) -> None:
    obj.setdefault("reclaimPolicy", "Delete")
    obj.setdefault("volumeBindingMode", "Immediate")


class StorageClassRules(ClusterRules):
    """Everything but metadata, expansion, mount options and topologies is fixed."""

    def check(self, problems: Problems, obj: Object) -> None:
        provisioner = obj["provisioner"]
        if not provisioner:
            problems.append(required("provisioner"))
        else:
            name = provisioner.lower()
            problems += each_invalid("provisioner", name, qualified_name(name))
        parameters = obj.get("parameters", {})
        problems += [invalid("parameters", "", "field can not be empty.") for key in parameters if not key]
        if sum(len(key) + len(value) for key, value in parameters.items()) > 256 * 1024:
            problems.append(too_long("parameters", 256 * 1024))
        for name, allowed in (
            ("reclaimPolicy", ("Delete", "Retain")),
            ("volumeBindingMode", ("Immediate", "WaitForFirstConsumer")),
        ):
            if obj[name] not in allowed and (obj[name] or name != "reclaimPolicy"):
                problems.append(unsupported(name, obj[name], allowed))
        topologies = obj.get("allowedTopologies", ())
        # The real server begins with as many empty terms as there are, and compares with all of them.
        terms: list[dict[str, set[str]]] = [{} for _ in topologies]
        for index, term in enumerate(topologies):
            expressions = term.get("matchLabelExpressions", ())
            self._check_topology(problems, expressions, f"allowedTopologies[{index}]")
            meant: dict[str, set[str]] = {one["key"]: set(one["values"] or []) for one in expressions}
            repeated = duplicate(f"allowedTopologies[{index}].matchLabelExpressions", "")
            problems += [repeated for other in terms if other == meant]
            terms.append(meant)

    def _check_topology(self, problems: Problems, expressions: Sequence[Object], field: str) -> None:
        seen: set[str] = set()
        for index, one in enumerate(expressions):
            at, values = f"{field}.matchLabelExpressions[{index}]", one["values"] or []
            if not values:
                problems.append(required(f"{at}.values"))
            for position, value in enumerate(values):
                if value in values[:position]:
                    problems.append(duplicate(f"{at}.values[{position}]", value))
            problems += each_invalid(f"{at}.key", one["key"], qualified_name(one["key"]))
            if one["key"] in seen:
                problems.append(duplicate(f"{at}.key", one["key"]))
            seen.add(one["key"])

    def check_update(self, problems: Problems, new: Object, old: Object) -> None:
        self.check_create(problems, new)
        self.check_metadata_update(problems, new, old)
        for name in ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"):
            if new.get(name) != old.get(name):
                value = self.sent(new).get(name)
                value = dict(sorted(value.items())) if isinstance(value, dict) else value
                problems.append(invalid(name, value, IMMUTABLE))


@defaults("storage/v1.CSIDriver")
def _driver_defaults(obj: Object) -> None:
    spec = obj["spec"]
    spec.setdefault("attachRequired", True)
    spec.setdefault("podInfoOnMount", False)
    spec.setdefault("storageCapacity", False)
    spec.setdefault("fsGroupPolicy", "ReadWriteOnceWithFSType")
    spec.setdefault("volumeLifecycleModes", ["Persistent"])
    spec.setdefault("requiresRepublish", False)
    spec.setdefault("seLinuxMount", False)


class CSIDriverRules(ClusterRules):
    unconditional_update: ClassVar[bool] = False

    def prepare_change(self, new: Object, old: Object) -> None:
        """The generation starts at nothing, and still counts."""
        if new["spec"] != old["spec"]:
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def check(self, problems: Problems, obj: Object) -> None:
        spec = obj["spec"]
        policies = ("File", "None", "ReadWriteOnceWithFSType")
        if spec["fsGroupPolicy"] not in policies:
            problems.append(unsupported("spec.fsGroupPolicy", spec["fsGroupPolicy"], policies))
        for mode in spec["volumeLifecycleModes"]:
            if mode not in ("Ephemeral", "Persistent"):
                problems.append(unsupported("spec.volumeLifecycleModes", mode, ("Persistent", "Ephemeral")))
        self._check_tokens(problems, spec.get("tokenRequests", ()))

    def _check_tokens(self, problems: Problems, requests: Sequence[Object]) -> None:
        audiences: set[str] = set()
        for index, request in enumerate(requests):
            at, seconds = f"spec.tokenRequests[{index}]", request.get("expirationSeconds", 600)
            if request["audience"] in audiences:
                problems.append(duplicate(f"{at}.audience", request["audience"]))
                continue
            audiences.add(request["audience"])
            if seconds < 600:
                detail = "may not specify a duration less than 10 minutes"
                problems.append(invalid(f"{at}.expirationSeconds", seconds, detail))
            if seconds > 2**32:
                detail = "may not specify a duration larger than 2^32 seconds"
                problems.append(invalid(f"{at}.expirationSeconds", seconds, detail))

    def check_update(self, problems: Problems, new: Object, old: Object) -> None:
        self.check_metadata_update(problems, new, old)
        self.check(problems, new)
        spec, before = new["spec"], old["spec"]
        # The name of the first field is the API server's own.
        same(problems, spec.get("attachRequired"), before.get("attachRequired"), "spec.attachedRequired")
        same(problems, spec["volumeLifecycleModes"], before["volumeLifecycleModes"], "spec.volumeLifecycleModes")


class CSIStorageCapacityRules(ClusterRules):
    namespaced: ClassVar[bool] = True
    unconditional_update: ClassVar[bool] = False

    def check(self, problems: Problems, obj: Object) -> None:
        check_selector(problems, obj.get("nodeTopology"), "nodeTopology")
        name = obj["storageClassName"]
        problems += each_invalid("storageClassName", name, dns_subdomain(name))
        for field in ("capacity", "maximumVolumeSize"):
            if field in obj and parse(obj[field]).nano < 0:
                problems.append(invalid(field, obj[field], "must be greater than or equal to 0"))

    def check_change(self, problems: Problems, new: Object, old: Object) -> None:
        if new.get("nodeTopology") != old.get("nodeTopology"):
            value = (
                internal_form("apis/meta/v1.LabelSelector", new["nodeTopology"]) if new.get("nodeTopology") else None
            )
            problems.append(invalid("nodeTopology", value, IMMUTABLE))
        same(problems, new["storageClassName"], old["storageClassName"], "storageClassName")


class VolumeAttachmentRules(ClusterRules):
    status: ClassVar[bool] = True
    unconditional_update: ClassVar[bool] = False

    def check(self, problems: Problems, obj: Object) -> None:
        spec = obj["spec"]
        check_driver_name(problems, spec["attacher"], "spec.attacher")
        source = spec["source"]
        both = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
        if not source:
            problems.append(required("spec.source", both))
        elif len(source) > 1:
            problems.append(forbidden("spec.source", both))
        elif source.get("persistentVolumeName") == "":
            detail = "must specify non empty persistentVolumeName"
            problems.append(required("spec.source.persistentVolumeName", detail))
        problems += each_invalid("spec.nodeName", spec["nodeName"], dns_subdomain(spec["nodeName"]))
