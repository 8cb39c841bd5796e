"""What an operator decides about an installation."""

from __future__ import annotations

from dataclasses import dataclass

import penstock
from penstock.errors import UsageError

NAME = "penstock"
"""Of the Deployment, its service account and its Service."""
MANAGED_BY = "app.kubernetes.io/managed-by"
PART_OF = "app.kubernetes.io/part-of"
COMPONENTS = ("source", "kustomize")
_SUFFIX = "-controller"
LEVELS = ("trace", "debug", "info", "error")


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallOptions:
    """An installation; the defaults are Flux's where it has them."""

    namespace: str = "flux-system"
    components: tuple[str, ...] = COMPONENTS
    image: str = ""
    """The whole name of the image; empty: `penstock` with the version as its tag, in the registry."""
    registry: str = ""
    image_pull_secret: str = ""
    replicas: int = 1
    watch_all_namespaces: bool = True
    network_policy: bool = True
    multi_tenant: bool = False
    """Kustomizations act only as service accounts of their own namespace, and nobody is cluster-admin."""
    log_level: str = "info"
    cluster_domain: str = "cluster.local"
    arguments: tuple[str, ...] = ()
    """More flags for the controllers."""

    @property
    def version(self) -> str:
        return f"v{penstock.__version__}"

    @property
    def full_image(self) -> str:
        if self.image:
            return self.image
        name = f"{NAME}:{self.version}"
        return f"{self.registry.rstrip('/')}/{name}" if self.registry else name

    def labels(self, component: str = "") -> dict[str, str]:
        """The labels of everything that is installed: Flux's own, so that its tools find it, and whose it is."""
        labels = {
            "app.kubernetes.io/instance": self.namespace,
            MANAGED_BY: NAME,
            PART_OF: "flux",
            "app.kubernetes.io/version": self.version,
        }
        return {"app.kubernetes.io/component": component, **labels} if component else labels


def components(text: str) -> tuple[str, ...]:
    """The components that a flag names, in the order of the flow; Flux's names for them are fine, too."""
    wanted = [part.strip().removesuffix(_SUFFIX) for part in text.split(",") if part.strip()]
    for name in wanted:
        if name not in COMPONENTS:
            known = ", ".join(f"{one}{_SUFFIX}" for one in COMPONENTS)
            raise UsageError(f"--components: there is no {name + _SUFFIX!r} here; there are {known}")
    if not wanted:
        raise UsageError("--components: name at least one")
    return tuple(name for name in COMPONENTS if name in wanted)
