"""Puts an installation into a cluster, beside whatever is there already."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock import health
from penstock.apply import Applier, Owner
from penstock.errors import UsageError
from penstock.install.manifests import manifests
from penstock.install.options import MANAGED_BY, NAME, PART_OF
from penstock.kube import ObjectRef
from penstock.kube.errors import NotFound
from penstock.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, DEPLOYMENTS

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.apply import ChangeSet
    from penstock.install.options import InstallOptions
    from penstock.kube import Client, Object

GROUP = "install.penstock.dev"
"""Under which objects can say how they want to be treated, such as `install.penstock.dev/ssa: Ignore`."""
_OWNER = "kustomize.toolkit.fluxcd.io/name"


class OtherInstallation(UsageError):
    """Somebody else manages the kinds already."""


@dataclass(frozen=True, slots=True)
class Installed:
    """What an installation did."""

    changes: ChangeSet
    kept: tuple[str, ...] = ()
    """Names of definitions that another installation brought, and that were left as they are."""


async def install(
    client: Client,
    options: InstallOptions,
    *,
    force: bool = False,
    wait: float | None = 300.0,
    tell: Callable[[str], None] = lambda _: None,
) -> Installed:
    """Apply the objects and wait up to so many seconds until the controllers are ready; None: do not wait.

    OtherInstallation when other controllers work on the same kinds; with `force` they are not looked for, and
    definitions that somebody else manages are overwritten.
    """
    objects = manifests(options)
    kept: tuple[str, ...] = ()
    if not force:
        await _refuse_company(client, options)
        objects, kept = await _without_foreign(client, objects)
    tell(f"applying {len(objects)} objects")
    owner = Owner(NAME, options.namespace, GROUP)
    changes = await Applier(client, manager=NAME).apply(objects, owner=owner)
    if wait is not None:
        tell("waiting for the controllers")
        ref = ObjectRef(DEPLOYMENTS.group, DEPLOYMENTS.kind, options.namespace, NAME)
        await health.wait(client, [ref], timeout=wait)
    return Installed(changes, kept)


async def _refuse_company(client: Client, options: InstallOptions) -> None:
    """Two controllers that work on the same objects would fight over them."""
    names = {f"{component}-controller" for component in options.components} | {NAME}
    listing = await client.list(DEPLOYMENTS, labels=f"{PART_OF}=flux")
    company = [obj for obj in listing.items if obj["metadata"]["name"] in names and _works(obj, options)]
    if company:
        told = ", ".join(map(_told, company))
        raise OtherInstallation(f"other controllers work on the same kinds: {told}; scale them to 0, or use --force")


def _works(deployment: Object, options: InstallOptions) -> bool:
    """Whether it is somebody else's and runs."""
    ours = _is_ours(deployment) and deployment["metadata"]["namespace"] == options.namespace
    return not ours and (deployment.get("spec") or {}).get("replicas") != 0


def _told(deployment: Object) -> str:
    metadata = deployment["metadata"]
    place = f"Deployment/{metadata['namespace']}/{metadata['name']}"
    manager = (metadata.get("labels") or {}).get(_OWNER)
    return f"{place} (kept there by the Kustomization {manager})" if manager else place


async def _without_foreign(client: Client, objects: list[Object]) -> tuple[list[Object], tuple[str, ...]]:
    """The objects without definitions that another installation brought: they are the same kinds, and stay its own."""
    chosen: list[Object] = []
    kept: list[str] = []
    for obj in objects:
        if obj["kind"] == CUSTOM_RESOURCE_DEFINITIONS.kind and await _is_foreign(client, obj["metadata"]["name"]):
            kept.append(obj["metadata"]["name"])
        else:
            chosen.append(obj)
    return chosen, tuple(kept)


async def _is_foreign(client: Client, definition: str) -> bool:
    try:
        live = await client.get(CUSTOM_RESOURCE_DEFINITIONS, definition)
    except NotFound:
        return False
    return PART_OF in (live["metadata"].get("labels") or {}) and not _is_ours(live)


def _is_ours(obj: Object) -> bool:
    return (obj["metadata"].get("labels") or {}).get(MANAGED_BY) == NAME
