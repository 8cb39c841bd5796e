"""The spec of a pod as a whole, alone or in a template."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from penstock.embedded.kinds.ips import check_ip
from penstock.embedded.kinds.metadata import check_annotations, check_labels
from penstock.embedded.kinds.names import (
    between,
    dns_label,
    dns_subdomain,
    qualified_name,
    underscored_subdomain,
)
from penstock.embedded.kinds.pods.containers import check_containers, check_ephemeral_containers, check_init_containers
from penstock.embedded.kinds.pods.requirements import check_requirements
from penstock.embedded.kinds.pods.scheduling import check_affinity, check_spreading, check_tolerations
from penstock.embedded.kinds.pods.security import check_pod_security
from penstock.embedded.kinds.pods.totals import check_totals
from penstock.embedded.kinds.pods.volumes import check_volumes
from penstock.embedded.kinds.problems import (
    Problems,
    duplicate,
    each_invalid,
    forbidden,
    invalid,
    not_found,
    one_of,
    required,
    too_long,
    unsupported,
)

if TYPE_CHECKING:
    from penstock.kube.resources import Object

_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_MAX_SECONDS = 2**31 - 1
_HOST_USERS = "when `hostUsers` is false"


def check_template(problems: Problems, template: Object, field: str) -> None:
    """A pod template; the labels' field is the one the API server names, without `metadata`."""
    metadata = template["metadata"]
    check_labels(problems, metadata.get("labels", {}), f"{field}.labels")
    annotations = metadata.get("annotations", {})
    if annotations:
        check_annotations(problems, annotations, f"{field}.annotations")
        check_pod_annotations(problems, annotations, template["spec"], f"{field}.annotations")
    check_pod_spec(problems, template["spec"], f"{field}.spec")
    if "ephemeralContainers" in template["spec"]:
        detail = "ephemeral containers not allowed in pod template"
        problems.append(forbidden(f"{field}.spec.ephemeralContainers", detail))


def check_pod_annotations(problems: Problems, annotations: Object, spec: Object, field: str) -> None:
    """Annotations with a meaning for pods."""
    mirror = "kubernetes.io/config.mirror"
    if mirror in annotations and not spec.get("nodeName"):
        detail = "must set spec.nodeName if mirror pod annotation is set"
        problems.append(invalid(f"{field}[{mirror}]", annotations[mirror], detail))
    cost = annotations.get("controller.kubernetes.io/pod-deletion-cost")
    if cost is not None and not _is_cost(cost):
        where = f"{field}[controller.kubernetes.io/pod-deletion-cost]"
        problems.append(invalid(where, cost, "must be a 32bit integer"))


def _is_cost(text: str) -> bool:
    if text.startswith("+") or (text.startswith("0") and text != "0"):
        return False
    return bool(re.fullmatch(r"-?[0-9]+", text)) and -(2**31) <= int(text) < 2**31


def check_pod_spec(problems: Problems, spec: Object, field: str, *, pod_name: str = "", is_pod: bool = False) -> None:
    """Add everything that is wrong with the spec of a pod, in the API server's order."""
    volumes = check_volumes(problems, spec.get("volumes", ()), f"{field}.volumes", pod_name, is_pod=is_pod)
    if "resourceClaims" in spec:
        _check_resource_claims(problems, spec, f"{field}.resourceClaims")
    check_containers(problems, spec, volumes, f"{field}.containers")
    if "initContainers" in spec:
        check_init_containers(problems, spec, volumes, f"{field}.initContainers")
    if "ephemeralContainers" in spec:
        check_ephemeral_containers(problems, spec, volumes, f"{field}.ephemeralContainers")
    if "resources" in spec:
        check_totals(problems, spec, f"{field}.resources")
    if spec.get("hostNetwork"):
        _check_host_network(problems, spec, field, is_pod=is_pod)
    one_of(problems, spec["restartPolicy"], ("Always", "OnFailure", "Never"), f"{field}.restartPolicy")
    one_of(problems, spec["dnsPolicy"], _DNS_POLICIES, f"{field}.dnsPolicy")
    if "nodeSelector" in spec:
        check_labels(problems, spec["nodeSelector"], f"{field}.nodeSelector")
    if spec["securityContext"] or "shareProcessNamespace" in spec:
        check_pod_security(problems, spec["securityContext"], spec, f"{field}.securityContext")
    if "affinity" in spec:
        check_affinity(problems, spec["affinity"], f"{field}.affinity")
    if "dnsConfig" in spec or spec["dnsPolicy"] == "None":
        _check_dns(problems, spec, f"{field}.dnsConfig")
    _check_gates(problems, spec, field)
    if "topologySpreadConstraints" in spec:
        check_spreading(problems, spec["topologySpreadConstraints"], f"{field}.topologySpreadConstraints")
    if spec.get("hostUsers") is False:
        _check_host_users(problems, spec, field)
    if "hostnameOverride" in spec:
        _check_host_name(problems, spec, f"{field}.hostnameOverride")
    _check_names(problems, spec, field)
    _check_file_keys(problems, spec, field)


