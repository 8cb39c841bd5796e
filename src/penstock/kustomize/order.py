"""The order of objects: by kind, so that what others need comes first."""

from collections.abc import Sequence

from penstock.kustomize.collection import Collection
from penstock.kustomize.errors import KustomizationError
from penstock.kustomize.ids import Gvk
from penstock.kustomize.resource import Resource

FIRST = (
    "Namespace",
    "ResourceQuota",
    "StorageClass",
    "CustomResourceDefinition",
    "ServiceAccount",
    "PodSecurityPolicy",
    "Role",
    "ClusterRole",
    "RoleBinding",
    "ClusterRoleBinding",
    "ConfigMap",
    "Secret",
    "Endpoints",
    "Service",
    "LimitRange",
    "PriorityClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Deployment",
    "StatefulSet",
    "CronJob",
    "PodDisruptionBudget",
)
LAST = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")


def _ranks(first: Sequence[str], last: Sequence[str]) -> dict[str, int]:
    ranks = {kind: position - len(first) for position, kind in enumerate(first)}
    ranks.update({kind: position + 1 for position, kind in enumerate(last)})
    return ranks


_DEFAULT = _ranks(FIRST, LAST)


def kind_order(gvk: Gvk, ranks: dict[str, int] = _DEFAULT) -> tuple[int, str]:
    """The place of a type: its kind's rank, then group, version and kind, the empty group last."""
    return ranks.get(gvk.kind, 0), f"{gvk.group or '~G'}_{gvk.version or '~V'}_{gvk.kind or '~K'}"


def sort(collection: Collection, *, first: Sequence[str] = FIRST, last: Sequence[str] = LAST) -> None:
    """Put the objects in the legacy order: by kind, then namespace and name."""
    types: dict[tuple[str, str, str], tuple[int, str, str]] = {}
    ranks = _DEFAULT if (first, last) == (FIRST, LAST) else _ranks(first, last)

    def key(resource: Resource) -> tuple[int, str, str]:
        group, version, kind, name, _ = resource.id
        known = types.get((group, version, kind))
        if known is None:
            known = types[group, version, kind] = type_key(Gvk(group, version, kind))
        rank, text, shown = known
        return rank, text, f"{shown}|{resource.namespace or '~X'}|{name or '~N'}"

    def type_key(gvk: Gvk) -> tuple[int, str, str]:
        rank, text = kind_order(gvk, ranks)
        if gvk.kind == "Namespace" and not gvk.group:
            text = ""  # before the namespaces of other groups
        return rank, text, str(gvk)

    collection.resources.sort(key=key)


def check(order: str, *, has_legacy_options: bool) -> None:
    """The rules for `sortOptions`."""
    if order not in ("legacy", "fifo"):
        raise KustomizationError("sortOptions.order must be 'legacy' or 'fifo'")
    if order == "fifo" and has_legacy_options:
        raise KustomizationError("sortOptions.legacySortOptions needs the order 'legacy', not 'fifo'")
