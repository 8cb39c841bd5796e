"""The kinds we speak, and the facts about each that a cluster needs to know.

The table is cheap to import: the Structs of a kind are loaded when somebody asks for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.api.wire import Wire


KUSTOMIZE_GROUP: Final = "kustomize.toolkit.fluxcd.io"
SOURCE_GROUP: Final = "source.toolkit.fluxcd.io"
HELM_GROUP: Final = "helm.toolkit.fluxcd.io"
NOTIFICATION_GROUP: Final = "notification.toolkit.fluxcd.io"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of `kubectl get`."""

    name: str
    path: str
    type: str = "string"


@dataclass(frozen=True, slots=True)
class Older:
    """An older version that is still served, so that old manifests apply.

    It has the fields of the current version, so that a write through it loses nothing, and besides them those old
    fields that never had an effect. An old field that did have one is refused by name: without conversion it
    would be stored, and then silently not honoured.
    """

    version: str
    spec: str = ""
    """Name of the Struct of its spec; empty for that of the current version."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind: how the API names it, and where to find the Struct that holds it."""

    group: str
    version: str
    plural: str
    kind: str
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    columns: tuple[Column, ...] = ()
    older: tuple[Older, ...] = ()
    keeps_variables: bool = True
    """The CRD itself is exempt from variable substitution: its schema may hold what looks like a variable."""
    namespaced: bool = True

    @property
    def handled(self) -> bool:
        """Whether there is a controller for it yet."""
        return self.kind in _HANDLED

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}"

    @property
    def crd_name(self) -> str:
        return f"{self.plural}.{self.group}"

    @property
    def struct(self) -> type[Wire]:
        """The Struct that holds an object of this kind."""
        return self.load(self.kind)

    def load(self, name: str) -> type[Wire]:
        """A Struct from the module of this kind."""
        module = import_module(f"penstock.api.{self.kind.lower()}")
        return cast("type[Wire]", getattr(module, name))


_AGE = Column("Age", ".metadata.creationTimestamp", "date")
_READY = Column("Ready", '.status.conditions[?(@.type=="Ready")].status')
_STATUS = Column("Status", '.status.conditions[?(@.type=="Ready")].message')
_URL = Column("URL", ".spec.url")


def _source(plural: str, kind: str, *columns: Column, short: str = "", older: tuple[Older, ...] = ()) -> Kind:
    return Kind(
        SOURCE_GROUP,
        "v1",
        plural,
        kind,
        short_names=(short,) if short else (),
        categories=("all", "fluxcd", "fluxcd-sources"),
        columns=columns,
        older=older,
    )


def _notification(version: str, plural: str, kind: str, *columns: Column) -> Kind:
    return Kind(
        NOTIFICATION_GROUP,
        version,
        plural,
        kind,
        categories=("all", "fluxcd", "fluxcd-notifications"),
        columns=columns,
        older=(Older("v1beta2"),),
    )


_ALL = (
    Kind(
        KUSTOMIZE_GROUP,
        "v1",
        "kustomizations",
        "Kustomization",
        short_names=("ks",),
        categories=("all", "fluxcd", "fluxcd-appliers"),
        columns=(_AGE, _READY, _STATUS),
    ),
    _source(
        "gitrepositories",
        "GitRepository",
        *(_URL, _AGE, _READY, _STATUS),
        short="gitrepo",
        older=(Older("v1beta2", "GitRepositorySpecV1beta2"),),
    ),
    _source(
        "ocirepositories",
        "OCIRepository",
        *(_URL, _READY, _STATUS, _AGE),
        short="ocirepo",
        older=(Older("v1beta2"),),
    ),
    _source(
        "buckets",
        "Bucket",
        *(Column("Endpoint", ".spec.endpoint"), _AGE, _READY, _STATUS),
        older=(Older("v1beta2", "BucketSpecV1beta2"),),
    ),
    _source(
        "helmrepositories",
        "HelmRepository",
        *(_URL, _AGE, _READY, _STATUS),
        short="helmrepo",
        older=(Older("v1beta2"),),
    ),
    _source(
        "helmcharts",
        "HelmChart",
        Column("Chart", ".spec.chart"),
        Column("Version", ".spec.version"),
        Column("Source Kind", ".spec.sourceRef.kind"),
        Column("Source Name", ".spec.sourceRef.name"),
        *(_AGE, _READY, _STATUS),
        short="hc",
        older=(Older("v1beta2", "HelmChartSpecV1beta2"),),
    ),
    _source(
        "externalartifacts",
        "ExternalArtifact",
        *(_AGE, _READY, _STATUS, Column("Source", ".spec.sourceRef.name")),
        short="ea",
    ),
    Kind(
        HELM_GROUP,
        "v2",
        "helmreleases",
        "HelmRelease",
        short_names=("hr",),
        columns=(_AGE, _READY, _STATUS),
        older=(Older("v2beta2"),),
        keeps_variables=False,
    ),
    _notification("v1beta3", "providers", "Provider", _AGE),
    _notification("v1beta3", "alerts", "Alert", _AGE),
    _notification("v1", "receivers", "Receiver", _AGE, _READY, _STATUS),
)

_HANDLED = frozenset({"Kustomization", "GitRepository", "OCIRepository", "Bucket", "ExternalArtifact"})

KINDS: Final[Mapping[str, Kind]] = MappingProxyType({kind.kind: kind for kind in _ALL})
"""Every kind by its name, in the order in which the CRDs are written."""


def kind_of(obj: Mapping[str, Any]) -> Kind | None:
    """The kind that an object claims to be, whatever its version; None when it is not ours."""
    kind = KINDS.get(obj.get("kind") or "")
    group = (obj.get("apiVersion") or "").rpartition("/")[0]
    return kind if kind and kind.group == group else None
