"""What containers mount of the volumes of their pod."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.embedded.kinds.pods.references import check_descending
from penstock.embedded.kinds.problems import Problems, forbidden, invalid, not_found, required, unsupported

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.kube.resources import Object


def check_mounts(problems: Problems, container: Object, volumes: Mapping[str, Object], field: str) -> None:
    """What a container mounts, at which path."""
    paths: set[str] = set()
    devices = {device["name"]: device["devicePath"] for device in container.get("volumeDevices", ())}
    for index, mount in enumerate(container.get("volumeMounts", ())):
        at, name, path = f"{field}[{index}]", mount["name"], mount["mountPath"]
        if not name:
            problems.append(required(f"{at}.name"))
        if name not in volumes:
            problems.append(not_found(f"{at}.name", name))
        if not path:
            problems.append(required(f"{at}.mountPath"))
        if path in paths:
            problems.append(invalid(f"{at}.mountPath", path, "must be unique"))
        paths.add(path)
        if devices:
            if name in devices:
                problems.append(invalid(f"{at}.name", name, "must not already exist in volumeDevices"))
            if path in devices.values():
                detail = "must not already exist as a path in volumeDevices"
                problems.append(invalid(f"{at}.mountPath", path, detail))
        if len(mount) > 2:
            _check_mount_options(problems, mount, container, at, field)


def _check_mount_options(problems: Problems, mount: Object, container: Object, at: str, field: str) -> None:
    if below := mount.get("subPath"):
        check_descending(problems, below, f"{field}.subPath")
    if expression := mount.get("subPathExpr"):
        if below:
            detail = "subPathExpr and subPath are mutually exclusive"
            problems.append(invalid(f"{at}.subPathExpr", expression, detail))
        check_descending(problems, expression, f"{field}.subPathExpr")
    propagation = mount.get("mountPropagation")
    if propagation is not None:
        if propagation not in _PROPAGATIONS:
            problems.append(unsupported(f"{field}.mountPropagation", propagation, _PROPAGATIONS))
        if propagation == "Bidirectional" and not container.get("securityContext", {}).get("privileged"):
            detail = "Bidirectional mount propagation is available only to privileged containers"
            problems.append(forbidden(f"{field}.mountPropagation", detail))
    recursive = mount.get("recursiveReadOnly")
    if recursive in ("Enabled", "IfPossible"):
        if not mount.get("readOnly"):
            problems.append(forbidden(f"{field}.recursiveReadOnly", "may only be specified when readOnly is true"))
        if propagation not in (None, "None"):
            detail = "may only be specified when mountPropagation is None or not specified"
            problems.append(forbidden(f"{field}.recursiveReadOnly", detail))
    elif recursive not in (None, "Disabled"):
        problems.append(unsupported(f"{field}.recursiveReadOnly", recursive, ("Disabled", "Enabled", "IfPossible")))


_PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")


def check_devices(problems: Problems, container: Object, volumes: Mapping[str, Object], field: str) -> None:
    """The block devices of a container."""
    names: set[str] = set()
    paths: set[str] = set()
    mounts = {mount["name"]: mount["mountPath"] for mount in container.get("volumeMounts", ())}
    for index, device in enumerate(container.get("volumeDevices", ())):
        at, name, path = f"{field}[{index}]", device["name"], device["devicePath"]
        volume = volumes.get(name)
        if not name:
            problems.append(required(f"{at}.name"))
        if name in names:
            problems.append(invalid(f"{at}.name", name, "must be unique"))
        if volume is None:
            problems.append(not_found(f"{at}.name", name))
        elif "persistentVolumeClaim" not in volume and "ephemeral" not in volume:
            detail = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            problems.append(invalid(f"{at}.name", name, detail))
        if not path:
            problems.append(required(f"{at}.devicePath"))
        if path in paths:
            problems.append(invalid(f"{at}.devicePath", path, "must be unique"))
        if ".." in path.split("/"):
            problems.append(invalid(f"{at}.devicePath", path, "can not contain backsteps ('..')"))
        else:
            paths.add(path)
        if name in mounts:
            problems.append(invalid(f"{at}.name", name, "must not already exist in volumeMounts"))
        if path in mounts.values():
            problems.append(invalid(f"{at}.devicePath", path, "must not already exist as a path in volumeMounts"))
        if name:
            names.add(name)
