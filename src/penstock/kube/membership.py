"""Replicas that share the work: who is there, and which of them an object belongs to.

Every replica holds a Lease of its own. The members are the holders whose leases are being renewed; each object
belongs to the member with the highest hash of (member, object), so that one that leaves or joins moves only its
own share. A replica takes over what was another's only when that one's lease has run out: two never work on
one object at once.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

import structlog

from penstock.kube.cache import Change, WatchCache
from penstock.kube.leases import Lease, Terms
from penstock.kube.resources import LEASES, Object

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from penstock.kube.client import Client

GROUP_LABEL = "penstock.dev/members-of"
MEMBER_TERMS = Terms(duration=6.0, renew_within=4.0, retry=1.0)
"""A dead replica's objects move within seven seconds; a living one may miss three renewals."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class _Sighting:
    """A member's lease as last seen."""

    holder: str
    renewed: str
    duration: float


def owner(members: frozenset[str], key: str) -> str | None:
    """The member that an object belongs to: the same answer in every replica, whatever the order."""
    return max(members, key=lambda member: (_weight(member, key), member), default=None)


def _weight(member: str, key: str) -> bytes:
    return blake2b(key.encode(), digest_size=8, key=blake2b(member.encode()).digest()).digest()


class Membership:
    """One replica among several."""

    def __init__(
        self, client: Client, *, group: str, namespace: str, identity: str, terms: Terms = MEMBER_TERMS
    ) -> None:
        self.identity = identity
        self._terms = terms
        self._lease = Lease(
            client,
            name=f"{group}-{blake2b(identity.encode(), digest_size=5).hexdigest()}",
            namespace=namespace,
            holder=identity,
            terms=terms,
            labels={GROUP_LABEL: group},
        )
        self._leases: WatchCache[_Sighting] = WatchCache(
            client, LEASES, namespace=namespace, labels=f"{GROUP_LABEL}={group}", transform=_sighting
        )
        self._leases.subscribe(self._changed)
        self._seen_at: dict[str, float] = {}
        self._duration: dict[str, float] = {}
        self._holding = False
        self._members: frozenset[str] = frozenset()
        self._wake = asyncio.Event()
        self._listeners: list[Callable[[frozenset[str]], Awaitable[None]]] = []

    @property
    def members(self) -> frozenset[str]:
        """Those whose leases are alive, ourselves included; empty while our own is not."""
        return self._members

    def mine(self, key: str) -> bool:
        """True when the object is ours to work on now."""
        return owner(self._members, key) == self.identity

    def subscribe(self, listener: Callable[[frozenset[str]], Awaitable[None]]) -> None:
        """Have `listener` awaited with the members whenever they change."""
        self._listeners.append(listener)

    async def run(self) -> None:
        """Take part until cancelled; on the way out our lease is released, so that others need not wait."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._leases.run())
                group.create_task(self._keep())
                group.create_task(self._count())
        finally:
            self._members = frozenset()
            await asyncio.shield(self._lease.release())

    async def _keep(self) -> None:
        while True:
            await self._lease.acquire()
            # Whoever counted us out may be working on what was ours: wait until it has seen us.
            await asyncio.sleep(self._terms.retry)
            self._set_holding(holding=True)
            await self._lease.hold()
            self._set_holding(holding=False)

    def _set_holding(self, *, holding: bool) -> None:
        self._holding = holding
        self._wake.set()

    async def _changed(self, change: Change[_Sighting]) -> None:
        now = asyncio.get_running_loop().time()
        if (
            change.old is not None
            and change.old.holder
            and (change.new is None or change.new.holder != change.old.holder)
        ):
            self._seen_at.pop(change.old.holder, None)
        if change.new is not None and change.new.holder:
            self._seen_at[change.new.holder] = now
            self._duration[change.new.holder] = change.new.duration
        self._wake.set()

    async def _count(self) -> None:
        """Keep the list of members current: on every renewal, and when one is overdue."""
        await self._leases.synced()
        while True:
            self._wake.clear()
            await self._publish()
            try:
                async with asyncio.timeout(self._next_expiry()):
                    await self._wake.wait()
            except TimeoutError:
                continue

    def _alive(self) -> frozenset[str]:
        now = asyncio.get_running_loop().time()
        return frozenset(member for member, seen in self._seen_at.items() if now - seen <= self._duration[member]) - {
            self.identity
        }

    def _next_expiry(self) -> float:
        now = asyncio.get_running_loop().time()
        due = [seen + self._duration[member] - now for member, seen in self._seen_at.items()]
        return max(0.05, min((left for left in due if left > 0), default=self._terms.duration))

    async def _publish(self) -> None:
        members = self._alive() | {self.identity} if self._holding else frozenset[str]()
        if members == self._members:
            return
        self._members = members
        log.info("members changed", members=sorted(members))
        for listener in self._listeners:
            await listener(members)


def _sighting(lease: Object) -> _Sighting:
    spec = lease.get("spec") or {}
    return _Sighting(
        holder=spec.get("holderIdentity") or "",
        renewed=spec.get("renewTime") or "",
        duration=float(spec.get("leaseDurationSeconds") or MEMBER_TERMS.duration),
    )
