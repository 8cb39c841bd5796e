"""Containers: ports, environment, probes, handlers, resources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.embedded.kinds.names import (
    config_key,
    dns_label,
    dns_subdomain,
    env_name,
    masked,
    port_name,
    port_number,
)
from penstock.embedded.kinds.pods.mounts import check_devices, check_mounts
from penstock.embedded.kinds.pods.probes import check_life
from penstock.embedded.kinds.pods.references import check_field_ref, check_no_backsteps, check_resource_ref
from penstock.embedded.kinds.pods.requirements import check_requirements, check_resize, claim_names
from penstock.embedded.kinds.pods.security import check_container_security
from penstock.embedded.kinds.problems import (
    Problems,
    duplicate,
    each_invalid,
    forbidden,
    invalid,
    not_found,
    one_of,
    required,
    too_many,
    unsupported,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.kube.resources import Object

_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_NO_INIT = "may not be set for init containers without restartPolicy=Always"


def check_containers(problems: Problems, spec: Object, volumes: Mapping[str, Object], field: str) -> None:
    """The regular containers of a pod: at least one, all of different names."""
    containers = spec["containers"]
    if not containers:
        problems.append(required(field))
        return
    names: set[str] = set()
    for index, container in enumerate(containers):
        at = f"{field}[{index}]"
        check_container(problems, container, spec, volumes, at)
        if container["name"] in names:
            problems.append(duplicate(f"{at}.name", container["name"]))
        names.add(container["name"])
        check_life(problems, container, spec, at)
        _check_restart(problems, container, at)
    _check_host_ports(problems, containers, field)


def check_init_containers(problems: Problems, spec: Object, volumes: Mapping[str, Object], field: str) -> None:
    names = {container["name"] for container in spec["containers"] or ()}
    for index, container in enumerate(spec.get("initContainers", ())):
        at = f"{field}[{index}]"
        check_container(problems, container, spec, volumes, at)
        _check_restart(problems, container, at)
        if container["name"] in names:
            problems.append(duplicate(f"{at}.name", container["name"]))
        elif container["name"]:
            names.add(container["name"])
        _check_host_ports(problems, [container], field)
        sidecar = container.get("restartPolicy") == "Always"
        if sidecar:
            check_life(problems, container, spec, at)
            continue
        for part in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe"):
            if part in container:
                problems.append(forbidden(f"{at}.{part}", _NO_INIT))
        for position, policy in enumerate(container.get("resizePolicy", ())):
            if policy["restartPolicy"] == "RestartContainer":
                detail = "must not be set to 'RestartContainer' for non-sidecar initContainers"
                where = f"{at}.resizePolicy[{position}].restartPolicy"
                problems.append(invalid(where, policy["restartPolicy"], detail))


_NOT_EPHEMERAL = (
    "ports",
    "resources",
    "resizePolicy",
    "restartPolicy",
    "restartPolicyRules",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
)
"""In the order in which the API server looks at them."""


def check_ephemeral_containers(problems: Problems, spec: Object, volumes: Mapping[str, Object], field: str) -> None:
    others = {one["name"] for one in (*(spec["containers"] or ()), *spec.get("initContainers", ()))}
    names = set(others)
    for index, container in enumerate(spec.get("ephemeralContainers", ())):
        at = f"{field}[{index}]"
        check_container(problems, container, spec, volumes, at)
        check_image_space(problems, container, at)
        if container["name"] in names:
            problems.append(duplicate(f"{at}.name", container["name"]))
        names.add(container["name"])
        target = container.get("targetContainerName", "")
        if target and target not in others:
            problems.append(not_found(f"{at}.targetContainerName", target))
        unfit = "cannot be set for an Ephemeral Container"
        set_ = {part for part in container if part != "resources" or container[part]}
        problems += [forbidden(f"{at}.{part}", unfit) for part in _NOT_EPHEMERAL if part in set_]
        for position, mount in enumerate(container.get("volumeMounts", ())):
            for part in ("subPath", "subPathExpr"):
                if mount.get(part):
                    problems.append(forbidden(f"{at}.volumeMounts[{position}].{part}", unfit))


def check_container(
    problems: Problems, container: Object, spec: Object, volumes: Mapping[str, Object], field: str
) -> None:
    """What holds for containers of every sort."""
    if name := container["name"]:
        if words := dns_label(name):
            problems += each_invalid(f"{field}.name", name, words)
    else:
        problems.append(required(f"{field}.name"))
    if not container.get("image"):
        problems.append(required(f"{field}.image"))
    one_of(
        problems,
        container["terminationMessagePolicy"],
        ("File", "FallbackToLogsOnError"),
        f"{field}.terminationMessagePolicy",
    )
    if "ports" in container:
        _check_ports(problems, container["ports"], f"{field}.ports")
    if "env" in container:
        _check_env(problems, container["env"], f"{field}.env")
    if "envFrom" in container:
        _check_env_from(problems, container["envFrom"], f"{field}.envFrom")
    if "volumeMounts" in container:
        check_mounts(problems, container, volumes, f"{field}.volumeMounts")
    if "volumeDevices" in container:
        check_devices(problems, container, volumes, f"{field}.volumeDevices")
    one_of(problems, container["imagePullPolicy"], _PULL_POLICIES, f"{field}.imagePullPolicy")
    if resources := container["resources"]:
        check_requirements(problems, resources, f"{field}.resources", claim_names(spec))
    if "resizePolicy" in container:
        check_resize(problems, container["resizePolicy"], spec, f"{field}.resizePolicy")
    if "securityContext" in container:
        host_users = spec.get("hostUsers", True)
        check_container_security(problems, container["securityContext"], f"{field}.securityContext", host_users)


def check_image_space(problems: Problems, container: Object, field: str) -> None:
    image = container.get("image", "")
    if image != image.strip():
        problems.append(invalid(f"{field}.image", image, "must not have leading or trailing whitespace"))


def _check_ports(problems: Problems, ports: Sequence[Object], field: str) -> None:
    names: set[str] = set()
    for index, port in enumerate(ports):
        at = f"{field}[{index}]"
        if name := port.get("name"):
            if words := port_name(name):
                problems += each_invalid(f"{at}.name", name, words)
            elif name in names:
                problems.append(duplicate(f"{at}.name", name))
            else:
                names.add(name)
        if number := port["containerPort"]:
            problems += each_invalid(f"{at}.containerPort", number, port_number(number))
        else:
            problems.append(required(f"{at}.containerPort"))
        if number := port.get("hostPort"):
            problems += each_invalid(f"{at}.hostPort", number, port_number(number))
        one_of(problems, port["protocol"], ("SCTP", "TCP", "UDP"), f"{at}.protocol")


def _check_host_ports(problems: Problems, containers: Sequence[Object], field: str) -> None:
    taken: set[str] = set()
    for index, container in enumerate(containers):
        for position, port in enumerate(container.get("ports", ())):
            if not port.get("hostPort"):
                continue
            key = f"{port['protocol']}/{port.get('hostIP', '')}/{port['hostPort']}"
            if key in taken:
                problems.append(duplicate(f"{field}[{index}].ports[{position}].hostPort", key))
            taken.add(key)


def _check_env(problems: Problems, variables: Sequence[Object], field: str) -> None:
    for index, variable in enumerate(variables):
        if name := variable["name"]:
            if words := env_name(name):
                problems += each_invalid(f"{field}[{index}].name", name, words)
        else:
            problems.append(required(f"{field}[{index}].name"))
        if "valueFrom" in variable:
            _check_value_from(problems, variable, f"{field}[{index}].valueFrom")


def _check_value_from(problems: Problems, variable: Object, field: str) -> None:
    source = variable["valueFrom"]
    if "fieldRef" in source:
        check_field_ref(problems, source["fieldRef"], f"{field}.fieldRef")
    if "resourceFieldRef" in source:
        check_resource_ref(problems, source["resourceFieldRef"], f"{field}.resourceFieldRef")
    for kind in ("configMapKeyRef", "secretKeyRef"):
        if kind in source:
            _check_key_ref(problems, source[kind], f"{field}.{kind}")
    if "fileKeyRef" in source:
        _check_file_key(problems, source["fileKeyRef"], f"{field}.fileKeyRef")
    if not source:
        detail = (
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        )
        problems.append(invalid(field, "", detail))
    elif variable.get("value"):
        problems.append(invalid(field, "", "may not be specified when `value` is not empty"))
    elif len(source) > 1:
        problems.append(invalid(field, "", "may not have more than one field specified at a time"))


def _check_key_ref(problems: Problems, reference: Object, field: str) -> None:
    name = reference.get("name", "")
    problems += each_invalid(f"{field}.name", name, dns_subdomain(name))
    if key := reference["key"]:
        problems += each_invalid(f"{field}.key", key, config_key(key))
    else:
        problems.append(required(f"{field}.key"))


def _check_file_key(problems: Problems, reference: Object, field: str) -> None:
    if key := reference["key"]:
        problems += each_invalid(f"{field}.key", key, env_name(key))
    else:
        problems.append(required(f"{field}.key"))
    if name := reference["volumeName"]:
        problems += each_invalid(f"{field}.volumeName", name, dns_label(name))
    else:
        problems.append(required(f"{field}.volumeName"))
    if path := reference["path"]:
        check_no_backsteps(problems, path, f"{field}.path")
    else:
        problems.append(required(f"{field}.path"))


def _check_env_from(problems: Problems, sources: Sequence[Object], field: str) -> None:
    for index, source in enumerate(sources):
        at = f"{field}[{index}]"
        if prefix := source.get("prefix"):
            problems += each_invalid(f"{at}.prefix", prefix, env_name(prefix))
        kinds = [kind for kind in ("configMapRef", "secretRef") if kind in source]
        for kind in kinds:
            name = source[kind].get("name", "")
            if name:
                problems += each_invalid(f"{at}.{kind}.name", name, dns_subdomain(masked(name)))
            else:
                problems.append(required(f"{at}.{kind}.name"))
        if not kinds:
            problems.append(invalid(field, "", "must specify one of: `configMapRef` or `secretRef`"))
        elif len(kinds) > 1:
            problems.append(invalid(field, "", "may not have more than one field specified at a time"))


_RESTARTS = ("Always", "Never", "OnFailure")


def _check_restart(problems: Problems, container: Object, field: str) -> None:
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules", ())
    if policy is None:
        if rules:
            detail = "must specify restartPolicy when restart rules are used"
            problems.append(required(f"{field}.restartPolicy", detail))
        else:
            return
    elif policy not in _RESTARTS:
        problems.append(unsupported(f"{field}.restartPolicy", policy, _RESTARTS))
    if len(rules) > 20:
        problems.append(too_many(f"{field}.restartPolicyRules", len(rules), 20))
    for index, rule in enumerate(rules):
        at = f"{field}.restartPolicyRules[{index}]"
        action = rule.get("action", "")
        if action not in ("Restart", "RestartAllContainers"):
            problems.append(unsupported(f"{at}.action", action, ("Restart", "RestartAllContainers")))
        codes = rule.get("exitCodes")
        if codes is None:
            problems.append(required(f"{at}.exitCodes", "must be specified"))
            continue
        if codes.get("operator", "") not in ("In", "NotIn"):
            problems.append(unsupported(f"{at}.exitCodes.operator", codes.get("operator", ""), ("In", "NotIn")))
