"""Who works when a process runs more than once: the one that holds the lease, or all, each on its share."""

from __future__ import annotations

import hashlib
import socket
import uuid
from typing import TYPE_CHECKING

from penstock.kube import Lease, Membership
from penstock.kube.membership import MEMBER_TERMS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.kube import Client, ObjectRef, Terms
    from penstock.runtime import Controller, Manager


class KeptLease(Lease):
    """A lease that is not given back at the end: the next one waits until it has run out."""

    async def release(self) -> None:
        """Leave it as it is."""


class Shares:
    """Which objects are ours to work on; without other replicas, all."""

    def __init__(self, membership: Membership | None = None) -> None:
        self._membership = membership

    def mine(self, ref: ObjectRef) -> bool:
        """True when the object falls to this replica, and that is certain."""
        return self._membership is None or self._membership.mine(str(ref))

    def follow(self, controller: Controller) -> None:
        """Have the controller hear when the shares change."""
        if self._membership is not None:
            self._membership.subscribe(controller.rebalance)


def shares(
    manager: Manager, client: Client, names: Sequence[str], *, namespace: str, selector: str, terms: Terms | None
) -> Shares:
    """Become one of several replicas; `names` are the components that this process runs."""
    membership = Membership(
        client,
        group=f"{_process(names)}-member{_shard(selector)}",
        namespace=namespace,
        identity=identity(),
        terms=terms or MEMBER_TERMS,
    )
    manager.add_service("the membership of this replica", membership.run)
    return Shares(membership)


def lease(
    client: Client, names: Sequence[str], *, namespace: str, selector: str, terms: Terms | None, release: bool
) -> Lease:
    """One lease for the process; alone, a component has the one that Flux's controller of that name holds."""
    name = f"{_process(names)}-leader-election{_shard(selector)}"
    kind = Lease if release else KeptLease
    return kind(client, name=name, namespace=namespace, holder=identity(), terms=terms)


def identity() -> str:
    """A name that no other process has, and that tells a person where it runs."""
    return f"{socket.gethostname()}_{uuid.uuid4()}"


def _process(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else "penstock"


def _shard(selector: str) -> str:
    """Shards have leases of their own, under Flux's names."""
    return f"-{hashlib.sha256(selector.encode()).hexdigest()[:8]}" if selector else ""
