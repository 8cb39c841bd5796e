"""Volumes on disks and in storage systems that the API server knows by name: of pods and as PersistentVolumes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from penstock.embedded.kinds.names import between, dns_label, dns_subdomain
from penstock.embedded.kinds.problems import Problems, each_invalid, invalid, required, unsupported

if TYPE_CHECKING:
    from penstock.kube.resources import Object

_INITIATORS = {
    "iqn": re.compile(r"iqn\.[0-9]{4}-[0-9]{2}\.([A-Za-z0-9\-.]+)(:[^,;*&$|\s]+)\Z"),
    "eui": re.compile(r"\Aeui.[A-Za-z0-9]{16}\Z"),
    "naa": re.compile(r"\Anaa.[A-Za-z0-9]{32}\Z"),
}
_MALFORMED = "must be valid format"
_MANAGED_URI = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
_BLOB_URI = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"


def check_iscsi(problems: Problems, source: Object, field: str, *, persistent: bool = False) -> None:
    """A target, and who asks; `persistent` volumes have shorter messages."""
    start = _MALFORMED if persistent else f"{_MALFORMED} starting with iqn, eui, or naa"
    if not source["targetPortal"]:
        problems.append(required(f"{field}.targetPortal"))
    if not source["iqn"]:
        problems.append(required(f"{field}.iqn"))
    else:
        _check_initiator(problems, source["iqn"], f"{field}.iqn", start)
    _check_unit(problems, source["lun"], f"{field}.lun")
    if (source.get("chapAuthDiscovery") or source.get("chapAuthSession")) and "secretRef" not in source:
        problems.append(required(f"{field}.secretRef"))
    if persistent and "secretRef" in source and not source["secretRef"].get("name"):
        problems.append(required(f"{field}.secretRef.name"))
    if "initiatorName" in source:
        _check_initiator(problems, source["initiatorName"], f"{field}.initiatorname", start)


def _check_initiator(problems: Problems, name: str, field: str, start: str) -> None:
    form = _INITIATORS.get(name[:3])
    if form is None:
        problems.append(invalid(field, name, start))
    elif not form.search(name):
        problems.append(invalid(field, name, _MALFORMED))


def _check_unit(problems: Problems, number: int, field: str) -> None:
    if not 0 <= number <= 255:
        problems.append(invalid(field, number, between(0, 255)))


def check_fc(problems: Problems, source: Object, field: str) -> None:
    names, wide = source.get("targetWWNs"), source.get("wwids")
    if not names and not wide:
        problems.append(required(f"{field}.targetWWNs", "must specify either targetWWNs or wwids, but not both"))
    if names and wide:
        detail = "targetWWNs and wwids can not be specified simultaneously"
        problems.append(invalid(f"{field}.targetWWNs", names, detail))
    if not names:
        return
    if "lun" in source:
        _check_unit(problems, source["lun"], f"{field}.lun")
    else:
        problems.append(required(f"{field}.lun", "lun is required if targetWWNs is specified"))


def check_gce_disk(problems: Problems, source: Object, field: str) -> None:
    """The API server calls the field by an older name."""
    _check_partition(problems, source, field.replace("gcePersistentDisk", "persistentDisk"), "pdName")


def check_aws_disk(problems: Problems, source: Object, field: str) -> None:
    _check_partition(problems, source, field, "volumeID")


def _check_partition(problems: Problems, source: Object, field: str, name: str) -> None:
    if not source[name]:
        problems.append(required(f"{field}.{name}"))
    number = source.get("partition", 0)
    if not 0 <= number <= 255:
        problems.append(invalid(f"{field}.partition", number, between(1, 255)))


def check_azure_disk(problems: Problems, source: Object, field: str) -> None:
    problems += [required(f"{field}.{name}") for name in ("diskName", "diskURI") if not source[name]]
    kind, uri, caching = source["kind"], source["diskURI"], source["cachingMode"]
    if caching not in ("None", "ReadOnly", "ReadWrite"):
        problems.append(unsupported(f"{field}.cachingMode", caching, ("None", "ReadOnly", "ReadWrite")))
    if kind not in ("Dedicated", "Managed", "Shared"):
        problems.append(unsupported(f"{field}.kind", kind, ("Dedicated", "Managed", "Shared")))
    if kind == "Managed" and not uri.startswith("/subscriptions/"):
        problems.append(unsupported(f"{field}.diskURI", uri, (_MANAGED_URI,)))
    if kind != "Managed" and not uri.startswith("https://"):
        problems.append(unsupported(f"{field}.diskURI", uri, (_BLOB_URI,)))


def check_flex(problems: Problems, source: Object, field: str) -> None:
    if not source["driver"]:
        problems.append(required(f"{field}.driver"))
    for key in source.get("options", {}):
        domain = f".{key.partition('/')[0].lower()}"
        if domain.endswith((".kubernetes.io", ".k8s.io")):
            detail = "kubernetes.io and k8s.io namespaces are reserved"
            problems.append(invalid(f"{field}.options[{key}]", key, detail))


_CSI_SECRETS = (
    "controllerPublishSecretRef",
    "controllerExpandSecretRef",
    "nodePublishSecretRef",
    "nodeExpandSecretRef",
)


def check_csi_secrets(problems: Problems, source: Object, field: str) -> None:
    """The Secrets of a persistent volume, which are somewhere in the cluster."""
    for kind in _CSI_SECRETS:
        for name, rule in (("name", dns_subdomain), ("namespace", dns_label)) if kind in source else ():
            if value := source[kind].get(name):
                problems += each_invalid(f"{field}.{kind}.{name}", value, rule(value))
            else:
                problems.append(required(f"{field}.{kind}.{name}"))
