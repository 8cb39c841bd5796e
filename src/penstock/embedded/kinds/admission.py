"""What the API server's own admission plugins do by default: they look at other objects too.

Service accounts and their tokens for pods, priorities, tolerations, default classes, protection of volumes, addresses
of Services. Namespaces and their life cycle are looked after elsewhere.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Protocol

from penstock.embedded.kinds.addresses import ServiceAddresses
from penstock.embedded.status import forbidden
from penstock.schema.quantity import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from penstock.embedded.server.ports import Attempt
    from penstock.embedded.storage import Change
    from penstock.kube.resources import Object

TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105 - where tokens are mounted
TOKEN_VOLUME = "kube-api-access-"  # noqa: S105
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_TOLERATED_SECONDS = 300
_STORAGE, _NETWORKING = "storage.k8s.io", "networking.k8s.io"
_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
_DEFAULT_CLASS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")


class Lookup(Protocol):
    """How admission sees other objects."""

    def get(self, group: str, kind: str, name: str, namespace: str = "") -> Object | None: ...
    def list(self, group: str, kind: str) -> Iterable[Object]: ...


class KindAdmission:
    """Changes what is about to be written, or refuses it; also sees what was written, to know taken addresses."""

    def __init__(
        self, lookup: Lookup, addresses: ServiceAddresses | None = None, *, choose: random.Random | None = None
    ) -> None:
        self._lookup = lookup
        self._random = choose or random.Random()  # noqa: S311 - names, not secrets
        self._addresses = addresses
        self._steps: dict[tuple[str, str], Callable[[Attempt], None]] = {
            ("", "Pod"): self._pod,
            ("", "Node"): self._node,
            ("", "Service"): self._service,
            ("", "PersistentVolume"): self._volume,
            ("", "PersistentVolumeClaim"): self._claim,
            (_STORAGE, "VolumeAttributesClass"): self._attributes_class,
            (_NETWORKING, "Ingress"): self._ingress,
        }
        self._checks: dict[tuple[str, str], Callable[[Attempt], None]] = {
            ("", "PersistentVolumeClaim"): self._resize,
            ("scheduling.k8s.io", "PriorityClass"): self._priority_class,
        }

    @property
    def addresses(self) -> ServiceAddresses:
        """Known after the first use: the store may hold Services already."""
        if self._addresses is None:
            self._addresses = ServiceAddresses(self._lookup.list("", "Service"), choose=self._random)
        return self._addresses

    def admit(self, attempt: Attempt) -> None:
        if attempt.subresource or attempt.operation == "DELETE" or attempt.obj is None:
            return
        step = self._steps.get((attempt.resource.group, attempt.resource.kind))
        if step is not None:
            step(attempt)

    def validate(self, attempt: Attempt) -> None:
        """What is refused for the sake of others, once the object itself is sound."""
        check = self._checks.get((attempt.resource.group, attempt.resource.kind))
        if check is not None and not attempt.subresource and attempt.obj is not None:
            check(attempt)

    def changed(self, change: Change) -> None:
        """Keep count of the addresses of Services."""
        if change.record.collection != "/services" or self._addresses is None:
            return
        old = change.old.object() if change.old is not None else None
        self._addresses.stored(None if change.type == "DELETED" else change.object(), old)

    def _service(self, attempt: Attempt) -> None:
        if attempt.obj is not None:
            self.addresses.give(attempt.obj, attempt.old, dry_run=attempt.dry_run)

    def _pod(self, attempt: Attempt) -> None:
        pod = attempt.obj or {}
        if attempt.operation == "CREATE":
            self._give_account(attempt, pod)
            self._give_priority(attempt, pod)
            self._give_runtime(attempt, pod)
        elif attempt.old is not None:
            for name in ("priority", "preemptionPolicy"):
                if name in attempt.old["spec"]:
                    pod["spec"].setdefault(name, attempt.old["spec"][name])
        _tolerate(pod["spec"])

    def _give_account(self, attempt: Attempt, pod: Object) -> None:
        if "kubernetes.io/config.mirror" in pod["metadata"].get("annotations", {}):
            return
        spec = pod["spec"]
        name = spec.get("serviceAccountName") or "default"
        spec["serviceAccountName"] = spec["serviceAccount"] = name
        account = self._lookup.get("", "ServiceAccount", name, attempt.namespace)
        if account is None:
            why = f'error looking up service account {attempt.namespace}/{name}: serviceaccount "{name}" not found'
            raise forbidden("pods", attempt.name, why)
        mounted = spec.get("automountServiceAccountToken", account.get("automountServiceAccountToken", True))
        if mounted:
            self._mount_token(spec)
        if "imagePullSecrets" not in spec and account.get("imagePullSecrets"):
            spec["imagePullSecrets"] = [{"name": one.get("name", "")} for one in account["imagePullSecrets"]]

    def _mount_token(self, spec: Object) -> None:
        volumes = spec.get("volumes", [])
        known = next((one["name"] for one in volumes if one["name"].startswith(TOKEN_VOLUME)), "")
        name = known or TOKEN_VOLUME + "".join(self._random.choices(_LETTERS, k=5))
        used = False
        for container in (*spec.get("initContainers", ()), *(spec["containers"] or ())):
            mounts = container.get("volumeMounts", [])
            if any(mount["mountPath"] == TOKEN_PATH for mount in mounts):
                continue
            container["volumeMounts"] = [*mounts, {"name": name, "readOnly": True, "mountPath": TOKEN_PATH}]
            used = True
        if used and not known:
            spec["volumes"] = [*volumes, _token_volume(name)]

    def _give_priority(self, attempt: Attempt, pod: Object) -> None:
        spec = pod["spec"]
        value, policy = 0, "PreemptLowerPriority"
        chosen: Object | None = None
        if name := spec.get("priorityClassName"):
            chosen = self._lookup.get("scheduling.k8s.io", "PriorityClass", name)
            if chosen is None:
                raise forbidden("pods", attempt.name, f"no PriorityClass with name {name} was found")
        else:
            chosen = self._default_priority()
        if chosen is not None:
            spec["priorityClassName"] = chosen["metadata"]["name"]
            value, policy = chosen["value"], chosen["preemptionPolicy"]
        computed = "priority admission controller computed {} from the given PriorityClass name"
        if spec.get("priority", value) != value:
            why = f"the integer value of priority ({spec['priority']}) must not be provided in pod spec; "
            raise forbidden("pods", attempt.name, why + computed.format(value))
        if spec.get("preemptionPolicy", policy) != policy:
            why = (
                f"the string value of PreemptionPolicy ({spec['preemptionPolicy']}) must not be provided in pod spec; "
            )
            raise forbidden("pods", attempt.name, why + computed.format(policy))
        spec["priority"], spec["preemptionPolicy"] = value, policy

    def _default_priority(self) -> Object | None:
        marked = [one for one in self._lookup.list("scheduling.k8s.io", "PriorityClass") if one.get("globalDefault")]
        return min(marked, key=lambda one: one["value"], default=None)

    def _give_runtime(self, attempt: Attempt, pod: Object) -> None:
        name = pod["spec"].get("runtimeClassName")
        if name is None:
            return
        runtime = self._lookup.get("node.k8s.io", "RuntimeClass", name)
        if runtime is None:
            raise forbidden("pods", attempt.name, f'pod rejected: RuntimeClass "{name}" not found')
        if overhead := runtime.get("overhead", {}).get("podFixed"):
            pod["spec"]["overhead"] = dict(overhead)
        scheduling = runtime.get("scheduling", {})
        if selector := scheduling.get("nodeSelector"):
            pod["spec"]["nodeSelector"] = {**selector, **pod["spec"].get("nodeSelector", {})}
        if tolerations := scheduling.get("tolerations"):
            own = pod["spec"].get("tolerations", [])
            pod["spec"]["tolerations"] = [*own, *(one for one in tolerations if one not in own)]

    def _priority_class(self, attempt: Attempt) -> None:
        obj = attempt.obj or {}
        if not obj.get("globalDefault"):
            return
        default = self._default_priority()
        if default is not None and default["metadata"]["name"] != obj["metadata"].get("name"):
            why = (
                f"PriorityClass {default['metadata']['name']} is already marked as default. Only one default can exist"
            )
            raise forbidden("priorityclasses", attempt.name, why, group="scheduling.k8s.io")

    def _node(self, attempt: Attempt) -> None:
        """A new node is not ready until it says so."""
        if attempt.operation == "CREATE" and attempt.obj is not None:
            spec = attempt.obj["spec"]
            taint = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
            if not any(one["key"] == taint["key"] and one["effect"] == "NoSchedule" for one in spec.get("taints", ())):
                spec["taints"] = [*spec.get("taints", ()), taint]

    def _volume(self, attempt: Attempt) -> None:
        if attempt.operation == "CREATE" and attempt.obj is not None:
            _protect(attempt.obj, "kubernetes.io/pv-protection")

    def _attributes_class(self, attempt: Attempt) -> None:
        if attempt.operation == "CREATE" and attempt.obj is not None:
            _protect(attempt.obj, "kubernetes.io/vac-protection")

    def _claim(self, attempt: Attempt) -> None:
        claim = attempt.obj or {}
        if attempt.operation == "UPDATE":
            return
        if "storageClassName" not in claim["spec"]:
            annotations = claim["metadata"].get("annotations", {})
            default = None if _CLASS_ANNOTATION in annotations else self._default_class()
            if default is not None:
                claim["spec"]["storageClassName"] = default["metadata"]["name"]
        _protect(claim, "kubernetes.io/pvc-protection")

    def _default_class(self) -> Object | None:
        marked = [one for one in self._lookup.list(_STORAGE, "StorageClass") if _is_marked(one, *_DEFAULT_CLASS)]
        return _newest(marked)

    def _resize(self, attempt: Attempt) -> None:
        claim, old = attempt.obj or {}, attempt.old
        if old is None:
            return
        size, before = (_storage(one) for one in (claim, old))
        if size <= before:
            return
        if old["status"].get("phase") != "Bound":
            why = "Only bound persistent volume claims can be expanded"
            raise forbidden("persistentvolumeclaims", attempt.name, why)
        name = claim["spec"].get("storageClassName", "")
        chosen = self._lookup.get(_STORAGE, "StorageClass", name) if name else None
        if chosen is None or not chosen.get("allowVolumeExpansion"):
            why = (
                "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must "
                "support resize"
            )
            raise forbidden("persistentvolumeclaims", attempt.name, why)

    def _ingress(self, attempt: Attempt) -> None:
        ingress = attempt.obj or {}
        if attempt.operation != "CREATE" or "ingressClassName" in ingress["spec"]:
            return
        if "kubernetes.io/ingress.class" in ingress["metadata"].get("annotations", {}):
            return
        mark = "ingressclass.kubernetes.io/is-default-class"
        default = _newest([one for one in self._lookup.list(_NETWORKING, "IngressClass") if _is_marked(one, mark)])
        if default is not None:
            ingress["spec"]["ingressClassName"] = default["metadata"]["name"]


def _token_volume(name: str) -> Object:
    field = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
    sources = [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": field}]}},
    ]
    return {"name": name, "projected": {"sources": sources, "defaultMode": 420}}


def _tolerate(spec: Object) -> None:
    """A pod stays for five minutes on a node that is lost, unless it says otherwise."""
    tolerations = spec.get("tolerations", [])
    for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"):
        if not any(_covers(one, key) for one in tolerations):
            toleration = {
                "key": key,
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": _TOLERATED_SECONDS,
            }
            spec["tolerations"] = tolerations = [*tolerations, toleration]


def _covers(toleration: Object, key: str) -> bool:
    return toleration.get("key", "") in ("", key) and toleration.get("effect", "") in ("", "NoExecute")


def _protect(obj: Object, finalizer: str) -> None:
    finalizers = obj["metadata"].get("finalizers", [])
    if finalizer not in finalizers:
        obj["metadata"]["finalizers"] = [*finalizers, finalizer]


def _storage(claim: Object) -> int:
    return parse(claim["spec"]["resources"].get("requests", {}).get("storage", "0")).nano


def _is_marked(obj: Object, *annotations: str) -> bool:
    told = obj["metadata"].get("annotations", {})
    return any(told.get(annotation) == "true" for annotation in annotations)


def _newest(objects: list[Object]) -> Object | None:
    """The youngest; among those of one second, the first by name."""
    objects.sort(key=lambda one: one["metadata"]["name"])
    return max(objects, key=lambda one: one["metadata"].get("creationTimestamp") or "", default=None)
