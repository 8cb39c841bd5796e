"""What the API server has to say about pods that it takes all the same: repeated ports and names, old labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.embedded.kinds.ips import ip_warnings
from penstock.embedded.kinds.names import label_value
from penstock.embedded.kinds.pods.overlaps import overlap_warnings
from penstock.embedded.kinds.problems import go_quote
from penstock.schema.quantity import NANO, parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from penstock.kube.resources import Object

OLD_LABELS = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
    "failure-domain.beta.kubernetes.io/zone": 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": "deprecated since v1.22; use Taints and Tolerations instead",
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}
_OLD_ANNOTATIONS = {
    "scheduler.alpha.kubernetes.io/critical-pod": (
        'non-functional in v1.16+; use the "priorityClassName" field instead'
    ),
    "security.alpha.kubernetes.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
    "security.alpha.kubernetes.io/unsafe-sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
}
OLD_VOLUMES = {
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "deprecated in v1.11, and disabled by default in v1.33+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}
SHOWN = {"storageos": "storageOS"}
_NULL_SELECTOR = "a null labelSelector results in matching no pod"
_SECCOMP = 'non-functional in v1.27+; use the "seccompProfile" field instead'
_AFFINITY_TERMS = (
    ("requiredDuringSchedulingIgnoredDuringExecution", False),
    ("preferredDuringSchedulingIgnoredDuringExecution", True),
)


def pod_warnings(pod: Object, field: str) -> list[str]:
    """The warnings for a pod or a pod template, which stands at `field`; "" for a pod itself."""
    spec, at = pod["spec"], f"{field}.spec" if field else "spec"
    annotations = pod["metadata"].get("annotations", {})
    notes = f"{field}.metadata.annotations" if field else "metadata.annotations"
    containers = list(_containers(spec, at))
    return [
        *_old_labels(spec, at),
        *(f"{notes}[{key}]: {words}" for key, words in _OLD_ANNOTATIONS.items() if key in annotations),
        *_old_volumes(spec.get("volumes", ()), f"{at}.volumes"),
        *overlap_warnings(spec.get("volumes", ())),
        *_repeated(spec.get("hostAliases", ()), "ip", f"{at}.hostAliases"),
        *_repeated(spec.get("imagePullSecrets", ()), "name", f"{at}.imagePullSecrets"),
        *(
            f'{at}.imagePullSecrets[{index}].name: invalid empty name ""'
            for index, one in enumerate(spec.get("imagePullSecrets", ()))
            if not one.get("name")
        ),
        *_fractions(spec.get("overhead", {}), f"{at}.overhead", ("memory", "ephemeral-storage")),
        *_pod_seccomp(spec, annotations, notes),
        *(
            line
            for container, where in containers
            for line in _of_container(container, where, spec, annotations, notes, templated=bool(field))
        ),
        *_port_warnings(containers),
        *_port_names(containers),
        *_grace(spec, at),
        *_affinity(spec.get("affinity", {}), f"{at}.affinity"),
        *_addresses(spec, at),
    ]


def fraction(amount: str, field: str) -> list[str]:
    """A warning for an amount of bytes that is no whole number."""
    if parse(amount).nano % NANO == 0:
        return []
    return [f"{field}: fractional byte value {go_quote(amount)} is invalid, must be an integer"]


def _containers(spec: Object, at: str) -> Iterator[tuple[Object, str]]:
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(kind) or ()):
            yield container, f"{at}.{kind}[{index}]"


def _old_labels(spec: Object, at: str) -> Iterator[str]:
    for key in spec.get("nodeSelector", {}):
        if key in OLD_LABELS:
            yield f"{at}.nodeSelector[{key}]: {OLD_LABELS[key]}"
    yield from _node_affinity(spec.get("affinity", {}).get("nodeAffinity", {}), f"{at}.affinity.nodeAffinity")
    for index, constraint in enumerate(spec.get("topologySpreadConstraints", ())):
        here, key = f"{at}.topologySpreadConstraints[{index}]", constraint["topologyKey"]
        if key in OLD_LABELS:
            yield f"{here}.topologyKey: {key} is {OLD_LABELS[key]}"
        if "labelSelector" not in constraint:
            yield f"{here}.labelSelector: {_NULL_SELECTOR}"


def _node_affinity(affinity: Object, at: str) -> Iterator[str]:
    required, preferred = (name for name, _ in _AFFINITY_TERMS)
    for index, term in enumerate(affinity.get(required, {}).get("nodeSelectorTerms") or ()):
        yield from node_term_warnings(term, f"{at}.{required}.nodeSelectorTerms[{index}]")
    for index, weighted in enumerate(affinity.get(preferred, ())):
        yield from node_term_warnings(weighted["preference"], f"{at}.{preferred}[{index}].preference", values=True)


def node_term_warnings(term: Object, at: str, *, values: bool = False) -> Iterator[str]:
    """Old labels that a term asks for and, if asked, `values` that no label can have."""
    for index, expression in enumerate(term.get("matchExpressions", ())):
        here, key = f"{at}.matchExpressions[{index}]", expression["key"]
        if key in OLD_LABELS:
            yield f"{here}.key: {key} is {OLD_LABELS[key]}"
        for place, value in enumerate(expression.get("values", ()) if values else ()):
            for words in label_value(value):
                yield f"{here}.values[{place}]: {value} is invalid, {words}"


def _old_volumes(volumes: Iterable[Object], at: str) -> Iterator[str]:
    for index, volume in enumerate(volumes):
        here = f"{at}[{index}]"
        for name, words in OLD_VOLUMES.items():
            if name == "cephfs":  # what the server looks at before this one
                claim = volume.get("ephemeral", {}).get("volumeClaimTemplate", {}).get("spec")
                yield from claim_warnings(claim, f"{here}.ephemeral.volumeClaimTemplate.spec") if claim else ()
            if name in volume:
                yield f"{here}.{SHOWN.get(name, name)}: {words}"


def claim_warnings(spec: Object, at: str) -> list[str]:
    """The warnings for what a claim asks for."""
    return [
        line
        for part in ("requests", "limits")
        for line in fraction(spec["resources"].get(part, {}).get("storage", "0"), f"{at}.resources.{part}[storage]")
    ]


def _repeated(items: Sequence[Object], key: str, at: str) -> Iterator[str]:
    seen: set[str] = set()
    for index, item in enumerate(items):
        value = item.get(key, "")
        if value in seen:
            yield f"{at}[{index}].{key}: duplicate {key} {go_quote(value)}"
        seen.add(value)


def _fractions(amounts: Object, at: str, names: Iterable[str]) -> Iterator[str]:
    for name in names:
        if name in amounts:
            yield from fraction(amounts[name], f"{at}[{name}]")


def _pod_seccomp(spec: Object, annotations: Object, notes: str) -> Iterator[str]:
    key = "seccomp.security.alpha.kubernetes.io/pod"
    if key in annotations and "seccompProfile" not in (spec.get("securityContext") or {}):
        yield f"{notes}[{key}]: {_SECCOMP}"


def _of_container(
    container: Object, at: str, spec: Object, annotations: Object, notes: str, *, templated: bool
) -> Iterator[str]:
    key = f"container.seccomp.security.alpha.kubernetes.io/{container['name']}"
    if key in annotations and "seccompProfile" not in (container.get("securityContext") or {}):
        yield f"{notes}[{key}]: {_SECCOMP}"
    if templated:
        yield from _app_armor(container, spec, annotations, notes)
    resources = container.get("resources") or {}
    for name in ("memory", "ephemeral-storage"):
        for part in ("limits", "requests"):
            yield from _fractions(resources.get(part, {}), f"{at}.resources.{part}", (name,))
    yield from _hidden_variables(container.get("env", ()), f"{at}.env")


def _app_armor(container: Object, spec: Object, annotations: Object, notes: str) -> Iterator[str]:
    key = f"container.apparmor.security.beta.kubernetes.io/{container['name']}"
    if key not in annotations or "appArmorProfile" in (container.get("securityContext") or {}):
        return
    whole = (spec.get("securityContext") or {}).get("appArmorProfile")
    if whole is None or whole != app_armor_profile(annotations[key]):
        yield f'{notes}[{key}]: deprecated since v1.30; use the "appArmorProfile" field instead'


def app_armor_profile(annotation: str) -> Object | None:
    """The profile that an annotation of old stands for."""
    if annotation == "unconfined":
        return {"type": "Unconfined"}
    if annotation == "runtime/default":
        return {"type": "RuntimeDefault"}
    name = annotation.removeprefix("localhost/")
    return {"type": "Localhost", "localhostProfile": name} if name and name != annotation else None


def _hidden_variables(variables: Sequence[Object], at: str) -> Iterator[str]:
    seen: set[str] = set()
    for index, variable in enumerate(variables):
        name, value = variable["name"], variable.get("value", "")
        reference = f"$({name})"
        hides = "valueFrom" in variable or value == reference or reference not in value
        if name in seen and hides:
            yield f"{at}[{index}]: hides previous definition of {go_quote(name)}, which may be dropped when using apply"
        seen.add(name)


def _port_warnings(containers: Iterable[tuple[Object, str]]) -> Iterator[str]:
    known: dict[tuple[Any, Any], list[tuple[str, Object]]] = {}
    for at, port in _ports(containers):
        if port.get("hostIP") and not port.get("hostPort"):
            yield f"{at}: hostIP set without hostPort: {_go_port(port)}"
        others = known.setdefault((port["containerPort"], port.get("protocol", "")), [])
        for where, other in others:
            if words := _overlap(port, other):
                yield f"{at}: {words} port definition with {where}"
        others.append((at, port))


def _go_port(port: Object) -> str:
    name, protocol, address = (port.get(key, "") for key in ("name", "protocol", "hostIP"))
    return f"{{Name:{name} HostPort:0 ContainerPort:{port['containerPort']} Protocol:{protocol} HostIP:{address}}}"


def _overlap(port: Object, other: Object) -> str:
    """How two ports of one number and protocol get into each other's way."""
    address, host = port.get("hostIP", ""), port.get("hostPort", 0)
    other_address, other_host = other.get("hostIP", ""), other.get("hostPort", 0)
    if (address, host) == (other_address, other_host):
        return "duplicate"
    if not host or not other_host:
        return "overlapping"
    ambiguous = host == other_host and bool(address) != bool(other_address)
    return "dangerously ambiguous" if ambiguous else ""


