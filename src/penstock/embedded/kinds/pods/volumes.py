"""Volumes of a pod, what containers mount of them, and the references to keys and fields that fill files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.embedded.kinds.names import dns_label, dns_subdomain
from penstock.embedded.kinds.pods.disks import (
    check_aws_disk,
    check_azure_disk,
    check_fc,
    check_flex,
    check_gce_disk,
    check_iscsi,
)
from penstock.embedded.kinds.pods.references import (
    FILE_FIELDS,
    check_field_ref,
    check_local_path,
    check_no_backsteps,
    check_resource_ref,
)
from penstock.embedded.kinds.problems import (
    Problems,
    duplicate,
    each_invalid,
    forbidden,
    invalid,
    required,
    too_long,
    unsupported,
)
from penstock.schema.quantity import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from penstock.kube.resources import Object

FILE_MODE = "must be a number between 0 and 0777 (octal), both inclusive"
ONE_TYPE = "may not specify more than 1 volume type"
_HOST_PATH_TYPES = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)


def check_volumes(
    problems: Problems, volumes: Sequence[Object], field: str, pod_name: str = "", *, is_pod: bool
) -> dict[str, Object]:
    """Add what is wrong; the volumes by name that containers may mount."""
    found: dict[str, Object] = {}
    created = {f"{pod_name}-{volume['name']}" for volume in volumes if pod_name and "ephemeral" in volume}
    for index, volume in enumerate(volumes):
        at, name = f"{field}[{index}]", volume["name"]
        own: Problems = []
        _check_source(own, volume, at, pod_name)
        if is_pod and "image" in volume and not volume["image"].get("reference"):
            own.append(required(f"{at}.image.reference"))
        if not name:
            own.append(required(f"{at}.name"))
        else:
            own += each_invalid(f"{at}.name", name, dns_label(name))
        if name in found:
            own.append(duplicate(f"{at}.name", name))
        if own:
            problems += own
        else:
            found[name] = volume
        claim = volume.get("persistentVolumeClaim")
        if claim and claim["claimName"] in created:
            detail = "must not reference a PVC that gets created for an ephemeral volume"
            problems.append(invalid(f"{at}.persistentVolumeClaim.claimName", claim["claimName"], detail))
    return found


def _check_source(problems: Problems, volume: Object, field: str, pod_name: str) -> None:
    """Several sources are one too many; the first in the API server's order is looked at."""
    chosen = ""
    for kind, check in SOURCES.items():
        source = volume.get(kind)
        if source is None:
            continue
        if chosen:
            problems.append(forbidden(f"{field}.{_MISSPELT.get(kind, kind)}", ONE_TYPE))
            continue
        chosen = kind
        check(problems, source, f"{field}.{kind}")
        if kind == "ephemeral" and pod_name and volume["name"]:
            claim = f"{pod_name}-{volume['name']}"
            for words in dns_subdomain(claim):
                problems.append(invalid(f"{field}.name", volume["name"], f'PVC name "{claim}": {words}'))
    if not chosen:
        problems.append(required(field, "must specify a volume type"))


_MISSPELT = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}
"""The API server's own spelling in this one message."""


def _check_empty_dir(problems: Problems, source: Object, field: str) -> None:
    if "sizeLimit" in source and parse(source["sizeLimit"]).nano < 0:
        problems.append(forbidden(f"{field}.sizeLimit", "SizeLimit field must be a valid resource quantity"))


def _check_host_path(problems: Problems, source: Object, field: str) -> None:
    path = source["path"]
    if not path:
        problems.append(required(f"{field}.path"))
        return
    check_no_backsteps(problems, path, f"{field}.path")
    if source["type"] not in _HOST_PATH_TYPES:
        problems.append(unsupported(f"{field}.type", source["type"], _HOST_PATH_TYPES))


def _check_mode(problems: Problems, source: Object, field: str, name: str = "defaultMode") -> None:
    mode = source.get(name)
    if mode is not None and not 0 <= mode <= 0o777:
        problems.append(invalid(f"{field}.{name}", mode, FILE_MODE))


def _check_secret(problems: Problems, source: Object, field: str) -> None:
    if not source.get("secretName"):
        problems.append(required(f"{field}.secretName"))
    _check_mode(problems, source, field)
    _check_items(problems, source, field)


def _check_config_map(problems: Problems, source: Object, field: str) -> None:
    if not source.get("name"):
        problems.append(required(f"{field}.name"))
    _check_mode(problems, source, field)
    _check_items(problems, source, field)


def _check_items(problems: Problems, source: Object, field: str) -> None:
    for index, item in enumerate(source.get("items", ())):
        _check_item(problems, item, f"{field}.items[{index}]")


def _check_item(problems: Problems, item: Object, field: str) -> None:
    if not item["key"]:
        problems.append(required(f"{field}.key"))
    if not item["path"]:
        problems.append(required(f"{field}.path"))
    check_local_path(problems, item["path"], f"{field}.path")
    _check_mode(problems, item, field, "mode")


def _check_claim(problems: Problems, source: Object, field: str) -> None:
    if not source["claimName"]:
        problems.append(required(f"{field}.claimName"))


def _check_nfs(problems: Problems, source: Object, field: str) -> None:
    problems += [required(f"{field}.{name}") for name in ("server", "path") if not source[name]]
    if not source["path"].startswith("/"):
        problems.append(invalid(f"{field}.path", source["path"], "must be an absolute path"))


def _check_downward(problems: Problems, source: Object, field: str) -> None:
    _check_mode(problems, source, field)
    for item in source.get("items", ()):
        _check_downward_file(problems, item, field)


