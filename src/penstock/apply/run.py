"""One set on its way into the cluster: validated as a whole, written ahead, then stage by stage."""

from __future__ import annotations

import asyncio
from itertools import groupby
from typing import TYPE_CHECKING, TypeVar

from penstock.apply.changes import ApplyFailed, Change, ChangeSet
from penstock.apply.managers import migration
from penstock.apply.order import Stage, rank
from penstock.apply.parallel import each
from penstock.apply.plan import Refused, Settled, Step, Write
from penstock.apply.providers import Providers, cluster_scoped, defined
from penstock.apply.validate import Terms, Validator
from penstock.apply.write import WriteFailed, Writer
from penstock.health import HealthCheckFailed, HealthStatus, wait
from penstock.kube.errors import DiscoveryUnknown, Invalid, KubeError, NotServed
from penstock.kube.resources import GroupKind, group_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from penstock.api.inventory import InventoryEntry
    from penstock.kube import Client

T = TypeVar("T")

STAGE_TIMEOUT = 60.0
"""Seconds for definitions and classes to become ready before the next stage."""

SERVED_TIMEOUT, SCHEMA_TIMEOUT = 30.0, 2.0
"""Seconds for a server to take requests for a kind that discovery has already, and to go by a changed schema."""

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0
"""Seconds between two tries: doubled from the first to the longest."""