def _port_names(containers: Iterable[tuple[Object, str]]) -> Iterator[str]:
    known: dict[str, str] = {}
    for at, port in _ports(containers):
        name = port.get("name", "")
        if name in known:
            first = known[name]
            yield (
                f"{at}: duplicate port name {go_quote(name)} with {first}, "
                f"services and probes that select ports by name will use {first}"
            )
        elif name:
            known[name] = at


def _ports(containers: Iterable[tuple[Object, str]]) -> Iterator[tuple[str, Object]]:
    for container, where in containers:
        for index, port in enumerate(container.get("ports", ())):
            yield f"{where}.ports[{index}]", port


def _grace(spec: Object, at: str) -> Iterator[str]:
    if spec.get("terminationGracePeriodSeconds", 0) < 0:
        words = "must be >= 0; negative values are invalid and will be treated as 1"
        yield f"{at}.terminationGracePeriodSeconds: {words}"


def _affinity(affinity: Object, at: str) -> Iterator[str]:
    for kind in ("podAffinity", "podAntiAffinity"):
        for name, weighted in _AFFINITY_TERMS:
            for index, term in enumerate(affinity.get(kind, {}).get(name, ())):
                inner, below = (term["podAffinityTerm"], ".podAffinityTerm") if weighted else (term, "")
                if "labelSelector" not in inner:
                    yield f"{at}.{kind}.{name}[{index}]{below}.labelSelector: {_NULL_SELECTOR}"


def _addresses(spec: Object, at: str) -> Iterator[str]:
    for index, server in enumerate(spec.get("dnsConfig", {}).get("nameservers", ())):
        yield from ip_warnings(server, f"{at}.dnsConfig.nameservers[{index}]")
    for index, alias in enumerate(spec.get("hostAliases", ())):
        yield from ip_warnings(alias["ip"], f"{at}.hostAliases[{index}].ip")
