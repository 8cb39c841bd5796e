"""Kustomizations that a Kustomization has installed: when they are deleted, they go before everything they need.

A child cleans up with its own account, from its own source. Were those deleted together with it, what it applied would
stay behind. So dependents go before their dependencies, all of them before the rest, and each is waited for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.api.inventory import Identity
from penstock.apply import ChangeSet, PruneFailed, TerminationTimeout, until_terminated
from penstock.controllers.kustomization.dependencies import GROUP, KIND
from penstock.kube import Resource
from penstock.kube.errors import KubeError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.api.inventory import InventoryEntry
    from penstock.api.kustomization import Kustomization
    from penstock.apply import Owner
    from penstock.controllers.kustomization.target import Target
    from penstock.runtime import Run

_KUSTOMIZATIONS = Resource(GROUP, "v1", "kustomizations", KIND)


async def prune(
    target: Target, entries: Iterable[InventoryEntry], *, owner: Owner, run: Run, parent: Kustomization
) -> ChangeSet:
    """Delete objects, children first; PruneFailed when something may still be there.

    A child that does not go within the timeout keeps everything after it, and is waited for again in the next run.
    """
    everything = tuple(entries)
    found = {entry.identity: entry for entry in everything if _is_child(entry.identity, parent)}
    done = ChangeSet()
    for layer in _layers(await _dependencies(target, found)):
        gone = await target.applier.prune([found[identity] for identity in layer], owner=owner, guard=run.fence.check)
        async with run.parked("the children"):
            await _until_gone(target, gone, parent)
        done += gone
    rest = [entry for entry in everything if entry.identity not in found]
    return done + await target.applier.prune(rest, owner=owner, guard=run.fence.check)


def _is_child(identity: Identity, parent: Kustomization) -> bool:
    """The parent itself may be among what it applied; it goes when it is finished, and nobody waits for it."""
    own = (GROUP, KIND, parent.metadata.namespace, parent.metadata.name)
    return (identity.group, identity.kind) == (GROUP, KIND) and tuple(identity) != own


async def _until_gone(target: Target, changes: ChangeSet, parent: Kustomization) -> None:
    try:
        await until_terminated(target.client, changes, timeout=parent.spec.health_timeout.seconds)
    except TerminationTimeout as error:
        told = f"Kustomizations that were installed have to go before what they need: {error}"
        raise PruneFailed([told], ChangeSet()) from error


async def _dependencies(target: Target, children: Iterable[Identity]) -> dict[Identity, set[Identity]]:
    """On which of the others each child depends; one that cannot be read is taken to need nobody."""
    known = {(one.namespace, one.name): one for one in children}
    needs: dict[Identity, set[Identity]] = {}
    for (namespace, name), child in known.items():
        try:
            live = await target.client.get(_KUSTOMIZATIONS, name, namespace)
        except KubeError:
            live = {}
        named = ((live.get("spec") or {}).get("dependsOn")) or ()
        places = ((one.get("namespace") or namespace, one.get("name")) for one in named)
        needs[child] = {known[place] for place in places if place in known and known[place] != child}
    return needs


def _layers(needs: dict[Identity, set[Identity]]) -> list[list[Identity]]:
    """Who is needed by nobody first, then who is needed by nobody of the rest; a circle goes all at once."""
    left = dict(needs)
    layers: list[list[Identity]] = []
    while left:
        needed = set[Identity]().union(*left.values())
        layer = sorted(one for one in left if one not in needed) or sorted(left)
        layers.append(layer)
        for one in layer:
            del left[one]
    return layers