class Run:
    """One set on its way."""

    def __init__(self, client: Client, terms: Terms, concurrency: int, patience: float) -> None:
        self._client = client
        self._terms = terms
        self._validator = Validator(client, terms)
        self._writer = Writer(client, terms, patience=patience)
        self._concurrency = concurrency
        self._has_news = False
        """Whether something was written since the last validation."""
        self._redefined: set[GroupKind] = set()
        """Kinds whose schema this run has changed."""
        self._done: list[Change] = []

    async def run(
        self, plan: list[Step], write_ahead: Callable[[Sequence[InventoryEntry]], Awaitable[None]] | None
    ) -> ChangeSet:
        await self._each(plan, self._validator.examine)
        self._stop_if_refused(plan)
        if write_ahead is not None and (coming := _coming(plan)):
            await write_ahead(coming)
        for stage in Stage:
            if members := [step for step in plan if step.stage is stage]:
                await self._validate_again([step for step in plan if step.stage >= stage], stage)
                await self._write(members)
                await self._settle(members, stage)
        return self._changes()

    async def _validate_again(self, remaining: list[Step], stage: Stage) -> None:
        """What could not be validated before the last stage was there; nothing of this stage is written if it fails."""
        refused = [step for step in remaining if isinstance(step.outcome, Refused)]
        promising = [
            step for step in refused if step.stage is stage or (self._has_news and not self._is_outdated(step))
        ]
        await self._each(promising, self._mend)
        self._has_news = False
        self._stop_if_refused(remaining, stage)

    async def _mend(self, step: Step) -> None:
        refused = step.outcome
        if isinstance(refused, Refused) and refused.live is not None and self._is_outdated(step):
            try:
                await self._writer.migrate(step, refused.live)
            except WriteFailed as error:
                step.outcome = Refused(refused.error, str(error))
                return
        # A kind is in discovery, and its new schema stored, some moments before every server goes by it.
        begun, pause = asyncio.get_running_loop().time(), FIRST_PAUSE
        await self._validator.examine(step)
        while self._lags(step, asyncio.get_running_loop().time() - begun):
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
            await self._validator.examine(step)

    def _lags(self, step: Step, seconds: float) -> bool:
        """Whether a refusal may be due to a server that is behind, after so many seconds."""
        if not isinstance(step.outcome, Refused):
            return False
        match step.outcome.error:
            case NotServed() | DiscoveryUnknown():
                return seconds < SERVED_TIMEOUT
            case Invalid():
                return seconds < SCHEMA_TIMEOUT and step.ref.group_kind in self._redefined
            case _:
                return False

    def _is_outdated(self, step: Step) -> bool:
        """Whether field managers of an older API version may be why the object was refused."""
        if not self._terms.migrate or not isinstance(step.outcome, Refused) or step.outcome.live is None:
            return False
        return bool(migration(step.outcome.live, str(step.desired.get("apiVersion"))))

    def _stop_if_refused(self, plan: list[Step], stage: Stage | None = None) -> None:
        """ApplyFailed with everything that is refused, and that neither this stage nor a later one may cure."""
        providers = Providers(plan)
        refused = [
            (step, step.outcome.problem)
            for step in plan
            if isinstance(step.outcome, Refused)
            and not providers.explain(step, step.outcome.error)
            and not (self._is_outdated(step) and (stage is None or step.stage > stage))
        ]
        if refused:
            known = _settled_before(plan, refused[0][0].stage) if stage is None else self._changes()
            raise ApplyFailed([problem for _, problem in refused], known)

    async def _write(self, members: list[Step]) -> None:
        """Apply what has to be, kinds in their order, and all of a kind at once. A rank ends before the run does."""
        for _, ranked in groupby(members, key=lambda step: rank(step.ref.kind)):
            written = await self._each(list(ranked), self._write_one)
            self._done += [one for one in written if isinstance(one, Change)]
            if problems := [str(one) for one in written if isinstance(one, WriteFailed)]:
                raise ApplyFailed(problems, self._changes())

    async def _write_one(self, step: Step) -> Change | WriteFailed:
        match step.outcome:
            case Settled(change):
                return change
            case Write() as write:
                try:
                    change = await self._writer.write(step, write)
                except WriteFailed as error:
                    return error
                self._has_news = True
                if change.action == "configured":
                    self._redefined.update(GroupKind(group_of(version), kind) for version, kind in defined(step))
                step.outcome = Settled(change)  # lets go of what was only needed for writing
                return change
            case Refused(problem=problem):
                return WriteFailed(problem)
            case None:
                raise AssertionError(f"{step.ref} reached the write without being validated")

    async def _settle(self, members: list[Step], stage: Stage) -> None:
        """Let definitions and classes become ready before the next stage counts on them."""
        if not stage.waits:
            return
        changes = [step.outcome.change for step in members if isinstance(step.outcome, Settled)]
        waiting = [one.ref for one in changes if one.action != "skipped" and one.health is not HealthStatus.CURRENT]
        try:
            await wait(
                self._client,
                waiting,
                timeout=STAGE_TIMEOUT,
                fail_fast=False,
                expressions=self._terms.expressions,
            )
            await self._until_served(members)
        except (HealthCheckFailed, KubeError) as error:
            raise ApplyFailed([str(error)], self._changes()) from error

    async def _until_served(self, members: list[Step]) -> None:
        """An established CRD is in discovery some moments later; whoever waits for us counts on its kinds, too."""
        new = [kind for step in members if _is_written(step) for kind in defined(step)]
        if new:
            await self._client.discovery.until_served(new, within=STAGE_TIMEOUT)

    async def _each(self, items: list[Step], work: Callable[[Step], Awaitable[T]]) -> list[T]:
        return await each(items, work, at_once=self._concurrency)

    def _changes(self) -> ChangeSet:
        return ChangeSet(tuple(self._done))


def _is_written(step: Step) -> bool:
    return isinstance(step.outcome, Settled) and step.outcome.change.action in ("created", "configured")


def _settled_before(plan: list[Step], stage: Stage) -> ChangeSet:
    """What is as it should be already, of the stages before this one."""
    earlier = [step.outcome for step in plan if step.stage < stage]
    return ChangeSet(tuple(outcome.change for outcome in earlier if isinstance(outcome, Settled)))


def _coming(plan: list[Step]) -> list[InventoryEntry]:
    """Everything that the run is going to write, or may be going to write once it can be validated."""
    outside = cluster_scoped(plan)
    coming: list[InventoryEntry] = []
    for step in plan:
        if isinstance(step.outcome, Settled):
            continue
        ref = step.ref._replace(namespace="") if step.ref.group_kind in outside else step.ref
        coming.append(Change(ref, "unknown", step.version).entry)
    return coming
