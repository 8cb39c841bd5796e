"""The defaults of types that several kinds share: containers, volumes, probes and the rest of a pod template.

Defaults of a single kind stand beside its rules.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from penstock.embedded.kinds.decode import defaults

if TYPE_CHECKING:
    from penstock.kube.resources import Object

_FILE_MODE = 0o644


@defaults("core/v1.PodSpec")
def pod_spec(spec: Object) -> None:
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("securityContext", {})
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("schedulerName", "default-scheduler")
    # One account, two names: the old name follows the new one.
    if account := spec.get("serviceAccountName") or spec.get("serviceAccount"):
        spec["serviceAccountName"] = spec["serviceAccount"] = account


@defaults("core/v1.Container", "core/v1.EphemeralContainer")
def container(container: Object) -> None:
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    if "imagePullPolicy" not in container:
        container["imagePullPolicy"] = pull_policy(container.get("image", ""))
    if "stopSignal" in container.get("lifecycle", {}):
        # Signals are behind a feature gate that is closed.
        del container["lifecycle"]["stopSignal"]
        if not container["lifecycle"]:
            del container["lifecycle"]


_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_HOST = r"(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*|\[[a-fA-F0-9:]+\])"
_IMAGE = re.compile(
    rf"(?:{_HOST}(?::[0-9]+)?/)?{_PART}(?:/{_PART})*(?::([\w][\w.-]{{0,127}}))?"
    r"(?:(@)[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?"
)


@lru_cache(1024)
def pull_policy(image: str) -> str:
    """Always for an image without tag and digest, or with the tag `latest`; not for what is no image name."""
    match = _IMAGE.fullmatch(image)
    if match is None:
        return "IfNotPresent"
    tag, digest = match[1], match[2]
    return "Always" if tag == "latest" or not (tag or digest) else "IfNotPresent"


@defaults("core/v1.ContainerPort")
def container_port(port: Object) -> None:
    port.setdefault("protocol", "TCP")


@defaults("core/v1.Probe")
def probe(probe: Object) -> None:
    probe.setdefault("timeoutSeconds", 1)
    probe.setdefault("periodSeconds", 10)
    probe.setdefault("successThreshold", 1)
    probe.setdefault("failureThreshold", 3)


@defaults("core/v1.GRPCAction")
def grpc(action: Object) -> None:
    if action["service"] is None:
        action["service"] = ""


@defaults("core/v1.HTTPGetAction")
def http_get(action: Object) -> None:
    action.setdefault("path", "/")
    action.setdefault("scheme", "HTTP")


@defaults("core/v1.ObjectFieldSelector")
def field_selector(selector: Object) -> None:
    selector.setdefault("apiVersion", "v1")


@defaults("core/v1.FileKeySelector")
def file_key(selector: Object) -> None:
    selector.setdefault("optional", False)


@defaults("core/v1.Volume")
def volume(volume: Object) -> None:
    if len(volume) == 1:
        volume["emptyDir"] = {}
    elif (image := volume.get("image")) is not None:
        image.setdefault("pullPolicy", pull_policy(image.get("reference", "")))


@defaults(
    "core/v1.SecretVolumeSource",
    "core/v1.ConfigMapVolumeSource",
    "core/v1.DownwardAPIVolumeSource",
    "core/v1.ProjectedVolumeSource",
)
def file_mode(source: Object) -> None:
    source.setdefault("defaultMode", _FILE_MODE)


@defaults("core/v1.ServiceAccountTokenProjection")
def token_projection(projection: Object) -> None:
    projection.setdefault("expirationSeconds", 3600)


@defaults("core/v1.HostPathVolumeSource")
def host_path(source: Object) -> None:
    source.setdefault("type", "")


@defaults("core/v1.ISCSIVolumeSource", "core/v1.ISCSIPersistentVolumeSource")
def iscsi(source: Object) -> None:
    source.setdefault("iscsiInterface", "default")


@defaults("core/v1.RBDVolumeSource", "core/v1.RBDPersistentVolumeSource")
def rbd(source: Object) -> None:
    source.setdefault("pool", "rbd")
    source.setdefault("user", "admin")
    source.setdefault("keyring", "/etc/ceph/keyring")


@defaults("core/v1.ScaleIOVolumeSource", "core/v1.ScaleIOPersistentVolumeSource")
def scale_io(source: Object) -> None:
    source.setdefault("storageMode", "ThinProvisioned")
    source.setdefault("fsType", "xfs")


@defaults("core/v1.AzureDiskVolumeSource")
def azure_disk(source: Object) -> None:
    source.setdefault("cachingMode", "ReadWrite")
    source.setdefault("fsType", "ext4")
    source.setdefault("readOnly", False)
    source.setdefault("kind", "Shared")


@defaults("core/v1.PersistentVolumeClaimSpec")
def claim_spec(spec: Object) -> None:
    spec.setdefault("volumeMode", "Filesystem")


@defaults("core/v1.PersistentVolumeClaim")
def claim(claim: Object) -> None:
    claim["status"].setdefault("phase", "Pending")