def _check_names(problems: Problems, spec: Object, field: str) -> None:
    for name in ("serviceAccountName", "nodeName"):
        if value := spec.get(name):
            problems += each_invalid(f"{field}.{name}", value, dns_subdomain(value))
    seconds = spec.get("activeDeadlineSeconds")
    if seconds is not None and not 1 <= seconds <= _MAX_SECONDS:
        problems.append(invalid(f"{field}.activeDeadlineSeconds", seconds, between(1, _MAX_SECONDS)))
    for name in ("hostname", "subdomain"):
        if value := spec.get(name):
            problems += each_invalid(f"{field}.{name}", value, dns_label(value))
    if "tolerations" in spec:
        check_tolerations(problems, spec["tolerations"], f"{field}.tolerations")
    if "hostAliases" in spec:
        _check_aliases(problems, spec, f"{field}.hostAliases")
    if value := spec.get("priorityClassName"):
        problems += each_invalid(f"{field}.priorityClassName", value, dns_subdomain(value))
    if "runtimeClassName" in spec:
        value = spec["runtimeClassName"]
        problems += each_invalid(f"{field}.runtimeClassName", value, dns_subdomain(value))
    if "preemptionPolicy" in spec:
        one_of(problems, spec["preemptionPolicy"], ("PreemptLowerPriority", "Never"), f"{field}.preemptionPolicy")
    if "overhead" in spec:
        check_requirements(problems, {"limits": spec["overhead"]}, f"{field}.overhead")
    if "os" in spec:
        name = spec["os"]["name"]
        if not name:
            problems.append(required(f"{field}.os.name"))
        elif name not in ("linux", "windows"):
            problems.append(unsupported(f"{field}.os", name, ("linux", "windows")))


def _check_resource_claims(problems: Problems, spec: Object, field: str) -> None:
    seen: set[str] = set()
    for index, claim in enumerate(spec["resourceClaims"]):
        at, name = f"{field}[{index}]", claim["name"]
        if not name:
            problems.append(required(f"{at}.name"))
        elif name in seen:
            problems.append(duplicate(f"{at}.name", name))
        else:
            problems += each_invalid(f"{at}.name", name, dns_label(name))
            seen.add(name)
        sources = [kind for kind in ("resourceClaimName", "resourceClaimTemplateName") if kind in claim]
        internal = {
            "Name": name,
            "ResourceClaimName": claim.get("resourceClaimName"),
            "ResourceClaimTemplateName": claim.get("resourceClaimTemplateName"),
        }
        if len(sources) > 1:
            detail = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            problems.append(invalid(at, internal, detail))
        if not sources:
            detail = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            problems.append(invalid(at, internal, detail))
        for kind in sources:
            problems += each_invalid(f"{at}.{kind}", claim[kind], dns_subdomain(claim[kind]))


def _check_host_network(problems: Problems, spec: Object, field: str, *, is_pod: bool) -> None:
    for index, container in enumerate(spec["containers"] or ()):
        for position, port in enumerate(container.get("ports", ())):
            host = port.get("hostPort", 0)
            if (is_pod or host) and host != port["containerPort"]:
                where = f"{field}.containers[{index}].ports[{position}].hostPort"
                problems.append(invalid(where, host, "must match `containerPort` when `hostNetwork` is true"))


