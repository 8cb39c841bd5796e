"""What the controllers may do in a cluster, and what its users may do with their kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.api.kinds import HELM_GROUP, KUSTOMIZE_GROUP, NOTIFICATION_GROUP, SOURCE_GROUP
from penstock.install.options import NAME

if TYPE_CHECKING:
    from penstock.install.options import InstallOptions
    from penstock.kube import Object

_RBAC = "rbac.authorization.k8s.io"
_GROUPS = [SOURCE_GROUP, KUSTOMIZE_GROUP, HELM_GROUP, NOTIFICATION_GROUP]
_READ = ["get", "list", "watch"]
_WRITE = ["create", "delete", "deletecollection", "patch", "update"]


def roles(options: InstallOptions) -> list[Object]:
    """Cluster roles and their bindings. Names end in the namespace: two installations do not share them."""
    suffix = options.namespace
    found = [
        _role(options, f"{NAME}-controller-{suffix}", _controller_rules(options)),
        _binding(options, f"{NAME}-controller-{suffix}", f"{NAME}-controller-{suffix}"),
        _users(options, "view", _READ),
        _users(options, "edit", _WRITE),
    ]
    if "kustomize" in options.components and not options.multi_tenant:
        # Kustomizations that name no account are applied with the controller's own rights, as Flux does it.
        found.append(_binding(options, f"{NAME}-reconciler-{suffix}", "cluster-admin"))
    return found


def _controller_rules(options: InstallOptions) -> list[Object]:
    rules = [
        _rule(_GROUPS, ["*"], ["*"]),
        _rule([""], ["configmaps", "namespaces", "secrets", "serviceaccounts"], _READ),
        _rule([""], ["serviceaccounts/token"], ["create"]),
        _rule([""], ["events"], ["create", "patch"]),
        _rule(["apiextensions.k8s.io"], ["customresourcedefinitions"], _READ),
        _rule(["coordination.k8s.io"], ["leases"], ["create", "delete", *_READ, "patch", "update"]),
    ]
    if "kustomize" in options.components:
        rules.append(_rule([""], ["serviceaccounts"], ["impersonate"]))
    return rules


def _rule(groups: list[str], resources: list[str], verbs: list[str]) -> Object:
    return {"apiGroups": groups, "resources": resources, "verbs": verbs}


def _role(options: InstallOptions, name: str, rules: list[Object], **labels: str) -> Object:
    metadata: dict[str, Any] = {"name": name, "labels": {**options.labels(), **labels}}
    return {"apiVersion": f"{_RBAC}/v1", "kind": "ClusterRole", "metadata": metadata, "rules": rules}


def _users(options: InstallOptions, what: str, verbs: list[str]) -> Object:
    """What admins and editors of a namespace may do with our kinds there, and for reading, viewers too."""
    names = ("admin", "edit", "view") if what == "view" else ("admin", "edit")
    labels = {f"{_RBAC}/aggregate-to-{name}": "true" for name in names}
    return _role(options, f"{NAME}-{what}-{options.namespace}", [_rule(_GROUPS, ["*"], verbs)], **labels)


def _binding(options: InstallOptions, name: str, role: str) -> Object:
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name, "labels": options.labels()},
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": options.namespace}],
    }
