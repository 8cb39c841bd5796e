"""Writes to a pod that go through its subresources `resize` and `ephemeralcontainers`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.embedded.kinds.difference import difference
from penstock.embedded.kinds.pods.quality import quality_of_service
from penstock.embedded.kinds.problems import Problems, forbidden, go_quote, invalid

if TYPE_CHECKING:
    from penstock.kube.resources import Object

_KEPT = ("deletionTimestamp", "labels", "annotations", "finalizers", "ownerReferences")
_LISTS = ("containers", "initContainers")
_MIRROR = "kubernetes.io/config.mirror"
_RESIZABLE = ("cpu", "memory")
_NOWHERE = "[]"
"""How the API server spells the path of no field."""
_ONLY = "only cpu and memory resources are mutable"


def keep_for_resize(new: Object, old: Object) -> None:
    """Put everything back but resources; containers that are not the same ones stay, to be refused."""
    spec, before = new["spec"], old["spec"]
    if any(len(spec.get(kind) or ()) != len(before.get(kind) or ()) for kind in _LISTS):
        return
    kept = {**before}
    for kind in _LISTS:
        if spec.get(kind):
            kept[kind] = _resized(spec[kind], before[kind])
    kept.pop("resources", None)
    if "resources" in spec:
        kept["resources"] = spec["resources"]
    _keep(new, old, kept)


def keep_for_ephemeral(new: Object, old: Object) -> None:
    """Put everything back but the ephemeral containers."""
    kept = {**old["spec"]}
    kept.pop("ephemeralContainers", None)
    if "ephemeralContainers" in new["spec"]:
        kept["ephemeralContainers"] = new["spec"]["ephemeralContainers"]
    _keep(new, old, kept)


def _keep(new: Object, old: Object, spec: Object) -> None:
    new["spec"], new["status"] = spec, old["status"]
    for name in _KEPT:
        new["metadata"].pop(name, None)
        if name in old["metadata"]:
            new["metadata"][name] = old["metadata"][name]


def _resized(containers: list[Object], before: list[Object]) -> list[Object]:
    if any(one["name"] != other["name"] for one, other in zip(containers, before, strict=True)):
        return containers
    made: list[Object] = []
    for one, other in zip(containers, before, strict=True):
        kept = {**other, "resources": one["resources"]}
        kept.pop("resizePolicy", None)
        if "resizePolicy" in one:
            kept["resizePolicy"] = one["resizePolicy"]
        made.append(kept)
    return made


def check_ephemeral_change(problems: Problems, new: Object, old: Object) -> None:
    """Ephemeral containers can be added, and that is all."""
    if _MIRROR in old["metadata"].get("annotations", {}):
        problems[:] = [forbidden(_NOWHERE, "static pods do not support ephemeral containers")]
        return
    named = {one["name"]: one for one in new["spec"].get("ephemeralContainers", ())}
    for before in old["spec"].get("ephemeralContainers", ()):
        after, name = named.get(before["name"]), go_quote(before["name"])
        if after is None:
            detail = f"existing ephemeral containers {name} may not be removed\n"
            problems.append(forbidden("spec.ephemeralContainers", detail))
        elif after != before:
            changes = difference("core.EphemeralContainer", before, after)
            detail = f"existing ephemeral containers {name} may not be changed\n{changes}"
            problems.append(forbidden("spec.ephemeralContainers", detail))


def check_resize_change(problems: Problems, new: Object, old: Object) -> None:
    """CPU and memory may become more or less, not none, and the pod stays in its class."""
    if refusal := _unresizable(old):
        problems[:] = [forbidden(_NOWHERE, refusal)]
        return
    spec, before = new["spec"], old["spec"]
    quality = old["status"].get("qosClass", "")
    if (quality or quality_of_service(before)) != quality_of_service(spec):
        problems.append(invalid("spec", quality, "Pod QOS Class may not change as a result of resizing"))
    if not _node_resizes(old["status"]):
        problems.append(forbidden("spec", "Pod running on node without support for resize"))
    compared = {**spec}
    if _has_own_resources(spec) or _has_own_resources(before):
        _check_pod_resources(problems, spec, before, compared)
    if not _check_order(problems, spec, before):
        return
    _check_removed(problems, spec, before)
    _check_containers(problems, spec, before, compared)
    if not problems and compared != before:
        problems.append(forbidden("spec", _ONLY))


def _unresizable(old: Object) -> str:
    if _MIRROR in old["metadata"].get("annotations", {}):
        return "static pods cannot be resized"
    if old["spec"].get("os", {}).get("name") == "windows":
        return "windows pods cannot be resized"
    return ""


def _node_resizes(status: Object) -> bool:
    """A kubelet that can resize says so: it tells the resources of containers that run."""
    for container in status.get("containerStatuses", ()):
        if "running" in container.get("state", {}):
            return "resources" in container
    return True


def _has_own_resources(spec: Object) -> bool:
    resources = spec.get("resources", {})
    return bool(resources.get("requests") or resources.get("limits"))


def _check_pod_resources(problems: Problems, spec: Object, before: Object, compared: Object) -> None:
    """The resources of the pod as a whole; `compared` gets them with CPU and memory as they were."""
    if "resources" in before and "resources" not in spec:
        problems.append(forbidden("spec.resources", "pod-level resources cannot be removed"))
        return
    now, then = spec["resources"], before.get("resources", {})
    if "resources" in before:
        for name in ("requests", "limits"):
            if _removed(now, then, name):
                problems.append(forbidden(f"spec.resources.{name}", f"pod-level resource {name} cannot be removed"))
    made = _without_changes(now, then)
    if "claims" in now:
        made["claims"] = now["claims"]
    if made or "resources" in before:
        compared["resources"] = made
    else:
        compared.pop("resources")
    if compared.get("resources") != before.get("resources"):
        problems.append(forbidden("spec", f"{_ONLY} at pod-level"))


def _check_order(problems: Problems, spec: Object, before: Object) -> bool:
    sound = True
    for kind in _LISTS:
        now, then = spec.get(kind) or (), before.get(kind) or ()
        if len(now) != len(then):
            problems.append(forbidden(f"spec.{kind}", f"{kind} may not be added or removed on resize"))
            sound = False
            continue
        for index, (one, other) in enumerate(zip(now, then, strict=True)):
            if one["name"] != other["name"]:
                at = f"spec.{kind}[{index}].name"
                problems.append(forbidden(at, f"{kind} may not be renamed or reordered on resize"))
                sound = False
    return sound


def _check_removed(problems: Problems, spec: Object, before: Object) -> None:
    for kind in ("initContainers", "containers"):
        for index, (one, other) in enumerate(zip(spec.get(kind) or (), before.get(kind) or (), strict=True)):
            at = f"spec.{kind}[{index}].resources"
            for name in ("requests", "limits"):
                if _removed(one["resources"], other["resources"], name):
                    problems.append(forbidden(f"{at}.{name}", f"resource {name} cannot be removed"))


def _check_containers(problems: Problems, spec: Object, before: Object, compared: Object) -> None:
    """Nothing but CPU and memory changes; `compared` gets the containers with both as they were."""
    for kind in _LISTS:
        if not spec.get(kind):
            continue
        compared[kind] = []
        for index, (one, other) in enumerate(zip(spec[kind], before[kind], strict=True)):
            made = {**one, "resources": _without_changes(one["resources"], other["resources"])}
            compared[kind].append(made)
            if kind == "containers":
                if made != other:
                    problems.append(forbidden("spec", _ONLY))
                continue
            at = f"spec.initContainers[{index}]"
            if made != other:
                problems.append(
                    forbidden(at, "only cpu and memory resources for init or sidecar containers are mutable")
                )
            if one != other and one.get("restartPolicy") != "Always":
                detail = "non-sidecar init containers with a resize policy of RestartContainer cannot be resized"
                restarts = [each for each in one.get("resizePolicy", ()) if each["restartPolicy"] == "RestartContainer"]
                problems += [forbidden(at, detail) for _ in restarts]


def _removed(now: Object, then: Object, name: str) -> bool:
    return not {*then.get(name, {})} <= {*now.get(name, {})}


def _without_changes(now: Object, then: Object) -> Object:
    """Requests and limits with CPU and memory put back; claims of devices are not looked at, and missing."""
    made: Object = {}
    for name in ("limits", "requests"):
        kept = {key: value for key, value in now.get(name, {}).items() if key not in _RESIZABLE}
        kept |= {key: value for key, value in then.get(name, {}).items() if key in _RESIZABLE}
        if kept:
            made[name] = kept
    return made
