"""References to fields and resources of a pod, and paths of files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from penstock.embedded.kinds.names import qualified_name
from penstock.embedded.kinds.problems import Problems, each_invalid, invalid, required, unsupported

if TYPE_CHECKING:
    from penstock.kube.resources import Object

ENV_FIELDS = frozenset(
    {
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "spec.nodeName",
        "spec.serviceAccountName",
        "status.hostIP",
        "status.hostIPs",
        "status.podIP",
        "status.podIPs",
    }
)


FILE_FIELDS = frozenset(
    {"metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"}
)


_KNOWN_FIELDS = ENV_FIELDS | FILE_FIELDS
_RESOURCES = (
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
)


_UNITS = frozenset({"1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"})
_UNIT_WORDS = "only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the "
_SUBSCRIPT = re.compile(r"(.+)\['(.*)'\]")


def check_no_backsteps(problems: Problems, path: str, field: str) -> None:
    if ".." in path.split("/"):
        problems.append(invalid(field, path, "must not contain '..'"))


def check_descending(problems: Problems, path: str, field: str) -> None:
    if path.startswith("/"):
        problems.append(invalid(field, path, "must be a relative path"))
    check_no_backsteps(problems, path, field)


def check_local_path(problems: Problems, path: str, field: str) -> None:
    """A relative path that stays below, and does not look like the kubelet's own links."""
    check_descending(problems, path, field)
    if path.startswith("..") and not path.startswith("../"):
        problems.append(invalid(field, path, "must not start with '..'"))


def check_field_ref(problems: Problems, reference: Object, field: str, allowed: frozenset[str] = ENV_FIELDS) -> None:
    """A reference to a field of the pod."""
    if not reference["fieldPath"]:
        problems.append(required(f"{field}.fieldPath"))
        return
    path, version = reference["fieldPath"], reference["apiVersion"]
    match = _SUBSCRIPT.fullmatch(path)
    base = match[1] if match else path
    if version != "v1":
        detail = f"error converting fieldPath: unsupported pod version: {version}"
        problems.append(invalid(f"{field}.fieldPath", path, detail))
        return
    if match and base not in ("metadata.annotations", "metadata.labels"):
        detail = f"error converting fieldPath: field label does not support subscript: {base}"
        problems.append(invalid(f"{field}.fieldPath", path, detail))
        return
    if match:
        key = match[2].lower() if base == "metadata.annotations" else match[2]
        problems += each_invalid(field, key, qualified_name(key))
        return
    if path not in _KNOWN_FIELDS and path != "spec.host":
        detail = f"error converting fieldPath: field label not supported: {path}"
        problems.append(invalid(f"{field}.fieldPath", path, detail))
        return
    if path not in allowed:
        problems.append(unsupported(f"{field}.fieldPath", path, sorted(allowed)))


def check_resource_ref(problems: Problems, reference: Object, field: str, *, in_volume: bool = False) -> None:
    """A reference to a request or limit of a container."""
    resource = reference["resource"]
    if in_volume and not reference.get("containerName"):
        problems.append(required(f"{field}.containerName"))
    elif not resource:
        problems.append(required(f"{field}.resource"))
    elif resource not in _RESOURCES and not resource.startswith(("limits.hugepages-", "requests.hugepages-")):
        problems.append(unsupported(f"{field}.resource", resource, _RESOURCES))
    divisor = reference.get("divisor", "0")
    if divisor == "0":
        return
    name = resource.partition(".")[2]
    if name == "cpu":
        if divisor not in ("1m", "1"):
            detail = "only divisor's values 1m and 1 are supported with the cpu resource"
            problems.append(invalid(f"{field}.divisor", resource, detail))
    elif divisor not in _UNITS and (name in _UNIT_NAMES or name.startswith("hugepages-")):
        words = f"{_UNIT_WORDS}{_UNIT_NAMES.get(name, 'hugepages')} resource"
        problems.append(invalid(f"{field}.divisor", resource, words))


_UNIT_NAMES = {"memory": "memory", "ephemeral-storage": "local ephemeral storage"}