def _check_dns(problems: Problems, spec: Object, field: str) -> None:
    config = spec.get("dnsConfig")
    if spec["dnsPolicy"] == "None":
        if config is None:
            problems.append(required(field, "must provide `dnsConfig` when `dnsPolicy` is None"))
            return
        if not config.get("nameservers"):
            detail = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            problems.append(required(f"{field}.nameservers", detail))
            return
    if config is None:
        return
    servers, searches = config.get("nameservers", []), config.get("searches", [])
    if len(servers) > 3:
        problems.append(invalid(f"{field}.nameservers", servers, "must not have more than 3 nameservers"))
    for index, server in enumerate(servers):
        check_ip(problems, server, f"{field}.nameservers[{index}]")
    if len(searches) > 32:
        problems.append(invalid(f"{field}.searches", searches, "must not have more than 32 search paths"))
    if len(" ".join(searches)) > 2048:
        detail = "must not have more than 2048 characters (including spaces) in the search list"
        problems.append(invalid(f"{field}.searches", searches, detail))
    for index, search in enumerate(searches):
        if search != ".":
            bare = search.removesuffix(".")
            problems += each_invalid(f"{field}.searches[{index}]", bare, underscored_subdomain(bare))
    for index, option in enumerate(config.get("options", ())):
        if not option.get("name"):
            problems.append(required(f"{field}.options[{index}]", "must not be empty"))


def _check_gates(problems: Problems, spec: Object, field: str) -> None:
    for index, gate in enumerate(spec.get("readinessGates", ())):
        kind = gate["conditionType"]
        problems += each_invalid(f"{field}.readinessGates[{index}].conditionType", kind, qualified_name(kind))
    seen: set[str] = set()
    for index, gate in enumerate(spec.get("schedulingGates", ())):
        at, name = f"{field}.schedulingGates[{index}]", gate["name"]
        problems += each_invalid(at, name, qualified_name(name))
        if name in seen:
            problems.append(duplicate(at, name))
        seen.add(name)


def _check_host_users(problems: Problems, spec: Object, field: str) -> None:
    if spec.get("hostNetwork"):
        problems.append(forbidden(f"{field}.hostNetwork", _HOST_USERS))
    for name in ("HostPID", "HostIPC"):
        if spec.get(f"h{name[1:]}"):
            problems.append(forbidden(f"{field}.{name}", _HOST_USERS))
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(kind) or ()):
            if "volumeDevices" in container:
                problems.append(forbidden(f"{field}.{kind}[{index}].volumeDevices", _HOST_USERS))


def _check_host_name(problems: Problems, spec: Object, field: str) -> None:
    name = spec["hostnameOverride"]
    if spec.get("setHostnameAsFQDN"):
        problems.append(forbidden(field, "may not be specified when setHostnameAsFQDN is true"))
    if spec.get("hostNetwork"):
        problems.append(forbidden(field, "may not be specified when hostNetwork is true"))
    if len(name) > 64:
        problems.append(too_long(field, 64))
    problems += each_invalid(field, name, dns_subdomain(name))


def _check_aliases(problems: Problems, spec: Object, field: str) -> None:
    for index, alias in enumerate(spec["hostAliases"]):
        check_ip(problems, alias["ip"], f"{field}[{index}].ip")
        for position, name in enumerate(alias.get("hostnames", ())):
            problems += each_invalid(f"{field}[{index}].hostnames[{position}]", name, dns_subdomain(name))


def _check_file_keys(problems: Problems, spec: Object, field: str) -> None:
    for kind in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(kind) or ()):
            for position, variable in enumerate(container.get("env", ())):
                source = variable.get("valueFrom")
                if source and "fileKeyRef" in source:
                    at = f"{field}.{kind}[{index}].env[{position}].valueFrom.fileKeyRef.volumeName"
                    _check_file_volume(problems, spec, source["fileKeyRef"]["volumeName"], at)


def _check_file_volume(problems: Problems, spec: Object, name: str, field: str) -> None:
    volume = next((one for one in spec.get("volumes", ()) if one["name"] == name), None)
    if volume is None:
        problems.append(not_found(field, name))
    elif "emptyDir" not in volume:
        problems.append(invalid(field, name, "referenced volume must be of type emptyDir"))
