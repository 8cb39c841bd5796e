"""Validates one object: what is there, what an apply would make of it, and whether the server takes it.

Nothing is written here.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.apply.changes import Action, Change
from penstock.apply.drift import drifted
from penstock.apply.ignore import IgnoreRules, resolved, without
from penstock.apply.managers import cleanup, migration
from penstock.apply.plan import Refused, Settled, Write
from penstock.apply.refusals import is_immutable, public, told
from penstock.health import status_of
from penstock.kube.errors import KubeError, NotFound

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from penstock.apply.managers import Rival
    from penstock.apply.plan import Ledger, Step
    from penstock.apply.policy import Owner
    from penstock.health import Expressions
    from penstock.kube import Client, Object, ObjectRef, Resource


TRIES = 3
"""How often an object is looked at again that somebody else writes between our two requests."""


@dataclass(frozen=True, slots=True)
class Terms:
    """How objects of one run are treated."""

    owner: Owner
    manager: str
    rivals: Sequence[Rival]
    ignore: IgnoreRules
    force: bool = False
    migrate: bool = False
    expressions: Expressions | None = None
    expected: Collection[ObjectRef] = ()
    """Objects that are probably there: they are read while the dry-run is under way, not after it."""
    ledger: Ledger | None = None
    guard: Callable[[], None] = lambda: None
    """Called before every write; what it raises ends the run."""


class Validator:
    """Asks one cluster about objects, on the terms of one run."""

    def __init__(self, client: Client, terms: Terms) -> None:
        self._client = client
        self._terms = terms

    async def examine(self, step: Step) -> None:
        """Find out what is to be done with the object; the answer is its `outcome`."""
        step.outcome = await self._outcome(step)

    async def _outcome(self, step: Step) -> Settled | Write | Refused:
        owner, desired = self._terms.owner, step.desired
        if self._terms.ledger and (known := self._terms.ledger.settled(step.ref, desired)):
            return Settled(Change(step.ref, "unchanged", step.version, known.uid, known.health))
        try:
            resource = step.resource = await self._client.discovery.resource(
                str(desired.get("apiVersion") or ""), step.ref.kind
            )
        except KubeError as error:
            if owner.left_alone(desired):
                return Settled(Change(step.ref, "skipped", step.version))
            return Refused(error, told(step.ref, desired, error))
        if not resource.namespaced and step.ref.namespace:
            step.ref = step.ref._replace(namespace="")
        return await self._compared(step, resource)

    async def _compared(self, step: Step, resource: Resource) -> Settled | Write | Refused:
        owner, desired = self._terms.owner, step.desired
        live: Object | KubeError | None
        planned: Object | KubeError | None = None
        if owner.left_alone(desired) or owner.only_creates(desired):
            live = await self._live(step, resource)
            if not isinstance(live, KubeError) and owner.skips(desired, live):
                return self._settled(step, "skipped", live)
            if owner.left_alone(desired):
                return self._settled(step, "skipped", None)
            planned = await self._planned(step, resource)
        elif step.ref in self._terms.expected:
            live, planned = await self._both(step, resource)
        else:
            planned = await self._planned(step, resource)
            absent = not isinstance(planned, KubeError) and not _exists(planned)
            live = None if absent else await self._live(step, resource)
        if live is None and not isinstance(planned, KubeError) and _exists(planned):
            live = await self._live(step, resource)  # somebody created it between the two requests
        for _ in range(TRIES):
            if not _moved(live, planned):
                break
            live, planned = await self._both(step, resource)
        return self._judged(step, live, planned)

    def _judged(
        self, step: Step, live: Object | KubeError | None, planned: Object | KubeError
    ) -> Settled | Write | Refused:
        owner, desired = self._terms.owner, step.desired
        if isinstance(live, KubeError):
            if isinstance(planned, KubeError):
                return Refused(planned, self._told(step, planned))
            return Refused(live, f"{step.ref} query failed: {public(str(live), desired)}")
        if owner.skips(desired, live):
            return self._settled(step, "skipped", live)
        if isinstance(planned, KubeError):
            return self._refused(step, live, planned)
        if live is None or not _exists(planned):
            return Write("created", desired)
        return self._difference(step, live, planned)

    def _refused(self, step: Step, live: Object | None, error: KubeError) -> Write | Refused:
        forced = live is not None and (self._terms.force or self._terms.owner.recreates(step.desired, live))
        if live is not None and forced and is_immutable(error):
            return Write("created", step.desired, replaces=_uid(live), rival=self._terms.owner.rival(live))
        return Refused(error, self._told(step, error), live)

    def _told(self, step: Step, error: KubeError) -> str:
        namespaced = step.resource is None or step.resource.namespaced
        return told(step.ref, step.desired, error, namespaced=namespaced)

    def _difference(self, step: Step, live: Object, planned: Object) -> Settled | Write:
        terms = self._terms
        takes_over = self._takes_over(step, live)
        ignored = terms.ignore.pointers(planned)
        if not takes_over and not drifted(without(live, ignored), without(planned, ignored)):
            return self._settled(step, "unchanged", live)
        payload = step.desired
        if ignored:
            payload = resolved(payload, live, planned, ignored, manager=terms.manager)
        return Write("configured", payload, live if takes_over else None, rival=terms.owner.rival(live))

    def _takes_over(self, step: Step, live: Object) -> bool:
        terms = self._terms
        if terms.migrate and migration(live, str(step.desired.get("apiVersion"))):
            return True
        return not terms.owner.merges(step.desired, live) and bool(cleanup(live, terms.manager, terms.rivals))

    def _settled(self, step: Step, action: Action, live: Object | None) -> Settled:
        health = status_of(live, expressions=self._terms.expressions).status if live is not None else None
        uid = _uid(live) if live is not None else ""
        return Settled(Change(step.ref, action, step.version, uid, health))

    async def _both(self, step: Step, resource: Resource) -> tuple[Object | KubeError | None, Object | KubeError]:
        async with asyncio.TaskGroup() as group:
            live = group.create_task(self._live(step, resource))
            planned = group.create_task(self._planned(step, resource))
        return live.result(), planned.result()

    async def _live(self, step: Step, resource: Resource) -> Object | KubeError | None:
        try:
            return await self._client.get(resource, step.ref.name, step.ref.namespace or None)
        except NotFound:
            return None
        except KubeError as error:
            return error

    async def _planned(self, step: Step, resource: Resource) -> Object | KubeError:
        try:
            return await self._client.apply(
                resource, step.desired, manager=self._terms.manager, force=True, dry_run=True
            )
        except KubeError as error:
            return error


def _moved(live: Object | KubeError | None, planned: Object | KubeError) -> bool:
    """Whether a difference may be somebody else's: both were not made from the same version of the object."""
    if live is None or isinstance(live, KubeError) or isinstance(planned, KubeError):
        return False
    return _exists(planned) and _version(live) != _version(planned) and drifted(live, planned)


def _version(obj: Object) -> str:
    return str((obj.get("metadata") or {}).get("resourceVersion") or "")


def _exists(planned: Object) -> bool:
    """A dry-run of something new has no resourceVersion."""
    return bool(_version(planned))


def _uid(obj: Object) -> str:
    return str((obj.get("metadata") or {}).get("uid") or "")
