"""Replicas that share the work: who is there, and which of them an object belongs to.

Every replica holds a Lease of its own. The members are the holders whose leases are being renewed; each object
belongs to the member with the highest hash of (member, object), so that one that leaves or joins moves only its
own share. Two never work on one object at once, for two replicas that both work know of each other:

- One counts another out only when its lease has run out, and when the watch has been seen to be current since: our
  own renewals come back on it. Silence of the watch is not the death of the others.
- One whose watch is behind for `renew_within`, or who could not renew for as long, stops.
- One that joins waits for `renew_within` first, so that everybody has seen it or has stopped; alone, it need not.

Who leaves deletes his lease; the lease of one that died is deleted by the others when it has been out for a while.
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
MOURNING = 2.0
"""So many times as long as a lease lasts it stays after its last renewal, before it is deleted."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class _Sighting:
    """A member's lease as last seen."""

    holder: str
    renewed: str
    duration: float
    name: str
    uid: str
    version: str


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
            client,
            LEASES,
            namespace=namespace,
            labels=f"{GROUP_LABEL}={group}",
            transform=_sighting,
            quiet=terms.renew_within,  # our own renewals come more often
        )
        self._leases.subscribe(self._changed)
        self._seen_at: dict[str, float] = {}
        self._duration: dict[str, float] = {}
        self._changed_at: dict[str, float] = {}
        """By lease, when a change of it was last seen."""
        self._followed_to = float("-inf")
        """When the newest renewal of ours that came back on the watch was sent."""
        self._acquired_at = self._known_at = 0.0
        self._holding = False
        self._members: frozenset[str] = frozenset()
        self._wake = asyncio.Event()
        self._listeners: list[Callable[[frozenset[str]], Awaitable[None]]] = []

    @property
    def members(self) -> frozenset[str]:
        """Those whose leases are alive, ourselves included; empty while our own is not."""
        return self._members

    def mine(self, key: str) -> bool:
        """True when the object is ours to work on now; asked at every write, also after a long pause."""
        return self._certain() and owner(self._members, key) == self.identity

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
                group.create_task(self._bury())
        finally:
            self._members = frozenset()
            await asyncio.shield(self._leave())

    async def _leave(self) -> None:
        # Released first: a lease that is merely gone may be somebody's mistake, and is waited out.
        await self._lease.release()
        await self._lease.delete()

    async def _keep(self) -> None:
        while True:
            await self._lease.acquire()
            self._acquired_at = self._lease.renewed_at
            self._known_at = asyncio.get_running_loop().time() + self._terms.renew_within
            self._set_holding(holding=True)
            await self._lease.hold()
            self._set_holding(holding=False)

    def _set_holding(self, *, holding: bool) -> None:
        self._holding = holding
        self._wake.set()

    async def _changed(self, change: Change[_Sighting]) -> None:
        now = asyncio.get_running_loop().time()
        self._changed_at[change.ref.name] = now
        if change.new is None:
            del self._changed_at[change.ref.name]
        if (
            change.old is not None
            and change.old.holder
            and change.new is not None
            and change.new.holder != change.old.holder
        ):
            self._seen_at.pop(change.old.holder, None)
        if change.new is not None and change.new.holder:
            self._seen_at[change.new.holder] = now
            self._duration[change.new.holder] = change.new.duration
            self._follow(change.new)
        self._wake.set()

    def _follow(self, sighting: _Sighting) -> None:
        sent = self._lease.sent_at(sighting.renewed) if sighting.holder == self.identity else None
        if sent is not None:
            self._followed_to = max(self._followed_to, sent)

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

    async def _bury(self) -> None:
        """Delete the leases of the dead, each by the member that it falls to."""
        while True:
            await asyncio.sleep(self._terms.duration)
            now = asyncio.get_running_loop().time()
            for sighting in self._leases.values():
                if self._is_long_dead(sighting, now) and self.mine(sighting.name):
                    await self._lease.delete_other(sighting.name, uid=sighting.uid, version=sighting.version)

    def _is_long_dead(self, sighting: _Sighting, now: float) -> bool:
        """Whether there was no renewal for so long that nobody can still go by it."""
        if sighting.holder == self.identity:
            return False
        since = self._changed_at.get(sighting.name, now)
        return now - since > MOURNING * max(sighting.duration, self._terms.duration)

    def _working(self) -> frozenset[str]:
        """The members, if it is certain that each of them knows of us; else nobody."""
        now = asyncio.get_running_loop().time()
        if not self._holding or not self._certain() or self._followed_to < self._acquired_at:
            return frozenset()
        others = frozenset(member for member in self._seen_at if self._alive(member, now)) - {self.identity}
        if others and now < self._known_at:
            return frozenset()
        return others | {self.identity}

    def _certain(self) -> bool:
        """False when our lease or our watch is too old to rely on, whether or not somebody noticed yet."""
        oldest = min(self._followed_to, self._lease.renewed_at)
        return asyncio.get_running_loop().time() < oldest + self._terms.renew_within

    def _alive(self, member: str, now: float) -> bool:
        seen = self._seen_at[member]
        # Of one that still works the watch has shown a renewal not older than that.
        silent = self._followed_to - seen > self._terms.renew_within
        return now - seen < self._duration[member] or not silent

    def _next_expiry(self) -> float:
        now = asyncio.get_running_loop().time()
        due = [seen + self._duration[member] for member, seen in self._seen_at.items()]
        due += [self._known_at, self._followed_to + self._terms.renew_within]
        return max(0.05, min((moment - now for moment in due if moment > now), default=self._terms.duration))

    async def _publish(self) -> None:
        members = self._working()
        if members == self._members:
            return
        self._members = members
        log.info("members changed", members=sorted(members))
        for listener in self._listeners:
            await listener(members)


def _sighting(lease: Object) -> _Sighting:
    spec = lease.get("spec") or {}
    metadata = lease["metadata"]
    return _Sighting(
        name=metadata["name"],
        uid=metadata.get("uid") or "",
        version=metadata.get("resourceVersion") or "",
        holder=spec.get("holderIdentity") or "",
        renewed=spec.get("renewTime") or "",
        duration=float(spec.get("leaseDurationSeconds") or MEMBER_TERMS.duration),
    )