def _check_downward_file(problems: Problems, item: Object, field: str) -> None:
    if not item["path"]:
        problems.append(required(f"{field}.path"))
    check_local_path(problems, item["path"], f"{field}.path")
    if "fieldRef" in item:
        check_field_ref(problems, item["fieldRef"], f"{field}.fieldRef", FILE_FIELDS)
        if "resourceFieldRef" in item:
            detail = "fieldRef and resourceFieldRef can not be specified simultaneously"
            problems.append(invalid(field, "resource", detail))
    elif "resourceFieldRef" in item:
        check_resource_ref(problems, item["resourceFieldRef"], f"{field}.resourceFieldRef", in_volume=True)
    else:
        problems.append(required(field, "one of fieldRef and resourceFieldRef is required"))
    _check_mode(problems, item, field, "mode")


def _check_projected(problems: Problems, source: Object, field: str) -> None:
    _check_mode(problems, source, field)
    paths: set[str] = set()
    for index, part in enumerate(source["sources"] or ()):
        at = f"{field}.sources[{index}]"
        _check_projected_files(problems, part, at, field, paths)
        if token := part.get("serviceAccountToken"):
            _check_token(problems, token, f"{at}.serviceAccountToken", field)
        if len(part) > 1:
            problems.append(forbidden(at, "may not specify more than 1 volume type per source"))


def _check_projected_files(problems: Problems, part: Object, at: str, field: str, paths: set[str]) -> None:
    for kind in ("secret", "configMap"):
        if kind not in part:
            continue
        name = part[kind].get("name", "")
        if not name:
            problems.append(required(f"{at}.{kind}.name"))
        for index, item in enumerate(part[kind].get("items", ())):
            _check_item(problems, item, f"{at}.{kind}.items[{index}]")
            _check_unique(problems, item["path"], field, name, paths)
    for item in part.get("downwardAPI", {}).get("items", ()):
        _check_downward_file(problems, item, f"{at}.downwardAPI")
        _check_unique(problems, item["path"], field, item["path"], paths)


def _check_unique(problems: Problems, path: str, field: str, value: str, paths: set[str]) -> None:
    if path and path in paths:
        problems.append(invalid(field, value, "conflicting duplicate paths"))
    paths.add(path)


def _check_token(problems: Problems, token: Object, field: str, volume_field: str) -> None:
    seconds = token["expirationSeconds"]
    if seconds < 600:
        detail = "may not specify a duration less than 10 minutes"
        problems.append(invalid(f"{field}.expirationSeconds", seconds, detail))
    if seconds > 1 << 32:
        detail = "may not specify a duration larger than 2^32 seconds"
        problems.append(invalid(f"{field}.expirationSeconds", seconds, detail))
    if not token["path"]:
        problems.append(required(f"{volume_field}.path"))
    else:
        check_local_path(problems, token["path"], f"{volume_field}.path")


def _check_csi(problems: Problems, source: Object, field: str) -> None:
    check_driver_name(problems, source["driver"], f"{field}.driver")
    if "nodePublishSecretRef" in source:
        name = source["nodePublishSecretRef"].get("name", "")
        if not name:
            problems.append(required(f"{field}.nodePublishSecretRef.name"))
        else:
            problems += each_invalid(f"{field}.name", name, dns_subdomain(name))


def check_driver_name(problems: Problems, name: str, field: str) -> None:
    if not name:
        problems.append(required(field))
        return
    if len(name) > 63:
        problems.append(too_long(field, 63))
    problems += each_invalid(field, name, dns_subdomain(name.lower()))


def _check_ephemeral(problems: Problems, source: Object, field: str) -> None:
    from penstock.embedded.kinds.claims import check_claim_template

    template = source.get("volumeClaimTemplate")
    if template is None:
        problems.append(required(f"{field}.volumeClaimTemplate"))
    else:
        check_claim_template(problems, template, f"{field}.volumeClaimTemplate")


def _check_image(problems: Problems, source: Object, field: str) -> None:
    policy = source.get("pullPolicy", "")
    if policy not in ("Always", "IfNotPresent", "Never"):
        problems.append(unsupported(f"{field}.pullPolicy", policy, ("Always", "IfNotPresent", "Never")))


def _wants(*names: str) -> Callable[[Problems, Object, str], None]:
    """A source that is fine when these fields are there."""

    def check(problems: Problems, source: Object, field: str) -> None:
        problems += [required(f"{field}.{name}") for name in names if not source.get(name)]

    return check


SOURCES: Mapping[str, Callable[[Problems, Object, str], None]] = {
    "emptyDir": _check_empty_dir,
    "hostPath": _check_host_path,
    "gitRepo": _wants("repository"),
    "gcePersistentDisk": check_gce_disk,
    "awsElasticBlockStore": check_aws_disk,
    "secret": _check_secret,
    "nfs": _check_nfs,
    "iscsi": check_iscsi,
    "glusterfs": _wants("endpoints", "path"),
    "flocker": _wants(),
    "persistentVolumeClaim": _check_claim,
    "rbd": _wants("monitors", "image"),
    "cinder": _wants("volumeID"),
    "cephfs": _wants("monitors"),
    "quobyte": _wants("registry", "volume"),
    "downwardAPI": _check_downward,
    "fc": check_fc,
    "flexVolume": check_flex,
    "configMap": _check_config_map,
    "azureFile": _wants("secretName", "shareName"),
    "vsphereVolume": _wants("volumePath"),
    "photonPersistentDisk": _wants("pdID"),
    "portworxVolume": _wants("volumeID"),
    "azureDisk": check_azure_disk,
    "storageos": _wants("volumeName"),
    "projected": _check_projected,
    "scaleIO": _wants("gateway", "system", "volumeName"),
    "csi": _check_csi,
    "ephemeral": _check_ephemeral,
    "image": _check_image,
}
