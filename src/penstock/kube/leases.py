"""Leases: a name that one process at a time may hold, for as long as it keeps saying so.

Times are judged by this process's own clock from the moment it saw the lease change, never by comparing clocks
of two machines. A holder that could not renew in time gives up before anybody else may take over.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import structlog

from penstock.kube.errors import Conflict, KubeError, NotFound
from penstock.kube.resources import LEASES, Object

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.kube.client import Client

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Terms:
    """How a lease is kept. The defaults are Flux's."""

    duration: float = 35.0
    """Seconds after the last renewal at which others may take it."""
    renew_within: float = 30.0
    """Seconds a holder tries to renew before it gives up by itself."""
    retry: float = 5.0

    def __post_init__(self) -> None:
        if not 0 < self.retry < self.renew_within < self.duration:
            raise ValueError("a lease needs retry < renew_within < duration")


class Lease:
    """One lease as one candidate sees it."""

    def __init__(
        self,
        client: Client,
        *,
        name: str,
        namespace: str,
        holder: str,
        terms: Terms | None = None,
        labels: dict[str, str] | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.name, self.namespace, self.holder = name, namespace, holder
        self.terms = terms or Terms()
        self._client = client
        self._labels = labels or {}
        self._now = now
        self._seen: tuple[str, str] | None = None
        self._seen_at = 0.0
        self.renewed_at = float("-inf")
        """When the last renewal that worked was sent, by the clock of the event loop."""
        self._sent: deque[tuple[str, float]] = deque(maxlen=16)

    async def acquire(self) -> None:
        """Wait until the lease is ours."""
        while not await self._attempt():
            await self._pause()

    async def hold(self) -> None:
        """Renew for as long as that works; return when the lease is lost."""
        while True:
            try:
                # Counted from when the last renewal was *sent*; a try that hangs must not outlive the lease.
                async with asyncio.timeout_at(self.renewed_at + self.terms.renew_within):
                    await self._pause()
                    ours = await self._attempt()
            except TimeoutError:
                log.warning("lease lost: it could not be renewed in time", lease=self.name)
                return
            if not ours and self._taken():
                log.warning("lease lost: somebody else holds it", lease=self.name)
                return

    async def release(self) -> None:
        """Let go at once, so that the next one need not wait; best effort."""
        try:
            async with asyncio.timeout(self.terms.retry):
                lease = await self._client.get(LEASES, self.name, self.namespace, urgent=True)
                spec: Object = lease.get("spec") or {}
                if spec.get("holderIdentity") != self.holder:
                    return
                spec |= {"holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": self._moment()}
                await self._client.replace(LEASES, lease | {"spec": spec}, urgent=True)
        except (KubeError, TimeoutError) as error:
            log.info("the lease could not be released", lease=self.name, error=str(error))

    async def delete(self) -> None:
        """Remove the object, if nobody holds it; best effort."""
        try:
            async with asyncio.timeout(self.terms.retry):
                lease = await self._client.get(LEASES, self.name, self.namespace, urgent=True)
        except (KubeError, TimeoutError):
            return
        if not (lease.get("spec") or {}).get("holderIdentity"):
            metadata: Object = lease["metadata"]
            uid, version = metadata.get("uid") or "", metadata.get("resourceVersion") or ""
            await self.delete_other(self.name, uid=uid, version=version)

    async def delete_other(self, name: str, *, uid: str, version: str) -> None:
        """Remove a lease that nobody uses any more, as it was seen; one that was renewed since stays. Best effort."""
        try:
            async with asyncio.timeout(self.terms.retry):
                await self._client.delete(LEASES, name, self.namespace, uid=uid, resource_version=version)
        except (KubeError, TimeoutError) as error:
            log.info("a lease could not be deleted", lease=name, error=str(error))

    def sent_at(self, renew_time: str) -> float | None:
        """When a renewal of ours was sent that others may see only now; None when it is none of the last."""
        return next((sent for moment, sent in self._sent if moment == renew_time), None)

    def _taken(self) -> bool:
        return self._seen is not None and self._seen[0] not in {"", self.holder}

    async def _pause(self) -> None:
        await asyncio.sleep(self.terms.retry * random.uniform(0.8, 1.0))  # noqa: S311 - jitter is no secret

    async def _attempt(self) -> bool:
        """One try to take or renew; False when somebody else has it or the server cannot be asked."""
        begun = asyncio.get_running_loop().time()
        try:
            ours = await self._take()
        except Conflict:
            return False  # somebody was faster; look again
        except KubeError as error:
            log.info("the lease could not be renewed", lease=self.name, error=str(error))
            return False
        if ours:
            self.renewed_at = begun
        return ours

    async def _take(self) -> bool:
        try:
            lease = await self._client.get(LEASES, self.name, self.namespace, urgent=True)
        except NotFound:
            await self._client.create(LEASES, self._fresh(), urgent=True)
            self._note(self.holder, "")
            return True
        spec: Object = lease.get("spec") or {}
        holder = spec.get("holderIdentity") or ""
        self._note(holder, spec.get("renewTime") or "")
        if holder not in {"", self.holder} and not self._expired(spec):
            return False
        await self._client.replace(LEASES, self._renewed(lease, taken=holder != self.holder), urgent=True)
        self._note(self.holder, "")
        return True

    def _note(self, holder: str, renewed: str) -> None:
        if self._seen != (holder, renewed):
            self._seen, self._seen_at = (holder, renewed), asyncio.get_running_loop().time()

    def _expired(self, spec: Object) -> bool:
        promised = float(spec.get("leaseDurationSeconds") or self.terms.duration)
        return asyncio.get_running_loop().time() - self._seen_at > promised

    def _fresh(self) -> Object:
        lease: Object = {
            "apiVersion": LEASES.api_version,
            "kind": LEASES.kind,
            "metadata": {"name": self.name, "namespace": self.namespace, "labels": self._labels},
            "spec": {"leaseTransitions": 0},
        }
        return self._renewed(lease, taken=True)

    def _renewed(self, lease: Object, *, taken: bool) -> Object:
        spec = dict(lease.get("spec") or {})
        moment = self._moment()
        self._sent.append((moment, asyncio.get_running_loop().time()))
        spec |= {
            "holderIdentity": self.holder,
            "leaseDurationSeconds": max(1, round(self.terms.duration)),
            "renewTime": moment,
        }
        if taken:
            spec["acquireTime"] = moment
            spec["leaseTransitions"] = (spec.get("leaseTransitions") or 0) + 1
        return {**lease, "spec": spec}

    def _moment(self) -> str:
        return self._now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
